//! Agents in the pods of an Indexed Job, started and reached by the user's own `kubectl`.
//!
//! The Job's pods only wait (`manometer agent --idle`); each agent is started in one of them by `kubectl exec -i`,
//! whose standard input and output are the pipe. The Job is deleted when the last agent is gone. If this process is
//! killed, the agents end with their pipes, the pods after a while without an agent, and the Job by its time to live.

mod kubectl;
mod manifest;
mod pods;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use experiment::Pods;

use self::kubectl::{Failure, Kubectl};
use self::pods::{Pod, State};
use super::deadline::Deadline;
use super::process::Launched;
use super::start::start_all;
use super::{LaunchError, LaunchSettings, Say};

/// The name of the container.
const AGENT: &str = "agent";
/// Grace period of a deleted pod, in seconds: agents remove what they created.
pub(super) const GRACE_S: u64 = 120;
/// Minimum time that pods wait for an agent before they end by themselves, in seconds.
const QUIET_S: u64 = 600;
/// Timeout of one call of kubectl.
const CALL: Duration = Duration::from_secs(30);
/// How often to check the progress of the pods.
const LOOK: Duration = Duration::from_millis(500);
/// How many of these checks there are per check of the events, which tell people what is being waited for.
const EVENTS_EVERY: u32 = 10;
/// Kubernetes' message for a namespace that will never admit such pods.
const AGAINST_STANDARD: &str = "violates PodSecurity";
/// Maximum consecutive calls without an answer: a server may be restarting.
const UNANSWERED: u32 = 5;
/// Timeout of removing the Job: the pods' grace period, and a margin for Kubernetes.
const REMOVAL: Duration = Duration::from_secs(GRACE_S + 60);
/// Agents started concurrently.
const AT_ONCE: usize = 32;
/// Random characters in the Job's name.
const DRAWN: usize = 10;

/// Starts one agent in each of `pods.count` pods.
///
/// # Errors
/// kubectl's error, or why the pods do not run. Nothing is left behind.
pub(super) fn launch(
    pods: &Pods,
    settings: &LaunchSettings<'_>,
    say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    if pods.count == 0 {
        return Err(LaunchError::Input("a fleet of 0 pods cannot do anything; ask for 1 or more".to_owned()));
    }
    if pods.image.is_empty() {
        return Err(LaunchError::Input(
            "Kubernetes needs to know the container image of the pods; give one that holds manometer (`make \
             container` builds it)"
                .to_owned(),
        ));
    }
    let name = format!("manometer-{}", drawn());
    let program = settings.tool("kubectl").into();
    let kubectl = Kubectl::new(program, pods.context.as_deref(), pods.namespace.as_deref());
    launch_with(kubectl, &name, pods, settings, say)
}

/// Random lower-case letters and digits, so that runs do not collide.
fn drawn() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).map(|c| c.to_ascii_lowercase()).take(DRAWN).collect()
}

fn launch_with(
    kubectl: Kubectl,
    name: &str,
    pods: &Pods,
    settings: &LaunchSettings<'_>,
    say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    // The first pod may have to wait for the last as long as the start timeout.
    let quiet_s = QUIET_S.max(settings.start_timeout.as_secs() + 60);
    let manifest = manifest::job(pods, name, quiet_s).to_string();
    let call = Deadline::after(CALL.min(deadline.left()), settings.stop);
    let applied = kubectl.run(&["apply", "-f", "-"], Some(manifest), &call);
    if let Err(Failure::Refused(text)) = applied {
        return Err(LaunchError::Tool(text));
    }
    let mut job = Job { kubectl, name: name.to_owned(), there: true, say: say.clone() };
    let started = applied
        .map_err(PodsError::from)
        .and_then(|_| job.wait(pods.count, settings, &deadline))
        .map_err(|error| LaunchError::Tool(error.to_string()))
        .and_then(|running| job.start(&running, settings, &deadline));
    match started {
        Ok(mut agents) => {
            let job = Arc::new(job);
            for agent in &mut agents {
                agent.process.hold(job.clone());
            }
            Ok(agents)
        }
        Err(error) => {
            job.delete();
            Err(error)
        }
    }
}

/// Why the pods do not run.
#[derive(Debug, thiserror::Error)]
enum PodsError {
    /// kubectl does not answer.
    #[error(transparent)]
    Kubectl(#[from] Failure),
    /// Some will never run, for these reasons.
    #[error("{}; next: fix that, or ask for other pods", shown(.0))]
    Failed(Vec<String>),
    /// The namespace does not admit them, for these reasons.
    #[error("{}; next: use another namespace, or see its labels", shown(.0))]
    NotAdmitted(Vec<String>),
    #[error("the {count} pods of job {job} did not all run {waited}: {}", shown(reasons))]
    Late {
        count: u32,
        job: String,
        /// `within 30 s`.
        waited: String,
        reasons: Vec<String>,
    },
}

/// An existing Job, deleted when this is dropped.
struct Job {
    kubectl: Kubectl,
    name: String,
    there: bool,
    say: Say,
}

impl Job {
    /// Waits until all pods run; returns each one's name and node, by index.
    fn wait(
        &self,
        count: u32,
        settings: &LaunchSettings<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<(String, String)>, PodsError> {
        let label = format!("{}={}", manifest::INSTANCE, self.name);
        let (mut found, mut told, mut unanswered) = (Vec::new(), Vec::new(), 0);
        let mut look = 0u32;
        let waited = loop {
            // One call too many is better than one cut off by the overall timeout.
            match self.kubectl.get(&["pods", "-l", &label], &Deadline::after(CALL, settings.stop)) {
                Ok(list) => (found, unanswered) = (pods::read(&list), 0),
                Err(failure) => {
                    unanswered += 1;
                    if unanswered >= UNANSWERED {
                        return Err(failure.into());
                    }
                }
            }
            let mut running: Vec<(String, String)> = found.iter().filter_map(running).collect();
            if running.len() == count as usize {
                // The order of nodes is the same in every run.
                running.sort_by(|a, b| a.1.cmp(&b.1));
                return Ok(running);
            }
            let failed = failed(&found);
            if !failed.is_empty() {
                return Err(PodsError::Failed(failed));
            }
            if let Some(waited) = deadline.over() {
                break waited;
            }
            look += 1;
            if look.is_multiple_of(EVENTS_EVERY) {
                let reasons = self.waiting(&found, settings);
                if reasons.iter().any(|reason| reason.contains(AGAINST_STANDARD)) {
                    return Err(PodsError::NotAdmitted(reasons));
                }
                if reasons != told {
                    (self.say)(&format!("{} of {count} pods run; {}", running.len(), shown(&reasons)));
                    told = reasons;
                }
            }
            std::thread::sleep(LOOK.min(deadline.left()));
        };
        let reasons = self.waiting(&found, settings);
        Err(PodsError::Late { count, job: self.name.clone(), waited, reasons })
    }

    /// Why pods do not run yet. Where none can be created, warnings about the Job say why.
    fn waiting(&self, found: &[Pod], settings: &LaunchSettings<'_>) -> Vec<String> {
        // Not everyone may read events; they are optional.
        let warnings = self
            .kubectl
            .get(&["events", "--field-selector=type=Warning"], &Deadline::after(CALL, settings.stop))
            .map_or_else(|_| BTreeMap::new(), |events| pods::warnings(&events, &self.name));
        let mut reasons = pods::grouped(found.iter().filter_map(|pod| match &pod.state {
            // A warning is more informative than that a container is being created.
            State::Waiting(why) => Some((pod.name.as_str(), warnings.get(&pod.name).unwrap_or(why).as_str())),
            _ => None,
        }));
        reasons.extend(warnings.get(&self.name).map(|why| format!("job {}: {why}", self.name)));
        if reasons.is_empty() {
            reasons.push("there are fewer pods than were asked for".to_owned());
        }
        reasons
    }

    /// Starts an agent in each pod.
    fn start(
        &self,
        running: &[(String, String)],
        settings: &LaunchSettings<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Launched>, LaunchError> {
        let names = names(running);
        start_all(&names, AT_ONCE, |index, name| {
            let (pod, node) = &running[index];
            let mut command = self.kubectl.agent(pod, &settings.agent);
            let mut launched = Launched::spawn(name, &mut command)?;
            launched.wait_for_output(deadline).map_err(|error| {
                let by_hand = self.kubectl.shown(&["exec", "-i", pod, "--", "manometer", "agent"]);
                let next = format!("see that `{by_hand}` answers (it needs the right to create pods/exec)");
                error.advised("", next)
            })?;
            (self.say)(&format!("agent {name}: pod {pod} on node {node}"));
            Ok(launched)
        })
    }

    /// Deletes the Job with its pods and waits until they are gone; reports what could not be removed.
    fn delete(&mut self) {
        if !std::mem::take(&mut self.there) {
            return;
        }
        let arguments = ["delete", "job", &self.name, "--cascade=foreground", "--ignore-not-found"];
        // The user cannot interrupt this: it has its own timeout, and leftovers would cost money.
        let deadline = Deadline::after(REMOVAL, &|| false);
        if let Err(failure) = self.kubectl.run(&arguments, None, &deadline) {
            (self.say)(&format!(
                "job {} could not be removed: {}; next: run `{}`; without an agent its pods end by themselves",
                self.name,
                failure,
                self.kubectl.shown(&arguments)
            ));
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.delete();
    }
}

fn running(pod: &Pod) -> Option<(String, String)> {
    match &pod.state {
        State::Running(node) => Some((pod.name.clone(), node.clone())),
        _ => None,
    }
}

/// Why pods will never run.
fn failed(found: &[Pod]) -> Vec<String> {
    pods::grouped(found.iter().filter_map(|pod| match &pod.state {
        State::Failed(why) => Some((pod.name.as_str(), why.as_str())),
        _ => None,
    }))
}

/// Agents are named after their nodes, which stay the same from run to run; where pods share a node, a number is added.
fn names(running: &[(String, String)]) -> Vec<String> {
    let on = |node: &str| running.iter().filter(|(_, other)| other == node).count();
    let name = |(index, (_, node)): (usize, &(String, String))| match on(node) {
        1 => node.clone(),
        _ => format!("{node}/{index}"),
    };
    running.iter().enumerate().map(name).collect()
}

/// The first reasons, and the number of others.
fn shown(reasons: &[String]) -> String {
    const MOST: usize = 4;
    let mut text = reasons.iter().take(MOST).cloned().collect::<Vec<_>>().join("; ");
    if reasons.len() > MOST {
        text.push_str(&format!("; and {} reasons more", reasons.len() - MOST));
    }
    text
}

#[cfg(test)]
mod tests;
