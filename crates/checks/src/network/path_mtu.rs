//! Path MTU of a link: one host answers, the other sends packets that may not be fragmented.

use fleet::{Act, Reply};
use stats::NetworkPathMtu;

use super::link_error::LinkError;
use super::links::{HostGroupLinks, LinkFlow};
use super::pairs::LinkDirection;

/// Probes one link; both hosts may be measuring other links meanwhile.
pub fn probe(links: &HostGroupLinks<'_>, (from, to): LinkDirection, port: u16) -> NetworkPathMtu {
    let unknown = NetworkPathMtu { from, to, ..NetworkPathMtu::default() };
    match links.with_open((from, to), port, 1, &|flow| ask(links, flow)) {
        Ok((bytes, believed)) => {
            NetworkPathMtu { bytes: Some(bytes), believed_bytes: Some(believed), ..unknown }
        }
        Err(error) => NetworkPathMtu { failure: Some(error.to_string()), ..unknown },
    }
}

/// The largest packet that arrives, and the largest that the sender assumes possible.
fn ask(links: &HostGroupLinks<'_>, flow: &LinkFlow) -> Result<(u32, u32), LinkError> {
    let act = |member: usize, act: &Act| {
        let (_, answer) =
            links.host_group.act(&[member], flow.site, act).into_iter().next().ok_or(LinkError::NoAnswer)?;
        answer.map_err(|trouble| links.trouble(member, trouble))
    };
    act(flow.to, &Act::AnswerMtuProbes)?;
    match act(flow.from, &Act::ProbeMtu)? {
        Reply::PathMtu { bytes, believed_bytes } => Ok((bytes, believed_bytes)),
        _ => Err(LinkError::WrongAnswer),
    }
}
