//! Places a worker's thread and memory as its job requests.

use std::io;

use experiment::Placement;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Applies the placement to the calling thread, which is worker `worker`.
///
/// # Errors
/// What could not be done, in human-readable form, and the system's error.
pub(crate) fn place(placement: &Placement, worker: u32) -> Result<(), (String, io::Error)> {
    let mut cores = placement.cores.clone();
    for node in &placement.numa_nodes {
        cores.extend(cores_of(*node)?);
    }
    if !cores.is_empty() {
        let chosen = if placement.split_cores { vec![cores[worker as usize % cores.len()]] } else { cores };
        bind(&chosen)?;
    }
    if let Some(policy) = &placement.numa_memory {
        set_memory(policy)?;
    }
    if placement.nice != 0 {
        set_nice(placement.nice)?;
    }
    match placement.io_priority {
        Some((class, level)) => set_io_priority(class, level),
        None => Ok(()),
    }
}

fn bind(cores: &[u32]) -> Result<(), (String, io::Error)> {
    let mut set = CpuSet::new();
    let told = |error| (format!("it cannot run on the cores {cores:?}"), error);
    for core in cores {
        if *core as usize >= CpuSet::MAX_CPU {
            return Err(told(io::Error::from_raw_os_error(libc::EINVAL)));
        }
        set.set(*core as usize);
    }
    sched_setaffinity(None, &set).map_err(|error| told(error.into()))
}

/// The cores of a NUMA node.
fn cores_of(node: u32) -> Result<Vec<u32>, (String, io::Error)> {
    let told = |error| (format!("the cores of NUMA node {node} cannot be told"), error);
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let text = std::fs::read_to_string(path).map_err(told)?;
    numbers(text.trim()).ok_or_else(|| told(io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Parses numbers such as `0-3,8,10-11`.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (from, until) = part.split_once('-').unwrap_or((part, part));
        let (from, until): (u32, u32) = (from.trim().parse().ok()?, until.trim().parse().ok()?);
        if until < from || until - from > 1 << 16 {
            return None;
        }
        all.extend(from..=until);
    }
    Some(all)
}

/// set_mempolicy(2): the policy's number, and the nodes as a bit mask.
fn policy_of(policy: &str) -> Option<(i32, u64)> {
    let (mode, nodes) = policy.split_once(':').unwrap_or((policy, ""));
    let mode = match mode {
        "default" => 0,
        "prefer" => 1,
        "bind" => 2,
        "interleave" => 3,
        "local" => 4,
        _ => return None,
    };
    let nodes = numbers(nodes)?;
    let mask = nodes.iter().try_fold(0u64, |mask, node| (*node < 64).then(|| mask | 1 << node))?;
    (matches!(mode, 1..=3) == (mask != 0)).then_some((mode, mask))
}

fn set_memory(policy: &str) -> Result<(), (String, io::Error)> {
    let told = |error| (format!("memory cannot be taken by the policy {policy:?}"), error);
    let (mode, mask) = policy_of(policy).ok_or_else(|| told(io::Error::from_raw_os_error(libc::EINVAL)))?;
    let nodes = if mask == 0 { std::ptr::null() } else { std::ptr::from_ref(&mask) };
    let bits: libc::c_ulong = if mask == 0 { 0 } else { 65 };
    // SAFETY: the mask outlives the call, which reads 64 bits of it; the count is one higher, as the system requires.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, nodes, bits) };
    if result == 0 { Ok(()) } else { Err(told(io::Error::last_os_error())) }
}

fn set_nice(nice: i32) -> Result<(), (String, io::Error)> {
    // SAFETY: the call takes no pointers; 0 is the calling thread (on Linux niceness is per thread).
    let now = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let wanted = (now + nice).clamp(-20, 19);
    // SAFETY: as above.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, wanted) };
    if result == 0 {
        return Ok(());
    }
    Err((format!("its niceness cannot be {wanted}"), io::Error::last_os_error()))
}

fn set_io_priority(class: u8, level: u8) -> Result<(), (String, io::Error)> {
    let value = i32::from(class) << 13 | i32::from(level);
    // SAFETY: ioprio_set(2) takes no pointers; 1 and 0 mean the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, 1, 0, value) };
    if result == 0 {
        return Ok(());
    }
    Err((format!("its I/O priority cannot be class {class}, level {level}"), io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn lists_and_policies_are_read() {
        assert_eq!(numbers("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!((numbers(""), numbers("3-1"), numbers("x")), (Some(vec![]), None, None));
        assert_eq!(policy_of("interleave:0-1,3"), Some((3, 0b1011)));
        assert_eq!((policy_of("local"), policy_of("default")), (Some((4, 0)), Some((0, 0))));
        for wrong in ["bind", "local:1", "bind:64", "nearest:0"] {
            assert_eq!(policy_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_thread_gets_a_core_of_its_own_out_of_those_that_are_named() {
        let seen = std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap() as u32;
            let placement =
                Placement { cores: vec![core], split_cores: true, nice: 1, ..Placement::default() };
            place(&placement, 5).unwrap();
            let bound = sched_getaffinity(None).unwrap();
            (bound.count(), bound.is_set(core as usize))
        });
        assert_eq!(seen.join().unwrap(), (1, true));
        let nowhere = Placement { cores: vec![1 << 20], ..Placement::default() };
        assert!(place(&nowhere, 0).unwrap_err().0.starts_with("it cannot run on the cores"));
    }
}
