//! Which jobs run at the same time, and which are reported together.

use super::asked::Asked;
use experiment::ConcurrentCells;

/// A section's position among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The group of its first cell; without `group_reporting`, each further cell has the next number of `report`.
    pub group: ConcurrentCells,
    /// Its clones are the workers of one cell.
    pub one_cell: bool,
    /// Number of the summary that includes it, if it is not the group's.
    pub summary: Option<u32>,
    /// Index of the section that it waits for.
    pub after: Option<usize>,
}

/// Groups, summaries and combined reports, numbered as in fio.
pub(crate) fn groups(sections: &[Asked<'_>]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let (mut running, mut summary, mut shown) = (0, 0, 0);
    for (index, asked) in sections.iter().enumerate() {
        let together = asked.flag("group_reporting");
        if index > 0 {
            let wall = asked.flag("stonewall") || asked.section.begins_file;
            let begins = wall || asked.flag("new_group");
            running += u32::from(wall);
            summary += u32::from(begins);
            // A job with group_reporting joins the report before it in the same summary.
            shown += u32::from(begins || !together);
        }
        let report = Some(shown);
        // Each clone of a job without it is reported alone; the next job may join the last clone.
        if !together {
            shown += asked.count("numjobs").unwrap_or(1).saturating_sub(1);
        }
        let ends_group = asked.flag("exitall");
        let ends_run = match asked.text("exit_what") {
            None | Some("group" | "stonewall") => false,
            Some("all") => ends_group,
            Some(other) => {
                let hint = experiment::hint(other, ["group", "all", "stonewall"]);
                asked.fault("exit_what", format!("there is no exit_what {other:?}"), hint);
                false
            }
        };
        places.push(Place {
            group: ConcurrentCells { number: running, ends_group, ends_run, after_cell: None, report },
            one_cell: together,
            summary: (summary != running).then_some(summary),
            after: waits_for(asked, &sections[..index]),
        });
    }
    places
}

/// The earlier section with the name that is waited for.
fn waits_for(asked: &Asked<'_>, before: &[Asked<'_>]) -> Option<usize> {
    let name = asked.text("wait_for")?;
    let mut found = (0..before.len()).filter(|index| before[*index].section.name == name);
    match (found.next(), found.next()) {
        (Some(index), None) => Some(index),
        (Some(_), Some(_)) => {
            let text = format!("several jobs before this one are called {name:?}");
            asked.fault("wait_for", text, "give the one that is waited for a name of its own");
            None
        }
        (None, _) => {
            let names = before.iter().map(|asked| &*asked.section.name);
            let hint = match experiment::nearest(name, names) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "name a job that stands before this one".to_owned(),
            };
            asked.fault("wait_for", format!("no job {name:?} stands before this one"), hint);
            None
        }
    }
}
