//! Portmapper and MOUNT.

use std::net::{Ipv4Addr, SocketAddr};

use array::files::{Files, Options};
use array::nfs::{NfsEndpoint, NfsServer, NfsServerSettings};
use array::{Capacity, FaultHandle};
use wire::mount::{self, DirPath, Exports, MountStatus};
use wire::nfs3::{self, Attributes, FileHandle, Procedure, ReadArgs, ReadOk, Stability, Status};
use wire::portmap::{self, Dump};
use wire::xdr::{Reader, decode_all};

use crate::client::{Client, failed, ok, on_both_reactors};
use crate::reading::{create, write};

#[test]
fn the_portmapper_knows_the_ports() {
    on_both_reactors(|fixture| {
        let endpoint = fixture.endpoint();
        let mut client = Client::connect(SocketAddr::new(endpoint.ip, endpoint.portmap_port));
        assert_eq!(client.port_of(nfs3::PROGRAM, nfs3::VERSION), endpoint.nfs_port);
        assert_eq!(client.port_of(mount::PROGRAM, mount::VERSION), endpoint.mount_port);
        assert_eq!(client.port_of(nfs3::PROGRAM, 4), endpoint.nfs_port);
        assert_eq!(client.port_of(nfs3::PROGRAM, 2), 0, "another version is not registered");
        assert_eq!(client.port_of(999, 1), 0);
        let dump = client.call(portmap::PROGRAM, portmap::VERSION, portmap::PROC_DUMP, &());
        assert_eq!(decode_all::<Dump>(&dump).unwrap().0.len(), 4);
    });
}

#[test]
fn all_addresses_and_threads_show_the_same_files() {
    let files = Files::new(Capacity::new(1 << 30));
    files.create("fs", Options::default()).unwrap();
    let address = |last, port| NfsEndpoint {
        ip: Ipv4Addr::new(127, 0, 0, last).into(),
        nfs_port: port,
        mount_port: port,
        portmap_port: 0,
    };
    let settings = NfsServerSettings { threads: 3, ..NfsServerSettings::default() };
    let wanted = [address(1, 0), address(2, 0)];
    let server = NfsServer::start(&files, &FaultHandle::default(), &wanted, settings).unwrap();
    let [one, two] = server.endpoints() else { panic!("two addresses") };
    assert_eq!((one.ip, two.ip), (wanted[0].ip, wanted[1].ip));
    let mut client = Client::connect(SocketAddr::new(one.ip, one.nfs_port));
    let root = client.mount(b"/fs").unwrap().root;
    let file = create(&mut client, root, b"f");
    write(&mut client, file, 0, b"shared", Stability::FileSync);
    let mut client = Client::connect(SocketAddr::new(two.ip, two.nfs_port));
    assert_eq!(client.mount(b"/fs").unwrap().root, root);
    let results = client.nfs(Procedure::Read, &ReadArgs { file, offset: 0, count: 100 });
    assert_eq!(ok!(ReadOk<'_>, Option<Attributes>, results).data, b"shared");
    assert!(
        NfsServer::start(&files, &FaultHandle::default(), &[*one], settings).is_err(),
        "the ports are taken"
    );
    // Both programs on the same port, once it is known.
    let shared = NfsEndpoint { mount_port: two.nfs_port, portmap_port: 0, ..*two };
    drop(server);
    let server = NfsServer::start(&files, &FaultHandle::default(), &[shared], settings).unwrap();
    assert_eq!(server.endpoints()[0].mount_port, shared.nfs_port);
    Client::connect(SocketAddr::new(shared.ip, shared.nfs_port)).mount(b"/fs").unwrap();
}

#[test]
fn exports_are_the_file_systems_that_exist() {
    on_both_reactors(|fixture| {
        fixture.files.create("hidden", Options { nfs_v3: false, ..Options::default() }).unwrap();
        fixture.files.create("gone", Options::default()).unwrap();
        fixture.files.destroy("gone").unwrap();
        let endpoint = fixture.endpoint();
        let mut client = Client::connect(SocketAddr::new(endpoint.ip, endpoint.mount_port));
        let listed = client.call(mount::PROGRAM, mount::VERSION, mount::PROC_EXPORT, &());
        let exports: Exports<'_> = decode_all(&listed).unwrap();
        assert_eq!(exports.0.iter().map(|export| export.path).collect::<Vec<_>>(), [DirPath(b"/fs")]);
        for path in [b"/hidden".as_slice(), b"/gone", b"/none", b"fs", b"/", b"", b"/fs/none"] {
            assert_eq!(client.mount(path).unwrap_err(), MountStatus::NOENT, "{}", path.escape_ascii());
        }
        let root = client.mount(b"/fs/").unwrap();
        assert_eq!(root, client.mount(b"/fs").unwrap());
        assert_eq!(root.flavors, [wire::rpc::AUTH_SYS]);
    });
}

#[test]
fn a_denied_client_may_not_mount() {
    on_both_reactors(|fixture| {
        let denied = vec![fixture.ip()];
        fixture.files.set_options("fs", Options { denied, ..Options::default() }).unwrap();
        assert_eq!(fixture.connect().mount(b"/fs").unwrap_err(), MountStatus::ACCES);
    });
}

#[test]
fn mounts_are_listed_until_they_are_undone() {
    on_both_reactors(|fixture| {
        let mut client = fixture.connect();
        client.mount(b"/fs").unwrap();
        let list = |client: &mut Client| {
            let results = client.call(mount::PROGRAM, mount::VERSION, 2, &());
            let mut reader = Reader::new(&results);
            let mut entries = Vec::new();
            while reader.bool().unwrap() {
                let host = reader.opaque("host", 255).unwrap().to_vec();
                entries.push((host, reader.opaque("path", 1024).unwrap().to_vec()));
            }
            reader.finish().unwrap();
            entries
        };
        assert_eq!(list(&mut client), [(b"127.0.0.1".to_vec(), b"/fs".to_vec())]);
        client.call(mount::PROGRAM, mount::VERSION, mount::PROC_UMNT, &DirPath(b"/fs"));
        assert!(list(&mut client).is_empty());
        client.mount(b"/fs").unwrap();
        client.call(mount::PROGRAM, mount::VERSION, mount::PROC_UMNTALL, &());
        assert!(list(&mut client).is_empty());
    });
}

#[test]
fn handles_of_a_removed_file_system_are_stale() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        fixture.files.destroy("fs").unwrap();
        fixture.files.eradicate("fs").unwrap();
        let results = client.nfs(Procedure::Getattr, &root);
        assert_eq!(failed!(nfs3::Attributes, (), results), Status::STALE);
        let foreign = FileHandle::new(b"not ours").unwrap();
        let results = client.nfs(Procedure::Getattr, &foreign);
        assert_eq!(failed!(nfs3::Attributes, (), results), Status::BADHANDLE);
    });
}
