//! Credentials for the hosts of one run; they stay in memory.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use fleet::launch::SshLogin;
use provision::ApiSecret;
use rustix::fs::{MemfdFlags, memfd_create};

/// How to log in to a run's hosts, beside the configuration of the service's account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    /// Password of all hosts.
    pub password: Option<ApiSecret>,
    /// Private key, in a form that OpenSSH reads.
    pub private_key: Option<ApiSecret>,
}

impl Login {
    /// Nothing was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.password.is_none() && self.private_key.is_none()
    }

    /// The login as launchers take it. The key's file exists in memory only, for as long as the returned file is kept.
    ///
    /// # Errors
    /// The system gives no such file.
    pub(crate) fn for_ssh(&self, options: &[String]) -> std::io::Result<(SshLogin, Option<File>)> {
        let mut login = SshLogin { password: self.password.clone(), options: options.to_vec() };
        let file = self.private_key.as_ref().map(in_memory).transpose()?;
        if let Some(file) = &file {
            // ssh opens it by this process's descriptor: it closes those that it inherits.
            let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
            login.options.extend(["-i".to_owned(), path, "-oIdentitiesOnly=yes".to_owned()]);
        }
        Ok((login, file))
    }
}

/// The key in a file without a name that only this account may read, as ssh demands.
fn in_memory(key: &ApiSecret) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("ssh-key", MemfdFlags::CLOEXEC)?);
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    // Readers of keys insist on the last line's end.
    file.write_all(key.reveal().as_bytes())?;
    file.write_all(b"\n")?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_key_is_in_memory_only_and_readable_by_its_path() {
        let login = Login { private_key: Some(ApiSecret::new("-----KEY-----\n")), ..Login::default() };
        let (for_ssh, file) = login.for_ssh(&["-oPort=1".to_owned()]).unwrap();
        let [port, flag, path, only] = &for_ssh.options[..] else { panic!("{for_ssh:?}") };
        assert_eq!((&**port, &**flag, &**only), ("-oPort=1", "-i", "-oIdentitiesOnly=yes"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "-----KEY-----\n");
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o600);
        assert!(std::fs::read_link(path).unwrap().to_string_lossy().starts_with("/memfd:"));
        drop(file);
        assert!(std::fs::read_to_string(path).is_err(), "it is gone");
        assert!(!format!("{login:?}").contains("KEY"));
    }
}
