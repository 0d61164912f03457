//! Reads a password from a file, an open descriptor or the terminal: never from an argument or the environment.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use provision::ApiSecret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Maximum length of a password.
const MAX_BYTES: u64 = 4096;

/// The first line of a file that nobody else may read.
///
/// # Errors
/// One line.
pub(super) fn from_file(path: &Path) -> Result<ApiSecret, String> {
    let shown = path.display();
    let cannot =
        |error: std::io::Error| format!("the password file {shown} cannot be read: {error}; check its path");
    let file = File::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        return Err(format!("others can read the password file {shown}; next: chmod 600 {shown}"));
    }
    first_line(file)
        .map_err(cannot)?
        .ok_or_else(|| format!("the password file {shown} is empty; write the password into it"))
}

/// The first line of an open descriptor, such as `3<file` or a pipe.
///
/// # Errors
/// One line.
pub(super) fn from_descriptor(number: u32) -> Result<ApiSecret, String> {
    let wrong = |text: String| {
        format!("--ssh-password-fd {number}: {text}; write such as --ssh-password-fd 3 3<FILE")
    };
    let file = File::open(format!("/proc/self/fd/{number}")).map_err(|error| wrong(error.to_string()))?;
    first_line(file)
        .map_err(|error| wrong(error.to_string()))?
        .ok_or_else(|| wrong("nothing comes from it".to_owned()))
}

fn first_line(file: File) -> std::io::Result<Option<ApiSecret>> {
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text.lines().next().map(ApiSecret::new).filter(|secret| !secret.is_empty()))
}

/// Reads from the terminal without echo.
///
/// # Errors
/// One line: there is no terminal, or the user cancelled.
pub(super) fn ask(prompt: &str) -> Result<ApiSecret, String> {
    let no_terminal = |error: std::io::Error| {
        format!("there is no terminal to ask for the password on ({error}); give --ssh-password-file FILE")
    };
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(no_terminal)?;
    terminal.write_all(prompt.as_bytes()).map_err(no_terminal)?;
    let mut typed = Vec::new();
    let unseen = Unseen::begin(&terminal).map_err(no_terminal)?;
    let mut end = Err("no password was given; nothing was started".to_owned());
    let mut byte = [0];
    while (&terminal).read(&mut byte).is_ok_and(|n| n == 1) && typed.len() < MAX_BYTES as usize {
        match byte[0] {
            b'\r' | b'\n' => {
                end = Ok(());
                break;
            }
            // Ctrl-C, Ctrl-D, Ctrl-\
            3 | 4 | 28 => break,
            // Backspace removes a whole character.
            8 | 127 => while typed.pop().is_some_and(|byte: u8| byte & 0xC0 == 0x80) {},
            // Ctrl-U
            21 => typed.clear(),
            other => typed.push(other),
        }
    }
    drop(unseen);
    let _told = terminal.write_all(b"\n");
    end?;
    let text = String::from_utf8(typed).map_err(|_| "the password is not UTF-8; type it again".to_owned())?;
    if text.is_empty() {
        Err("no password was given; nothing was started".to_owned())
    } else {
        Ok(ApiSecret::new(&text))
    }
}

/// Turns off the terminal's echo until dropped. Keys that would end the program arrive as bytes: otherwise the echo
/// would stay off.
struct Unseen<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Unseen<'a> {
    fn begin(terminal: &'a File) -> std::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut unseen = before.clone();
        unseen.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &unseen)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Unseen<'_> {
    fn drop(&mut self) {
        let _restored = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_must_be_the_users_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "s3cret\nanother line\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = from_file(&path).unwrap_err();
        assert!(error.contains("chmod 600") && !error.contains("s3cret"), "{error}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(from_file(&path).unwrap().reveal(), "s3cret");
        std::fs::write(&path, "").unwrap();
        assert!(from_file(&path).unwrap_err().contains("is empty"));
        assert!(from_file(&directory.path().join("none")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_password_comes_from_an_open_file() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"s3cret\n").unwrap();
        drop(writer);
        assert_eq!(from_descriptor(reader.as_raw_fd() as u32).unwrap().reveal(), "s3cret");
        let error = from_descriptor(999_999).unwrap_err();
        assert!(error.starts_with("--ssh-password-fd 999999: "), "{error}");
    }
}
