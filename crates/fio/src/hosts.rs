//! Jobs on other hosts: agents there run all of them at the same time.

use experiment::{Fleet, Launcher, Plan, escape_braces};

/// Makes agents on these hosts, which ssh starts, run a plan's jobs.
pub fn spread(plan: &mut Plan, hosts: Vec<String>) {
    for cell in &mut plan.cells {
        // Job files have no host variables: a brace in a name is a brace.
        cell.target.url = escape_braces(&cell.target.url);
        for text in cell.target.options.values_mut() {
            *text = escape_braces(text);
        }
    }
    plan.fleet = Some(Fleet::of(Launcher::Ssh { hosts, options: Vec::new(), binary: None }));
}
