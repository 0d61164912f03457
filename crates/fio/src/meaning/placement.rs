//! Cores, memory and priority of the workers.

use super::asked::Asked;
use super::lists::indices;
use crate::values::ValueError;
use experiment::Placement;

/// Best effort, the class used if only a level is given (ioprio_set(2)).
const BEST_EFFORT: u8 = 2;

/// Where the workers run.
pub(crate) fn placement(asked: &Asked<'_>) -> Placement {
    let split_cores = match asked.text("cpus_allowed_policy") {
        None | Some("shared") => false,
        Some("split") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["shared", "split"]);
            asked.fault("cpus_allowed_policy", format!("there is no cpus_allowed_policy {other:?}"), hint);
            false
        }
    };
    Placement {
        near_card: false,
        cores: cores(asked),
        split_cores,
        numa_nodes: match asked.setting("numa_cpu_nodes") {
            Some(setting) if setting.value.trim() != "all" => {
                asked.read(setting, &setting.value, indices).unwrap_or_default()
            }
            _ => Vec::new(),
        },
        numa_memory: numa_memory(asked),
        nice: nice(asked),
        io_priority: io_priority(asked),
    }
}

fn cores(asked: &Asked<'_>) -> Vec<u32> {
    let (name, cores) = if let Some(setting) = asked.setting("cpus_allowed") {
        ("cpus_allowed", asked.read(setting, &setting.value, indices).unwrap_or_default())
    } else if let Some(mask) = asked.number("cpumask") {
        ("cpumask", (0..64).filter(|core| mask >> core & 1 == 1).collect())
    } else {
        return Vec::new();
    };
    if let Some(core) = cores.iter().find(|core| **core >= asked.around.cpus) {
        let last = asked.around.cpus.saturating_sub(1);
        asked.fault(name, format!("there is no core {core} here"), format!("write cores from 0 to {last}"));
    }
    cores
}

fn numa_memory(asked: &Asked<'_>) -> Option<String> {
    let setting = asked.setting("numa_mem_policy")?;
    asked.read(setting, &setting.value, |text| {
        const HOW: &str = "write default, local, prefer:NODE, bind:NODES or interleave:NODES";
        let (mode, nodes) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        match (mode, nodes) {
            ("default" | "local", "") => {}
            ("bind" | "interleave", "all") => {}
            ("prefer", nodes) if nodes.trim().parse::<u32>().is_ok() => {}
            ("bind" | "interleave", nodes) if indices(nodes).is_ok() => {}
            _ => return Err(ValueError::Form(HOW)),
        }
        Ok(text.trim().to_owned())
    })
}

fn nice(asked: &Asked<'_>) -> i32 {
    let Some(setting) = asked.setting("nice") else { return 0 };
    let nice = asked.read(setting, &setting.value, |text| match text.trim().parse::<i32>() {
        Ok(nice @ -20..=19) => Ok(nice),
        _ => Err(ValueError::Form("write a number from -20 to 19")),
    });
    nice.unwrap_or(0)
}

fn io_priority(asked: &Asked<'_>) -> Option<(u8, u8)> {
    let within = |name: &'static str, most: u32| {
        let number = asked.count(name)?;
        if number > most {
            asked.fault(name, format!("{name} is {number}"), format!("write a number from 0 to {most}"));
        }
        Some(number.min(most) as u8)
    };
    match (within("prioclass", 3), within("prio", 7)) {
        (None, None) => None,
        (class, level) => Some((class.unwrap_or(BEST_EFFORT), level.unwrap_or(0))),
    }
}
