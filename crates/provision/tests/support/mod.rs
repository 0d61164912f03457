//! A scripted management API over plain HTTP: the test determines the response to each call.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provision::{ApiSecret, ArraySession, Cancel, Journal, Management, ProvisionError, Run, RunId, Trust};
use serde_json::{Value, json};

pub mod places;
pub mod store;

/// The API token of every scripted array.
pub const TOKEN: &str = "T-00000000-1111-2222-3333-444444444444";

/// A received request.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Path and query, still encoded.
    pub target: String,
    pub head: String,
    pub body: Value,
}

impl Seen {
    /// Method and target, followed by the body if there is one.
    pub fn line(&self) -> String {
        if self.body.is_null() {
            format!("{} {}", self.method, self.target)
        } else {
            format!("{} {} {}", self.method, self.target, self.body)
        }
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A query parameter, decoded as far as the names in these tests need it.
    pub fn query(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.replace("%2F", "/"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// The response to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Json(u16, Value),
    /// Bytes sent unchanged; then the connection is closed.
    Raw(Vec<u8>),
    /// Nothing, ever.
    Hang,
}

impl Reply {
    pub fn error(status: u16, message: &str, context: &str) -> Self {
        Self::Json(status, json!({ "errors": [{ "message": message, "context": context }] }))
    }
}

type Script = dyn FnMut(&Seen) -> Reply + Send;

/// A scripted server. It lives as long as the test process.
pub struct Fake {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Fake {
    /// Starts it on a free port.
    pub fn start(script: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Mutex<Box<Script>>> = Arc::new(Mutex::new(Box::new(script)));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&shared));
                std::thread::spawn(move || {
                    // Clients that disconnect early are part of the tests.
                    let _ = serve(stream.unwrap(), &script, &seen);
                });
            }
        });
        Self { address, seen }
    }

    /// A script for everything after the login; version and login get normal responses.
    pub fn logged_in(versions: &[&str], mut script: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        let versions = json!({ "versions": versions });
        Self::start(move |seen| match seen.path() {
            "/api/api_version" => Reply::Json(200, versions.clone()),
            "/api/login" => session("session-1"),
            "/api/logout" => Reply::Json(200, Value::Null),
            _ => script(seen),
        })
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// All requests so far, without version, login and logout.
    pub fn lines(&self) -> Vec<String> {
        let plumbing = ["/api/api_version", "/api/login", "/api/logout"];
        self.seen().iter().filter(|seen| !plumbing.contains(&seen.path())).map(Seen::line).collect()
    }

    pub fn management(&self) -> Management {
        Management {
            address: format!("http://{}", self.address),
            token: ApiSecret::new(TOKEN),
            trust: Trust::System,
            call_timeout: Duration::from_secs(30),
        }
    }
}

/// The response to a login.
pub fn session(token: &str) -> Reply {
    Reply::Raw(
        format!("HTTP/1.1 200 OK\r\nx-auth-token: {token}\r\ncontent-length: 23\r\n\r\n{{\"username\":\"pureuser\"}}").into_bytes(),
    )
}

fn serve(mut stream: TcpStream, script: &Mutex<Box<Script>>, all: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let mut received = Vec::new();
    let mut block = [0; 4096];
    let head_end = loop {
        if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut block)? {
            0 => return Ok(()),
            count => received.extend_from_slice(&block[..count]),
        }
    };
    let head = String::from_utf8(received[..head_end].to_vec()).unwrap();
    let mut first = head.lines().next().unwrap().split(' ');
    let mut seen = Seen {
        method: first.next().unwrap().to_owned(),
        target: first.next().unwrap().to_owned(),
        head: head.clone(),
        body: Value::Null,
    };
    let length: usize = seen.header("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = received.split_off(head_end + 4);
    while body.len() < length {
        let count = stream.read(&mut block)?;
        body.extend_from_slice(&block[..count]);
    }
    if length > 0 {
        seen.body = serde_json::from_slice(&body).unwrap();
    }
    all.lock().unwrap().push(seen.clone());
    let reply = script.lock().unwrap()(&seen);
    match reply {
        Reply::Json(status, body) => {
            let body = if body.is_null() { String::new() } else { body.to_string() };
            write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\ncontent-type: application/json\r\n\r\n{body}",
                body.len()
            )
        }
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Hang => {
            // Until the client gives up and closes.
            while stream.read(&mut block)? > 0 {}
            Ok(())
        }
    }
}

/// A test's journal directory, with one run started in it.
pub struct Scene {
    pub directory: tempfile::TempDir,
    pub journal: Journal,
    pub run: Run,
}

impl Scene {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(&directory.path().join("journal")).unwrap();
        let run = journal.begin(&"abcdefgh".parse::<RunId>().unwrap()).unwrap();
        Self { directory, journal, run }
    }

    pub fn open(&self, management: &Management) -> Result<ArraySession, ProvisionError> {
        ArraySession::open(management, &self.run, &Cancel::new())
    }

    /// The journal file's text.
    pub fn text(&self) -> String {
        std::fs::read_to_string(self.run.path()).unwrap()
    }
}
