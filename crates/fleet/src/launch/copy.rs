//! Gets this program onto a host that lacks it: copied through the same ssh that runs it, with its hash verified there.
//!
//! One login does everything: a small `sh` script reports whether the right program is there, reads it from standard
//! input if not, and becomes the agent. Its lines carry a random number of this start, so that output of the host's
//! login shell is not mistaken for them.
//!
//! The program is sent compressed if the host has gzip; the hash is that of the uncompressed program.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::deadline::Deadline;
use super::gzip;
use super::process::{Launched, printable};
use super::sending::Sending;
use super::start_error::{AgentStartError, CopyError};

/// Maximum foreign lines skipped before the script's.
const MAX_OTHER_LINES: usize = 1000;

/// Bytes read at a time.
const PART_BYTES: usize = 1 << 18;

/// The agent's program: to be copied from here, or already there.
pub(super) struct Program {
    /// Its path on the hosts; empty: in the user's cache directory there.
    there: String,
    here: PathBuf,
    version: String,
    sha256: String,
    bytes: u64,
    /// The compressed program, made when the first host needs it: the same for all.
    packed: OnceLock<Result<Vec<u8>, CopyError>>,
    /// Prefix of the script's lines.
    mark: String,
}

impl Program {
    /// A program on this host, to be copied to others.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn here(path: &Path, version: &str) -> Result<Program, CopyError> {
        let cannot = |error| CopyError::NotHashed { path: path.to_owned(), error: Arc::new(error) };
        let mut file = File::open(path).map_err(cannot)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut part = vec![0; PART_BYTES];
        loop {
            let n = file.read(&mut part).map_err(cannot)?;
            if n == 0 {
                break;
            }
            hash.update(&part[..n]);
            bytes += n as u64;
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
        Ok(Program {
            there: String::new(),
            here: path.to_owned(),
            version: version.chars().map(plain).collect(),
            sha256,
            bytes,
            packed: OnceLock::new(),
            mark: mark(),
        })
    }

    /// A program that the hosts already have.
    pub(super) fn there(path: &str) -> Program {
        let (here, version, sha256) = (PathBuf::new(), String::new(), String::new());
        let packed = OnceLock::new();
        Program { there: path.to_owned(), here, version, sha256, bytes: 0, packed, mark: mark() }
    }

    /// The program in gzip format, made for the first host that needs it.
    fn packed(&self) -> Result<&[u8], CopyError> {
        let made = self.packed.get_or_init(|| {
            let made = File::open(&self.here).and_then(gzip::compress);
            made.map_err(|error| CopyError::NotCompressed(Arc::new(error)))
        });
        made.as_deref().map_err(Clone::clone)
    }
}

fn mark() -> String {
    format!("manometer-{:016x}", fastrand::u64(..))
}

/// The script that runs on the host. `$1` mark, `$2` version, `$3` SHA-256, `$4` path or nothing, then the agent's
/// arguments. It has no single quote, backslash, exclamation mark or newline, so that it passes through any login shell
/// (also csh and fish) within single quotes.
///
/// If it needs the program, it says in which form, then reads a line with the length in bytes, and then that many
/// bytes.
///
/// Copies unused for a week are deleted. A copy has a temporary name until its hash is verified, then is renamed
/// atomically: hosts that share a home directory, and fleets that start together, do not disturb each other.
const SCRIPT: &str = "m=$1; v=$2; h=$3; b=$4; shift 4; umask 077; \
say() { echo \"$m $*\"; }; \
sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; \
elif command -v shasum >/dev/null 2>&1; then shasum -a 256; \
elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r; else cat >/dev/null; echo none; fi; }; \
holds() { s=$(sum <\"$1\"); s=${s%% *}; test \"$s\" = \"$h\"; }; \
say machine \"$(uname -sm)\"; \
if test -n \"$b\"; then command -v \"$b\" >/dev/null 2>&1 || { say absent \"$b\"; exit 1; }; \
else c=${XDG_CACHE_HOME:-$HOME/.cache}/manometer; d=$c/agent-$v-$h; b=$d/manometer; t=$d/new.$m.$$; \
mkdir -p \"$d\" && touch \"$d\" || { say cannot make \"$d\"; exit 1; }; \
find \"$c\" -maxdepth 1 -type d -name \"agent-*\" -mtime +7 -exec rm -rf {} + 2>/dev/null; \
find \"$d\" -name \"new.*\" -mtime +0 -exec rm -f {} + 2>/dev/null; \
if test -x \"$b\" && holds \"$b\"; then say have; \
else clean() { rm -f \"$t\"; }; trap clean EXIT; trap \"exit 1\" HUP INT TERM; \
f=plain; command -v gzip >/dev/null 2>&1 && f=gzip; \
take() { if test $f = gzip; then head -c \"$z\" | gzip -dc; else head -c \"$z\"; fi; }; \
say need $f; read -r z || exit 1; \
take >\"$t\" || { clean; say cannot write \"$t\"; exit 1; }; \
holds \"$t\" || { clean; say wrong \"$s\"; exit 1; }; \
chmod 755 \"$t\" && mv -f \"$t\" \"$b\" || { clean; say cannot keep \"$b\"; exit 1; }; \
trap - EXIT HUP INT TERM; say copied; fi; fi; \
say ready; exec \"$b\" \"$@\"";

/// The command for the host's login shell, whichever it is.
pub(super) fn remote_command(program: &Program, agent: &[String]) -> String {
    let given = [&program.mark, &program.version, &program.sha256, &program.there];
    let words = given.into_iter().chain(agent).map(|word| quoted(word));
    let words: Vec<String> = words.collect();
    format!("exec /bin/sh -c {} manometer {}", quoted(SCRIPT), words.join(" "))
}

/// Quotes a word for any login shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Follows the script until the agent's first byte; `true` when the program was copied. `say` receives the progress of
/// a long copy.
///
/// # Errors
/// [`AgentStartError`].
pub(super) fn begin(
    launched: &mut Launched,
    program: &Program,
    deadline: &Deadline<'_>,
    say: &dyn Fn(&str),
) -> Result<bool, AgentStartError> {
    let (mut copied, mut others) = (false, 0);
    loop {
        let line = launched.read_line(deadline)?;
        let Some(said) = line.strip_prefix(&program.mark) else {
            others += 1;
            if others > MAX_OTHER_LINES {
                return Err(CopyError::EndlessLogin.into());
            }
            continue;
        };
        let (word, rest) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
        let rest = printable(rest);
        match word {
            "machine" if program.there.is_empty() && rest != machine() => {
                return Err(CopyError::OtherMachine { there: rest, here: machine() }.into());
            }
            "machine" | "have" => {}
            "need" => send(launched, program, &rest, deadline, say)?,
            "copied" => copied = true,
            "ready" => {
                launched.wait_for_output(deadline)?;
                return Ok(copied);
            }
            "wrong" if rest == "none" => return Err(CopyError::NoHashTool.into()),
            "wrong" => {
                let here = program.sha256.clone();
                return Err(CopyError::WrongHash { there: rest, here }.into());
            }
            "absent" => return Err(CopyError::NoProgram(rest).into()),
            _ => {
                let (failure, said) = (format!("{word} {rest}"), launched.process.last_words());
                return Err(CopyError::Script { failure, said }.into());
            }
        }
    }
}

/// The kernel and CPU architecture of this host, as printed by `uname -sm`.
fn machine() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.machine().to_string_lossy())
}

/// Sends the program in the form that the host asked for.
fn send(
    launched: &mut Launched,
    program: &Program,
    form: &str,
    deadline: &Deadline<'_>,
    say: &dyn Fn(&str),
) -> Result<(), CopyError> {
    if form == "gzip" {
        let packed = program.packed()?;
        return Sending::new(launched, packed.len() as u64, deadline, say).all(packed);
    }
    let file = File::open(&program.here).map_err(|error| CopyError::NotRead(Arc::new(error)))?;
    Sending::new(launched, program.bytes, deadline, say).all(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_passes_through_any_shell() {
        assert!(!SCRIPT.contains(['\'', '\\', '!', '\n']), "{SCRIPT}");
        assert_eq!(quoted("it's"), "'it'\"'\"'s'");
    }
}
