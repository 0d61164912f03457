//! Job files with embedded expectations, and the program that runs them: ours, or fio itself.
//!
//! Comments in a job file list its requirements and expected results:
//!
//! ```text
//! ; given: file:data=65536 copy:common.inc env:SIZE=64k port:PORT
//! ; arguments: --section=a --readonly
//! ; expect: jobs=2 read.ops=256 read.bytes=1048576 write.ops=150..210 total.ops=512 a:write.ops=8 a:error=0 a:group=1
//! ; expect: file:a.0.0=1048576 absent:b.0.0 lines:a_bw.1.log=1..9 holds:a.0.0=00 exit=0
//! ; only manometer: why fio cannot run it
//! ```
//!
//! `read`, `write` and `trim` without a job name are sums over all jobs, `total` the sum of these. `holds` is a byte
//! pattern in hexadecimal digits, repeated over the whole file.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod case;
pub mod grammar;
pub mod outcome;
