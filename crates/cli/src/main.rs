//! manometer: what storage can really do, and what is holding it back.

mod check;
mod client;
mod messages;
mod progress;
mod report;

fn main() {}
