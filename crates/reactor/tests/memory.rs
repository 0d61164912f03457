//! Files in memory. One test in a program of its own: it counts the threads of its process.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use reactor::{BackendChoice, Buffer, Directory, FileOptions, NAME_BUFFER, Reactor};

const NEW: FileOptions = FileOptions {
    write: true,
    create_new: true,
    direct: false,
    register: false,
    create: false,
    truncate: false,
    durable: reactor::Durable::Nothing,
};

#[test]
fn only_directories_with_nothing_but_files_are_served_without_other_threads() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let before = threads();
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let reactor = Reactor::open(choice).unwrap();
        reactor.block_on(async {
            for _ in 0..100 {
                on_a_file(&reactor, &reactor.plain_directory(place.path()).unwrap()).await;
            }
            assert_eq!(threads(), before, "neither a pool's nor the kernel's, with {choice}");
        });
    }
    let reactor = Reactor::open(BackendChoice::Epoll).unwrap();
    reactor.block_on(async {
        on_a_file(&reactor, &reactor.directory(place.path()).unwrap()).await;
        assert!(threads() > before, "what is below this directory could wait");
    });
}

/// Creates a file, writes, reads, looks at and removes it.
async fn on_a_file(reactor: &Reactor, directory: &Directory) {
    let (file, name) = directory.open_file(name(reactor), NEW).await;
    let file = file.unwrap();
    file.write_at(reactor.buffer(100), 0..100, 0).await.0.unwrap();
    assert_eq!(file.read_at(reactor.buffer(200), 0..200, 0).await.0.unwrap(), 100);
    file.set_len(10).await.unwrap();
    file.sync(true).await.unwrap();
    let (size, name) = directory.size_of(name).await;
    assert_eq!(size.unwrap(), 10);
    file.close().await.unwrap();
    directory.remove(name).await.0.unwrap();
}

fn name(reactor: &Reactor) -> Buffer {
    let mut buffer = reactor.buffer(NAME_BUFFER);
    buffer[..4].copy_from_slice(b"here");
    buffer
}

/// How many threads this process has, those of the kernel that work for it included.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}
