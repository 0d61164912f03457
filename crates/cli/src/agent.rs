//! `manometer agent`: this host's side of a run coordinated by another manometer, over standard input and output.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fleet::{AgentEnd, Hello, Leaving};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit;
use crate::messages::Messages;

/// Serves another manometer over standard input and output, which starts it by itself.
///
/// Messages go to standard error. When the other side disappears, all load ends within seconds and everything
/// created is removed.
#[derive(Args, Debug)]
pub struct AgentArguments {
    /// Directory for journals of what must be removed [default: $XDG_STATE_HOME/manometer/journal]
    #[arg(long, value_name = "DIRECTORY")]
    pub journal_dir: Option<PathBuf>,
    /// Only keep a container alive for agents started in it, until it was idle for this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,
}

/// Serves until the coordinator ends it or is gone; returns the process's exit code.
pub fn run(arguments: &AgentArguments, messages: &Messages) -> u8 {
    if let Some(quiet_s) = arguments.idle {
        return match fleet::launch::idle(quiet_s) {
            Ok(()) => 0,
            Err(error) => exit::failure(messages, &format!("agent --idle: {error}")),
        };
    }
    let leaving = Leaving::default();
    let served = listen(&leaving).and_then(|()| {
        let (input, output) = pipe()?;
        let executor = Arc::new(host::LocalExecutor::new(arguments.journal_dir.clone()));
        let mut facts =
            host::environment::capture(&[], &host::environment::command_line(std::env::args())).facts;
        facts.extend(host::own_address().map(|ip| (host::ADDRESS.to_owned(), ip.to_string())));
        let hello = Hello { facts, ..Hello::own(Vec::new()) };
        fleet::serve(input, output, executor, hello, &leaving)
    });
    match served {
        Ok(AgentEnd::Dismissed) => 0,
        Ok(AgentEnd::Abandoned { why, left }) => {
            let left = match left.is_empty() {
                true => "all that was made is removed".to_owned(),
                false => {
                    format!("left behind: {}; next: run `manometer cleanup` on this host", left.join(", "))
                }
            };
            exit::failure(messages, &format!("agent: {why}; {left}"))
        }
        Err(error) => exit::failure(messages, &format!("agent: {error}")),
    }
}

/// Standard input and output as descriptors of our own. Anything else that is printed goes to standard error.
fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(std::io::stderr())?;
    Ok((input, output))
}

/// A signal means that the coordinator is gone; a second one ends the process as if nobody listened.
fn listen(leaving: &Leaving) -> std::io::Result<()> {
    let leaving = leaving.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupts, mut terminations, mut hang_ups) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            for last in [false, true] {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                    _ = hang_ups.recv() => {}
                }
                if last {
                    std::process::exit(1);
                }
                leaving.leave();
            }
        });
    })?;
    Ok(())
}
