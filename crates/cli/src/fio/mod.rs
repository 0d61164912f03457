//! `manometer fio`: runs fio's job files.

#![allow(dead_code)]

pub mod outcome;
