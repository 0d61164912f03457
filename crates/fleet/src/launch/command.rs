//! Agents started by any command whose standard input and output are the agent's.

use std::process::Command;

use super::deadline::Deadline;
use super::process::Launched;
use super::start::start_all;
use super::{LaunchError, LaunchSettings};

const AT_ONCE: usize = 32;

pub(super) fn launch(
    hosts: &[String],
    template: &[String],
    settings: &LaunchSettings<'_>,
) -> Result<Vec<Launched>, LaunchError> {
    let Some((program, arguments)) = template.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(LaunchError::Input(
            "the launcher's command is empty; write such as: podman exec -i {host} manometer agent"
                .to_owned(),
        ));
    };
    let named = template.iter().any(|word| word.contains("{host}") || word.contains("{index}"));
    if hosts.len() > 1 && !named {
        return Err(LaunchError::Input(format!(
            "the launcher's command {program:?} would start {} agents in one place; write {{host}} or {{index}} \
             where the host belongs",
            hosts.len()
        )));
    }
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    start_all(hosts, AT_ONCE, |index, host| {
        let mut command = Command::new(put_in(program, host, index));
        command.args(arguments.iter().map(|word| put_in(word, host, index)));
        let shown = shown(&command);
        let mut launched = Launched::spawn(host, &mut command)?;
        launched.wait_for_output(&deadline).map_err(|error| {
            let next = "run this command by hand: an agent answers and waits for its input";
            error.advised(format!("{shown}: "), next)
        })?;
        Ok(launched)
    })
}

/// Substitutes `{host}` and `{index}` in one word; there is no shell, so nothing is quoted.
fn put_in(word: &str, host: &str, index: usize) -> String {
    // Index first, so that a host's name is not substituted again.
    word.replace("{index}", &index.to_string()).replace("{host}", host)
}

pub(super) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}
