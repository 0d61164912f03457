//! Host facts that explain the figures, and host settings that will limit measurements.

use std::collections::BTreeMap;

use rustix::process::{Resource, getrlimit};

use host::environment;

use crate::reactor_facts::ReactorFacts;

/// Open files that a large run may need: one per connection.
const FILES: u64 = 65_536;
/// Memory that io_uring may register: the buffers of a worker with many operations in flight.
const LOCKED: u64 = 1 << 30;
/// NIC speed, in Mbit/s, from which packets of 1500 bytes cost noticeable processor time.
const FAST_MBIT: u64 = 10_000;

/// Host facts by name.
pub fn facts(reactor: &ReactorFacts) -> BTreeMap<String, String> {
    let mut facts = environment::capture(&[("reactor", reactor.backend.to_owned())], "").facts;
    if let Some(refusal) = &reactor.refusal {
        facts.insert("reactor.refusal".into(), refusal.clone());
    }
    for (name, resource) in [("limit.files", Resource::Nofile), ("limit.locked-memory", Resource::Memlock)] {
        facts.insert(name.into(), limit(getrlimit(resource).current));
    }
    if cfg!(debug_assertions) {
        facts.insert("build".into(), "debug".into());
    }
    // The command line says nothing about the host.
    facts.remove("manometer.command");
    facts
}

fn limit(value: Option<u64>) -> String {
    value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}

/// What will limit measurements, each with a hint; one per line.
pub fn remarks(facts: &BTreeMap<String, String>) -> Vec<String> {
    let mut remarks = Vec::new();
    let fact = |name: &str| facts.get(name).map(String::as_str);
    let number = |name: &str| fact(name).and_then(|text| text.parse::<u64>().ok());
    if let Some(refusal) = fact("reactor.refusal") {
        remarks.push(format!("io_uring is refused ({refusal}), so epoll is used, which costs more processor time; allow io_uring (kernel.io_uring_disabled=0, or the container's seccomp profile)"));
    }
    if fact("build") == Some("debug") {
        remarks.push("this program was built without optimisation: its figures are far too low; build it with --release".to_owned());
    }
    if let Some(governor) = fact("cpu.governor").filter(|governor| *governor != "performance") {
        remarks.push(format!("the cores' governor is {governor}: clock frequencies change with load; `cpupower frequency-set -g performance` holds them"));
    }
    if let Some(files) = number("limit.files").filter(|files| *files < FILES) {
        remarks.push(format!("this process may open {files} files: many connections need more; `ulimit -n {FILES}`, or LimitNOFILE of the service"));
    }
    if let Some(bytes) = number("limit.locked-memory").filter(|bytes| *bytes < LOCKED) {
        remarks.push(format!("{} may be locked: io_uring may refuse to register buffers; `ulimit -l unlimited`, or LimitMEMLOCK of the service", units::Size(bytes)));
    }
    if let Some(source) = fact("clocksource").filter(|source| !matches!(*source, "tsc" | "arch_sys_counter"))
    {
        remarks.push(format!("the clock source is {source}: each reading of the clock is a system call or slower; use tsc where the processor's counter is steady"));
    }
    if let Some(limit) = fact("cgroup.cpu.max") {
        remarks.push(format!("processor time is limited by the control group (cpu.max {limit}): the ceilings for all cores may be out of reach"));
    }
    for (name, mtu) in facts.iter().filter(|(name, _)| name.starts_with("nic.") && name.ends_with(".mtu")) {
        let card = name.trim_start_matches("nic.").trim_end_matches(".mtu");
        let speed =
            fact(&format!("nic.{card}.speed")).and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        if speed.is_some_and(|mbit| mbit >= FAST_MBIT) && mtu.parse::<u32>().is_ok_and(|mtu| mtu < 9000) {
            remarks.push(format!("{card} sends packets of at most {mtu} bytes: at its speed an MTU of 9000 on the whole path saves processor time"));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_back_is_said_with_its_mend() {
        let of = |pairs: &[(&str, &str)]| {
            let facts = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            remarks(&facts)
        };
        assert!(
            of(&[
                ("cpu.governor", "performance"),
                ("limit.files", "1048576"),
                ("limit.locked-memory", "unlimited"),
                ("clocksource", "tsc"),
                ("nic.eth0.mtu", "9000"),
                ("nic.eth0.speed", "100000 Mbit/s"),
                ("nic.eth1.mtu", "1500"),
                ("nic.eth1.speed", "1000 Mbit/s"),
            ])
            .is_empty()
        );
        for (pairs, expected) in [
            (vec![("reactor.refusal", "not permitted")], "kernel.io_uring_disabled"),
            (vec![("build", "debug")], "--release"),
            (vec![("cpu.governor", "powersave")], "cpupower"),
            (vec![("limit.files", "1024")], "ulimit -n"),
            (vec![("limit.locked-memory", "8388608")], "8MiB may be locked"),
            (vec![("clocksource", "hpet")], "hpet"),
            (vec![("cgroup.cpu.max", "200000 100000")], "cpu.max"),
            (vec![("nic.eth0.mtu", "1500"), ("nic.eth0.speed", "100000 Mbit/s")], "MTU of 9000"),
        ] {
            let found = of(&pairs);
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
    }

    #[test]
    fn this_host_is_described() {
        let facts = facts(&ReactorFacts { backend: "epoll", refusal: Some("no".into()) });
        for name in ["host", "kernel", "limit.files", "limit.locked-memory", "reactor.refusal"] {
            assert!(facts.get(name).is_some_and(|value| !value.is_empty()), "{name}");
        }
        assert!(!facts.contains_key("manometer.command"));
    }
}
