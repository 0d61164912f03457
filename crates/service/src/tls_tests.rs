//! What the certificate of a service promises.

use std::fs::Permissions;

use super::*;

fn open(tls: &ServiceTls, directory: &Path) -> Result<Option<Identity>, ServiceError> {
    let notes: Notes = Arc::new(|_: &str| {});
    Identity::open(tls, directory, "0.0.0.0:0".parse().unwrap(), &["lab.example".to_owned()], &notes)
}

fn refusal(tls: &ServiceTls, directory: &Path) -> String {
    let Err(ServiceError::Usage(line)) = open(tls, directory) else { panic!("it was accepted") };
    line
}

#[test]
fn the_first_start_creates_a_certificate_that_later_starts_use() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(&ServiceTls::SelfSigned, directory.path()).unwrap().unwrap();
    let second = open(&ServiceTls::SelfSigned, directory.path()).unwrap().unwrap();
    assert_eq!(first.fingerprint, second.fingerprint);
    assert_eq!(first.fingerprint.len(), 32 * 3 - 1);
    let mode = directory.path().join("key.pem").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(open(&ServiceTls::Off, directory.path()).unwrap().is_none());
}

#[test]
fn files_that_do_not_fit_are_refused_by_name() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for directory in [&one, &other] {
        open(&ServiceTls::SelfSigned, directory.path()).unwrap();
    }
    let files = |certificate: &Path, key: &Path| ServiceTls::Files {
        certificate: certificate.join("certificate.pem"),
        key: key.join("key.pem"),
    };
    let wrong_key = refusal(&files(one.path(), other.path()), one.path());
    assert!(wrong_key.contains("certificate.pem"), "{wrong_key}");
    let missing = refusal(&files(one.path(), &one.path().join("none")), one.path());
    assert!(missing.contains("none/key.pem"), "{missing}");
    let key = one.path().join("key.pem");
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let readable = refusal(&files(one.path(), one.path()), one.path());
    assert!(readable.contains("chmod o="), "{readable}");
    std::fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    std::fs::write(one.path().join("certificate.pem"), "nothing").unwrap();
    let empty = refusal(&files(one.path(), one.path()), one.path());
    assert!(empty.contains("no certificate"), "{empty}");
}

#[test]
fn renewed_files_are_used_and_broken_ones_are_not() {
    let (directory, renewed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut served = open(&ServiceTls::SelfSigned, directory.path()).unwrap().unwrap();
    let second = open(&ServiceTls::SelfSigned, renewed.path()).unwrap().unwrap().fingerprint;
    let used = |served: &Identity| fingerprint(&served.current.0.read().unwrap());
    // Each copy has a time of its own, also on a file system with coarse ones.
    let copy = |name: &str, seconds| {
        std::fs::copy(renewed.path().join(name), directory.path().join(name)).unwrap();
        let copied = OpenOptions::new().append(true).open(directory.path().join(name)).unwrap();
        copied.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    copy("certificate.pem", 10);
    served.look();
    assert_eq!(used(&served), served.fingerprint, "a certificate without its key");
    copy("key.pem", 20);
    served.look();
    assert_eq!(used(&served), second);
}
