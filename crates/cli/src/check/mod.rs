//! `manometer check`: is the plumbing between this client and its storage right?

pub mod arguments;
pub mod row;
pub mod verdict;
