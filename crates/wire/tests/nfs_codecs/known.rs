//! Messages written by hand from the RFCs, to catch mistakes made in both directions.

use wire::mount::{DirPath, MountResult};
use wire::nfs3::{
    Attributes, CreateArgs, CreateHow, DirArgs, FileHandle, FileType, Name, Procedure, ProcedureResult,
    ReadOk, SetAttributes, Stability, Status, WccData, WriteArgs, WriteOk,
};
use wire::portmap::{Binding, Label, Mapping, NETWORK_TCP6, UniversalAddress};
use wire::rpc::{
    AUTH_SYS, AcceptStatus, Auth, AuthSys, CallHeader, Gids, ReplyBody, ReplyHeader, begin_record,
    end_record, peek_xid,
};
use wire::xdr::{Encode, decode_all};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn form(value: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

#[test]
fn a_getport_call_with_its_record_mark() {
    let mut out = Vec::new();
    let at = begin_record(&mut out);
    CallHeader::new(0x0102_0304, wire::portmap::PROGRAM, 2, wire::portmap::PROC_GETPORT, Auth::NONE)
        .encode(&mut out);
    Mapping { program: wire::nfs3::PROGRAM, version: 3, protocol: 6, port: 0 }.encode(&mut out);
    end_record(&mut out, at, 0);
    let expected = bytes(
        "80000038 01020304 00000000 00000002 000186a0 00000002 00000003 00000000 00000000 \
         00000000 00000000 000186a3 00000003 00000006 00000000",
    );
    assert_eq!(out, expected);
    assert_eq!(peek_xid(&out[4..]), Some(0x0102_0304));
}

#[test]
fn an_auth_sys_credential() {
    let body =
        form(&AuthSys { stamp: 5, machine: b"host1", uid: 1000, gid: 100, gids: Gids::new(&[100, 27]) });
    assert_eq!(
        body,
        bytes("00000005 00000005 686f737431 000000 000003e8 00000064 00000002 00000064 0000001b")
    );
    let auth = form(&Auth { flavor: AUTH_SYS, body: &body });
    assert_eq!(auth[..8], bytes("00000001 00000024"));
}

#[test]
fn replies_accepted_and_denied() {
    let accepted = bytes("00000007 00000001 00000000 00000000 00000000 00000000");
    assert_eq!(form(&ReplyHeader::success(7)), accepted);
    let mismatch = bytes("00000007 00000001 00000000 00000000 00000000 00000002 00000003 00000004");
    assert_eq!(form(&ReplyHeader::accepted(7, AcceptStatus::ProgramMismatch { low: 3, high: 4 })), mismatch);
    let message = bytes("00000007 00000001 00000001 00000001 00000005");
    let denied: ReplyHeader = decode_all(&message).expect("a denial for a weak credential");
    assert_eq!(denied.body, ReplyBody::AuthError(wire::rpc::AuthStatus::TooWeak));
}

#[test]
fn mount_of_a_path() {
    assert_eq!(form(&DirPath(b"/data")), bytes("00000005 2f64617461 000000"));
    let ok: MountResult =
        decode_all(&bytes("00000000 00000004 deadbeef 00000002 00000001 00000000")).expect("a mount result");
    let mounted = ok.expect("mounted");
    assert_eq!((mounted.root.as_bytes(), &mounted.flavors[..]), (&bytes("deadbeef")[..], &[1, 0][..]));
    let refused: MountResult = decode_all(&bytes("0000000d")).expect("a mount result");
    assert_eq!(refused.expect_err("refused").to_string(), "MNT3ERR_ACCES (13)");
}

#[test]
fn write_arguments_and_result() {
    let file = FileHandle::new(&[1, 2, 3, 4]).expect("short");
    let args =
        WriteArgs { file, offset: 0x1_0000_0000, count: 5, stable: Stability::FileSync, data: b"hello" };
    assert_eq!(
        form(&args),
        bytes("00000004 01020304 00000001 00000000 00000005 00000002 00000005 68656c6c6f 000000")
    );
    let ok: ProcedureResult<WriteOk, WccData> = decode_all(&bytes(
        "00000000 00000001 0000000000000010 00000001 00000002 00000003 00000004 00000000 \
         00000005 00000000 0102030405060708",
    ))
    .expect("a WRITE result");
    let ok = ok.expect("written");
    assert_eq!((ok.count, ok.committed, ok.verifier), (5, Stability::Unstable, [1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(ok.attributes.before.expect("attributes before").size, 16);
    let full: ProcedureResult<WriteOk, WccData> =
        decode_all(&bytes("0000001c 00000000 00000000")).expect("a result");
    assert_eq!(full.expect_err("full").status.to_string(), "NFS3ERR_NOSPC (28)");
}

#[test]
fn read_result_with_attributes() {
    let attributes = "00000001 000001a4 00000001 000003e8 00000064 0000000000000003 0000000000001000 \
        00000000 00000000 0000000000000009 000000000000002a 00000001 00000002 00000003 00000004 00000005 00000006";
    let message = bytes(&format!("00000000 00000001 {attributes} 00000003 00000001 00000003 616263 00"));
    let ok: ProcedureResult<ReadOk, Option<Attributes>> = decode_all(&message).expect("a READ result");
    let ok = ok.expect("read");
    assert_eq!((ok.data, ok.count, ok.eof), (&b"abc"[..], 3, true));
    let attributes = ok.attributes.expect("attributes");
    assert_eq!((attributes.kind, attributes.mode, attributes.size), (FileType::Regular, 0o644, 3));
    assert_eq!((attributes.fsid, attributes.file_id, attributes.changed.nanoseconds), (9, 42, 6));
    assert_eq!(form(&ProcedureResult::<ReadOk, Option<Attributes>>::Ok(ok)), message);
}

#[test]
fn create_unchecked_with_a_mode() {
    let directory = FileHandle::new(&[9]).expect("short");
    let args = CreateArgs {
        place: DirArgs { directory, name: Name(b"f") },
        how: CreateHow::Unchecked(SetAttributes { mode: Some(0o600), ..SetAttributes::default() }),
    };
    assert_eq!(
        form(&args),
        bytes(
            "00000001 09000000 00000001 66000000 00000000 00000001 00000180 00000000 00000000 00000000 \
             00000000 00000000"
        )
    );
}

#[test]
fn numbers_have_the_names_of_the_rfc() {
    assert_eq!(Procedure::ALL.len(), 22);
    for (number, procedure) in Procedure::ALL.iter().enumerate() {
        assert_eq!(*procedure as usize, number);
    }
    assert_eq!(Procedure::Commit.name(), "COMMIT");
    assert_eq!(Status::JUKEBOX.to_string(), "NFS3ERR_JUKEBOX (10008)");
    assert_eq!(Status(12_345).to_string(), "NFS3ERR (12345)");
}

#[test]
fn an_address_is_looked_up_over_ipv6() {
    let none = Label(b"");
    let binding = Binding {
        program: wire::mount::PROGRAM,
        version: 3,
        network: Label(NETWORK_TCP6),
        address: UniversalAddress(b""),
        owner: none,
    };
    assert_eq!(form(&binding), bytes("000186a5 00000003 00000004 74637036 00000000 00000000"));
    for (text, port) in [
        (&b"::.8.1"[..], Some(2049)),
        (b"fe80::1.78.80", Some(20_048)),
        (b"10.0.0.1.8.1", Some(2049)),
        (b"", None),
        (b"8.1", None),
        (b"::.8.256", None),
        (b"::.8.x", None),
        (b"\xff.8.1", None),
    ] {
        assert_eq!(UniversalAddress(text).port(), port, "{}", text.escape_ascii());
    }
}
