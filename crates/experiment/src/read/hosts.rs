//! Resolves targets with variables for each host of the fleet when the file is read, so that nothing fails hours later
//! on one of a hundred hosts.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use super::target::option;
use super::url::check_url;
use crate::fleet::{BRACES, Fleet, Piece, Sharing, escape_braces, fill_in, pieces};
use crate::kind::{TargetKind, kind_of};
use crate::nearest::hint;
use crate::option::OptionHelp;
use crate::plan::Cell;
use crate::reader::{Fields, Reader};
use crate::text_fault::TextFault;
use crate::tree::{Node, Value};

/// The hosts of the fleet with their variables; empty without a fleet.
pub(crate) struct Hosts<'f> {
    /// The fleet, if there is one.
    pub fleet: Option<&'f Fleet>,
    /// Name and values of each host, or of a stand-in if the names are unknown before the start.
    each: Vec<(String, BTreeMap<String, String>)>,
    /// Texts already found valid for all hosts: cells share their targets.
    right: RefCell<HashSet<String>>,
}

impl<'f> Hosts<'f> {
    /// All hosts, and what is wrong with the values of one of them, if anything.
    pub fn new(fleet: Option<&'f Fleet>) -> (Self, Option<String>) {
        let mut each = Vec::new();
        let mut wrong = None;
        if let Some(fleet) = fleet {
            let names = fleet.host_names().unwrap_or_else(|| vec!["node".to_owned()]);
            for (name, index) in names.into_iter().zip(0..) {
                match fleet.values_of(&name, index) {
                    Ok(values) => each.push((name, values)),
                    Err(fault) => wrong = wrong.or(Some(fault.to_string())),
                }
            }
            if fleet.host_names().is_none()
                && let Some((_, values)) = each.first_mut()
            {
                // Any host could be one with a table of its own.
                for (name, value) in fleet.variables.values().flatten() {
                    values.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        (Self { fleet, each, right: RefCell::default() }, wrong)
    }

    /// A target's URL as stored in the plan, and its kind: complete without a fleet; with one it keeps its variables.
    pub fn url(&self, reader: &Reader<'_>, node: &Node, text: &str) -> Option<(String, &'static TargetKind)> {
        let kinds = reader.parameters.kinds();
        let check = |url: &str| match check_url(kinds, url) {
            Ok(kind) => Some(kind),
            Err((text, hint)) => {
                reader.fault(node, text, hint);
                None
            }
        };
        let Some(plain) = self.without_names(reader, node, text)? else {
            if text.split(':').next().is_some_and(|scheme| scheme.contains('{')) {
                reader.fault(
                    node,
                    "the kind of a target is the same on all hosts",
                    "begin with it, such as nfs://{address}/export",
                );
                return None;
            }
            let mut kind = None;
            for (host, whole) in self.whole(reader, node, text)? {
                match check_url(kinds, &whole) {
                    Ok(known) => kind = Some(known),
                    Err((text, hint)) => {
                        reader.fault(node, format!("for host {host:?}: {text}"), hint);
                        return None;
                    }
                }
            }
            let kind = kind.or_else(|| kind_of(kinds, text))?;
            return Some((text.to_owned(), kind));
        };
        let kind = check(&plain)?;
        Some((if self.fleet.is_some() { text.to_owned() } else { plain }, kind))
    }

    /// An option's value as stored in the plan.
    pub fn option(&self, reader: &Reader<'_>, node: &Node, help: &OptionHelp) -> Option<String> {
        let Value::Scalar(text) = &node.value else { return option(reader, node, help) };
        let text = text.trim();
        if !text.contains(['{', '}']) {
            return option(reader, node, help);
        }
        if let Some(plain) = self.without_names(reader, node, text)? {
            let node = Node { value: Value::Scalar(plain.into()), ..node.clone() };
            let value = option(reader, &node, help)?;
            return Some(if self.fleet.is_some() { escape_braces(&value) } else { value });
        }
        for (host, whole) in self.whole(reader, node, text)? {
            if let Err(error) = help.read(&whole) {
                let fault = error.fault();
                reader.fault(node, format!("for host {host:?}: {}", fault.text), fault.hint);
                return None;
            }
        }
        Some(text.to_owned())
    }

    /// The text itself if it contains no variables; disallowed ones are reported.
    fn without_names(&self, reader: &Reader<'_>, node: &Node, text: &str) -> Option<Option<String>> {
        let pieces = match pieces(text) {
            Ok(pieces) => pieces,
            Err(wrong) => {
                reader.fault(node, format!("{wrong} in {text:?}"), BRACES);
                return None;
            }
        };
        let mut plain = String::new();
        let mut named = false;
        for piece in pieces {
            match (piece, self.fleet) {
                (Piece::Plain(text), _) => plain.push_str(&text),
                (Piece::Name(name), None) => {
                    reader.fault(
                        node,
                        format!("{{{name}}} is another on each host, and there is no fleet"),
                        format!("add fleet: {{hosts: …}}, or write {{{{{name}}}}} for a name with braces"),
                    );
                    return None;
                }
                (Piece::Name(name), Some(fleet)) => {
                    let names = fleet.variable_names();
                    if !names.contains(&name.as_str()) {
                        let hint =
                            format!("{} Or add it to fleet: {{variables: …}}", hint(&name, names.clone()));
                        reader.fault(node, format!("hosts have no variable {name:?}"), hint);
                        return None;
                    }
                    named = true;
                }
            }
        }
        Some((!named).then_some(plain))
    }

    /// The text for each host; empty if it was already found valid, `None` if it is invalid.
    fn whole(&self, reader: &Reader<'_>, node: &Node, text: &str) -> Option<Vec<(String, String)>> {
        if !self.right.borrow_mut().insert(text.to_owned()) {
            return Some(Vec::new());
        }
        let mut all = Vec::new();
        for (host, values) in &self.each {
            match fill_in(text, values, host) {
                Ok(whole) => all.push((host.clone(), whole)),
                Err(wrong) => {
                    let TextFault { text, hint } = wrong;
                    let hint = format!("{hint}; give all hosts one: fleet: {{variables: {{\"*\": {{…}}}}}}");
                    reader.fault(node, text, hint);
                    return None;
                }
            }
        }
        Some(all)
    }

    /// Number of hosts that work on a cell, as given by `agents`; `None` for all.
    pub fn agents(&self, fields: &Fields<'_>) -> Option<u32> {
        let node = fields.get("agents")?;
        if matches!(&node.value, Value::Scalar(text) if text.trim() == "all") {
            return None;
        }
        let most = crate::fleet::MAX_HOSTS as u64;
        let agents = u32::try_from(fields.reader.integer(&node, 1, most)?).ok()?;
        let Some(fleet) = self.fleet else {
            fields.fault(
                "agents",
                "there is no fleet, so there are no agents",
                "add fleet: {hosts: …}, or give --hosts or --local on the command line",
            );
            return None;
        };
        match fleet.count() {
            Some(count) if agents > count => {
                let text = format!("{agents} agents are more than the fleet's {count}");
                fields.fault("agents", text, format!("write a number up to {count}, or all"));
            }
            _ => {}
        }
        Some(agents)
    }

    /// Reports what a fleet cannot do with a workload.
    pub fn check(&self, fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
        let Some(fleet) = self.fleet else { return };
        let word = fleet.sharing.word();
        if fleet.sharing == Sharing::Own {
            // A job's hosts all use the files that it names; reading one device is no harm.
            let one_device = kind.device && kind.remote && !cell.target.url.contains('{');
            let harmless = cell.workload.stream().is_some() && !cell.workload.changes_data();
            let hosts = cell.agents.or_else(|| fleet.count());
            if one_device && !harmless && hosts != Some(1) {
                fields.fault(
                    "target",
                    "all hosts would use the same device, and sharing: own gives each host its own",
                    "write sharing: disjoint, where each host has a slice of it, or a URL that differs by host, such as {host}",
                );
            }
        } else if kind.device && !kind.remote {
            fields.fault(
                "target",
                format!("hosts cannot share a block device as sharing: {word} says"),
                "write sharing: own, with a device of each host; several hosts share files or objects",
            );
        } else if cell.workload.makes_or_removes() {
            fields.fault(
                "ops",
                format!("hosts that create or remove files cannot share a place, as sharing: {word} says"),
                "write sharing: own",
            );
        } else if fleet.sharing == Sharing::Common
            && cell.workload.changes_data()
            && (cell.workload.verifies() || cell.stages.verify)
        {
            fields.fault(
                "verify",
                "what all hosts write in one place cannot be verified: whose write was the last is not known",
                "write sharing: disjoint, or verify: false",
            );
        }
    }
}
