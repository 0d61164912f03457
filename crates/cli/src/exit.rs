//! Exit codes, and the one line that goes with each of them.

use crate::messages::Messages;

/// Wrong usage: the command could not be understood.
pub fn usage(messages: &Messages, line: &str) -> u8 {
    messages.error(line);
    messages.note("`manometer check --help` lists every flag");
    2
}

/// What was given cannot be used; the line says all there is to say.
pub fn input(messages: &Messages, line: &str) -> u8 {
    messages.error(line);
    2
}

/// The command was understood and failed.
pub fn failure(messages: &Messages, line: &str) -> u8 {
    messages.error(line);
    1
}
