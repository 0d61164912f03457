//! Any input yields a script or faults with a line, and never a panic: random bytes, and job files with words, lines
//! and characters changed, for a while (`MANOMETER_FUZZ_SECONDS`, default 1). A failing case prints its seed.
#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "../../targets/tests/random/mod.rs"]
mod random;

use std::time::{Duration, Instant};

use fio::{Input, Reading, every_option, read, split_arguments, values};
use proptest::prelude::*;

use random::Random;

const FILES: &[&str] = &[
    "; a mix\n[global]\nrw=randrw:8\nrwmixread=70\nbs=4k,8k,\nsize=1m\nioengine=libaio\niodepth=8\n\n[a]\nnumjobs=2\n\
     stonewall\n[b]\nrate=1m,,2m\nruntime=(1s+5)\ntime_based=1\n",
    "[one]\nfilename=/dev/null:/tmp/x\\:y\nverify=crc32c\nverify_pattern=0xff%o\"abcd\"-12\nbssplit=4k/50:1k/:32k/\n\
     include inc.fio\n[two]\nwait_for=one\nsize=50%\noffset_increment=10%\n",
    "[global]\nnfs_url=nfs://h/export\nioengine=nfs\n[w]\nfilename_format=$jobname.$jobnum\nsize=${SIZE}\nbs=2*$pagesize\n\
     percentile_list=1:50:99.9\nss=iops:0.3%\nstartdelay=1-3\nrandom_distribution=zoned:60/10:40/90\n",
];

const WORDS: &[&str] = &[
    "[",
    "]",
    "[global]\n",
    "[a]\n",
    "include ",
    "include inc.fio\n",
    "${",
    "${SIZE}",
    "${X}",
    "$ncpus",
    "$pagesize",
    "=",
    "=\n",
    ",",
    ":",
    "/",
    "-",
    "%",
    "(",
    ")",
    "((((",
    "^9^9",
    "*0",
    "/0",
    "0x",
    "0xffffffffffffffff",
    "1p",
    "9999999p",
    "18446744073709551615",
    "-1",
    "1.5",
    "4kib",
    "ki",
    "10min",
    "1d",
    "\"",
    "'",
    "\\",
    "\\:",
    ";",
    "#",
    "\r\n",
    "\n",
    "\t",
    "\0",
    "\u{feff}",
    "ä",
    "\u{2028}",
    "rw",
    "randread",
    "bs",
    "kb_base=1000\n",
    "time_based\n",
    "zonemode=zbd\n",
    "ioengine=libhdfs\n",
    "hipri\n",
    "name=x\n",
    "http_s3_key=secret\n",
];

fn mutated(random: &mut Random) -> Vec<u8> {
    if random.below(10) == 0 {
        return (0..random.below(300)).map(|_| random.next() as u8).collect();
    }
    let mut bytes = FILES[random.below(FILES.len())].as_bytes().to_vec();
    for _ in 0..random.below(5) {
        let at = random.below(bytes.len() + 1);
        match random.below(7) {
            0 | 1 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            2 => {
                let option = every_option().nth(random.below(every_option().count())).unwrap();
                drop(bytes.splice(
                    at..at,
                    format!("\n{}={}\n", option.name, WORDS[random.below(WORDS.len())]).bytes(),
                ));
            }
            3 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
            4 => {
                let piece = bytes[at..(at + random.below(80)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
    bytes
}

/// Number of lines of a file to which a fault can point.
fn lines_of(file: &str, bytes: &[u8]) -> usize {
    let text = if file == "inc.fio" { INCLUDED } else { bytes };
    text.iter().filter(|byte| **byte == b'\n').count() + 1
}

const INCLUDED: &[u8] = b"direct=1\niodepth=2\n";

fn check(bytes: &[u8], lenient: bool) -> bool {
    let reading = Reading {
        environment: &|name| (name == "SIZE").then(|| "64k".to_owned()),
        include: &|path| match path {
            "inc.fio" => Ok(INCLUDED.to_vec()),
            "job.fio" => Ok(bytes.to_vec()),
            _ => Err(std::io::Error::other("no such file")),
        },
        page_bytes: 4096,
        memory_mib: 2048,
        cpus: 2,
        sections: &[],
        ignore_unsupported: lenient,
    };
    match read(&[Input::File { name: "job.fio", bytes }], &reading) {
        Ok((script, warnings)) => {
            assert!(!script.sections.is_empty());
            for setting in script.sections.iter().flat_map(|section| &section.settings) {
                assert!(setting.origin.line >= 1 && setting.option.is_of_jobs());
                let _ = (
                    setting.integer(),
                    setting.integers(),
                    setting.seconds(),
                    setting.names(),
                    setting.word(),
                );
            }
            warnings.iter().for_each(|warning| assert!(warning.0.origin.line >= 1, "{warning}"));
            true
        }
        Err(faults) => {
            assert!(!faults.faults.is_empty());
            for fault in &faults.faults {
                let lines = lines_of(&fault.origin.file, bytes);
                assert!((1..=lines).contains(&fault.origin.line) && fault.origin.column >= 1, "{fault:?}");
                assert!(!fault.text.is_empty() && !fault.hint.is_empty(), "{fault:?}");
            }
            assert!(faults.to_string().len() < 100_000, "{faults}");
            false
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test's budget, not a measurement")]
fn anything_makes_a_script_or_faults_with_a_line() {
    let seconds: f64 =
        std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let began = Instant::now();
    let (mut seed, mut scripts) = (1u64, 0);
    while began.elapsed() < Duration::from_secs_f64(seconds) || seed < 300 {
        seed += 1;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bytes = mutated(&mut random);
        let lenient = random.below(2) == 0;
        match std::panic::catch_unwind(|| check(&bytes, lenient)) {
            Ok(right) => scripts += u64::from(right),
            Err(_) => panic!("seed {seed} fails:\n{}", String::from_utf8_lossy(&bytes)),
        }
    }
    // Mutations are small enough that some files stay valid.
    assert!(scripts > 0, "{seed} cases and no script");
}

proptest! {
    #[test]
    fn any_text_is_a_value_or_none(text in "[-+*/%^()0-9a-zA-Z.:, ]{0,40}", kb_base in prop_oneof![Just(1024u32), Just(1000)]) {
        let _ = (values::integer(&text, kb_base), values::integers(&text, kb_base), values::amount(&text, kb_base));
        let _ = (values::range(&text, kb_base), values::ranges(&text, kb_base), values::floats(&text));
        let _ = (values::time(&text, 1_000_000), values::time_range(&text, 1), values::times(&text, 1));
    }

    #[test]
    fn arithmetic_is_that_of_whole_numbers(a in 0i64..1 << 30, b in 1i64..1 << 30, c in 0i64..1000) {
        let at = |text: String| values::integer(&text, 1024);
        prop_assert_eq!(at(format!("({a}+{b}*{c})")), Ok(a + b * c));
        prop_assert_eq!(at(format!("(({a}-{b})/{b}%7)")), Ok((a - b) / b % 7));
        prop_assert_eq!(at(format!("({c}k+{a})")), Ok(c * 1024 + a));
        prop_assert_eq!(at(format!("{c}m")), Ok(c << 20));
    }

    #[test]
    fn sizes_are_read_as_they_are_written(bytes in 0u64..1 << 62) {
        prop_assert_eq!(values::integer(&format!("{bytes:#x}"), 1024), Ok(bytes as i64));
        prop_assert_eq!(values::integer(&bytes.to_string(), 1000), Ok(bytes as i64));
    }

    #[test]
    fn any_command_line_is_taken_apart_or_refused(arguments in proptest::collection::vec("(-{0,2}[a-z_]{1,6}(=[a-z0-9]{0,4})?|--name=a|--bs|-|4k)", 0..8)) {
        match split_arguments(&arguments) {
            Ok((split, _)) => prop_assert!(split.files.len() + split.jobs.len() + split.program.len() <= arguments.len()),
            Err(faults) => {
                for fault in faults.faults {
                    prop_assert!((1..=arguments.len()).contains(&fault.origin.line));
                }
            }
        }
    }
}
