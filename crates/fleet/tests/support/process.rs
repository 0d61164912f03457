//! Agents in processes of their own.

use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fleet::{Ends, Process};

use super::ends;

/// A child that is an agent.
struct OwnProcess(Child);

impl Process for OwnProcess {
    fn last_words(&mut self) -> String {
        format!("ended: {}", self.0.wait().unwrap())
    }

    fn end(&mut self, _patience: Duration) {
        let _gone = self.0.kill();
        self.0.wait().unwrap();
    }
}

/// This very test program, serving the coordinator that it is told of (`agent_of_another_process`), and its id.
pub fn process(name: &str) -> (Ends, u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("leader");
    let listener = UnixListener::bind(&path).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["agent_of_another_process", "--exact"])
        .env("FLEET_TEST_SOCKET", &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (socket, _) = listener.accept().unwrap();
    let id = child.id();
    let side = (socket.try_clone().unwrap().into(), socket.into());
    (Ends { process: Some(Box::new(OwnProcess(child))), ..ends(name, side) }, id)
}
