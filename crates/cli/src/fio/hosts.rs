//! `--client`: runs jobs on other hosts, with agents that ssh starts there. No permanent `--server` is needed.

use std::path::Path;

use experiment::{Plan, host_list};
use runner::check_for_several;

use crate::exit::CommandError;
use crate::fleet::read_hosts;

/// The plan for the hosts named on the command line; unchanged if it names none.
///
/// # Errors
/// An argument is no list of hosts, or a job cannot run on several hosts: one line.
pub fn spread(mut plan: Plan, line: &fio::Arguments) -> Result<Plan, CommandError> {
    if !line.has("client") {
        return Ok(plan);
    }
    let mut lists = Vec::new();
    for name in line.values("client") {
        // As in fio, a name that is an existing file means a file of hosts.
        match name.strip_prefix('@').or_else(|| Path::new(name).is_file().then_some(name)) {
            Some(file) => {
                lists.push(read_hosts(file).map_err(|error| CommandError::Usage(error.to_string()))?)
            }
            None => lists.push(name.to_owned()),
        }
    }
    let hosts =
        host_list(&lists.join("\n")).map_err(|error| CommandError::Usage(format!("--client: {error}")))?;
    check_for_several(&plan).map_err(|line| CommandError::Usage(format!("--client: {line}")))?;
    fio::spread(&mut plan, hosts);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(arguments: &[&str]) -> Result<Plan, CommandError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let line = fio::split_arguments(&arguments).unwrap().0;
        let jobs = super::super::input::read(&line)?;
        spread(jobs.plan, &line)
    }

    #[test]
    fn clients_are_hosts_of_a_fleet() {
        let job = ["--name=a", "--rw=read", "--size=1m"];
        assert_eq!(spread_of(&job).unwrap().fleet, None);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hosts");
        std::fs::write(&file, "node[1-2]\n").unwrap();
        let named = format!("--client={}", file.display());
        let plan = spread_of(&[&["--client=me@a:22", named.as_str()], &job[..]].concat()).unwrap();
        assert_eq!(plan.fleet.unwrap().host_names().unwrap(), ["me@a:22", "node1", "node2"]);
        let refused = spread_of(&[&["--client=a", "--write_lat_log=x"], &job[..]].concat()).unwrap_err();
        assert!(
            matches!(&refused, CommandError::Usage(line) if line.contains("writes a log")),
            "{refused:?}"
        );
        for wrong in [&["--client=a", "--client=a"][..], &["--client=a;b"], &["--client"]] {
            let refused = spread_of(&[wrong, &job[..]].concat()).unwrap_err();
            assert!(
                matches!(&refused, CommandError::Usage(line) if line.starts_with("--client: ")),
                "{refused:?}"
            );
        }
    }
}
