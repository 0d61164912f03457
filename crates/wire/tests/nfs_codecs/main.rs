//! The NFS side of the codecs: XDR, ONC-RPC, record marking, portmap, MOUNT and NFSv3.

mod alloc;
mod codecs;
mod fuzz;
mod hostile;
mod known;
#[path = "../support/random.rs"]
mod random;
mod record;
mod roundtrip;
mod sample;
mod v41;
