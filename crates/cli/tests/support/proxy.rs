//! A proxy between the program and an NFS server that corrupts some overwrites while acknowledging all of them.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What happens to every n-th WRITE to a range that was written before.
#[derive(Clone, Copy, Debug)]
pub enum Betrayal {
    /// The range keeps what it held.
    Lost { every: u64 },
    /// The data goes to another previously written range of the file.
    Misplaced { every: u64 },
}

/// The content of each range of each file: by file handle, then by offset.
type Written = HashMap<Vec<u8>, BTreeMap<u64, Vec<u8>>>;

/// Forwards everything from its own port while the test runs.
pub struct NfsProxy {
    pub port: u16,
    betrayed: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Shared {
    server: SocketAddr,
    betrayal: Betrayal,
    written: Arc<Mutex<(u64, Written)>>,
    betrayed: Arc<AtomicU64>,
}

impl NfsProxy {
    pub fn start(ip: IpAddr, server_port: u16, betrayal: Betrayal) -> NfsProxy {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Shared {
            server: SocketAddr::new(ip, server_port),
            betrayal,
            written: Arc::default(),
            betrayed: Arc::default(),
        };
        let betrayed = Arc::clone(&shared.betrayed);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.forward(client));
            }
        });
        NfsProxy { port, betrayed }
    }

    /// WRITEs that were lost or misplaced.
    pub fn betrayed(&self) -> u64 {
        self.betrayed.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn forward(&self, mut client: TcpStream) {
        let mut server = TcpStream::connect(self.server).unwrap();
        let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
        while let Some(mut record) = record(&mut client) {
            self.look_at(&mut record);
            if server.write_all(&record).is_err() {
                return;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
    }

    fn look_at(&self, record: &mut [u8]) {
        let Some(WritePlaces { handle, offset, data }) = write_places(record) else { return };
        let file = record[handle].to_vec();
        let at = u64::from_be_bytes(record[offset..offset + 8].try_into().unwrap());
        let mut shared = self.written.lock().unwrap();
        let (overwrites, files) = &mut *shared;
        let ranges = files.entry(file).or_default();
        let Some(before) = ranges.get(&at).filter(|before| before.len() == data.len()) else {
            ranges.insert(at, record[data].to_vec());
            return;
        };
        *overwrites += 1;
        let (Betrayal::Lost { every } | Betrayal::Misplaced { every }) = self.betrayal;
        if !overwrites.is_multiple_of(every) {
            ranges.insert(at, record[data].to_vec());
            return;
        }
        match self.betrayal {
            Betrayal::Lost { .. } => record[data].copy_from_slice(before),
            Betrayal::Misplaced { .. } => {
                let Some(other) = ranges.keys().copied().find(|other| *other != at) else { return };
                record[offset..offset + 8].copy_from_slice(&other.to_be_bytes());
                ranges.insert(other, record[data].to_vec());
            }
        }
        self.betrayed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The next record with its marker (RFC 5531 section 11), which the program sends in one fragment.
fn record(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut marker = [0; 4];
    stream.read_exact(&mut marker).ok()?;
    let len = u32::from_be_bytes(marker) & 0x7FFF_FFFF;
    let mut record = vec![0; 4 + len as usize];
    record[..4].copy_from_slice(&marker);
    stream.read_exact(&mut record[4..]).ok()?;
    Some(record)
}

/// Positions of the parts of a WRITE in its record.
struct WritePlaces {
    handle: std::ops::Range<usize>,
    offset: usize,
    data: std::ops::Range<usize>,
}

/// `None` for other calls (RFC 5531 section 9, RFC 1813 section 3.3.7).
fn write_places(record: &[u8]) -> Option<WritePlaces> {
    let word = |at: usize| Some(u32::from_be_bytes(record.get(at..at + 4)?.try_into().ok()?));
    // Marker, XID, message type, RPC version; then program, version, procedure.
    if (word(16)?, word(24)?) != (100_003, 7) {
        return None;
    }
    let opaque = |at: usize| Some(at + 4..at + 4 + word(at)? as usize);
    let padded = |end: usize| end.next_multiple_of(4);
    let credential = opaque(32)?;
    let verifier = opaque(padded(credential.end) + 4)?;
    let handle = opaque(padded(verifier.end))?;
    let offset = padded(handle.end);
    // After the offset come the count and the stability.
    let data = opaque(offset + 16)?;
    Some(WritePlaces { handle, offset, data })
}
