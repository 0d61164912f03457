//! Verification.

use super::asked::Asked;
use super::order::Order;
use super::patterns::pattern;
use experiment::{BlockSizes, Check, CheckMethod};

/// The methods by name.
const METHODS: [(&str, CheckMethod); 20] = [
    ("md5", CheckMethod::Md5),
    ("crc64", CheckMethod::Crc64),
    ("crc32c", CheckMethod::Crc32c),
    ("crc32c-intel", CheckMethod::Crc32c),
    ("crc32", CheckMethod::Crc32),
    ("crc16", CheckMethod::Crc16),
    ("crc7", CheckMethod::Crc7),
    ("xxhash", CheckMethod::Xxhash),
    ("sha1", CheckMethod::Sha1),
    ("sha256", CheckMethod::Sha256),
    ("sha512", CheckMethod::Sha512),
    ("sha3-224", CheckMethod::Sha3_224),
    ("sha3-256", CheckMethod::Sha3_256),
    ("sha3-384", CheckMethod::Sha3_384),
    ("sha3-512", CheckMethod::Sha3_512),
    ("meta", CheckMethod::Meta),
    ("pattern", CheckMethod::Pattern),
    ("pattern_hdr", CheckMethod::PatternHeader),
    ("null", CheckMethod::Null),
    ("fresh", CheckMethod::Fresh),
];

/// How written blocks are marked and read blocks compared; `None`: neither.
pub(crate) fn check(asked: &Asked<'_>, order: &Order, sizes: &BlockSizes) -> Option<Check> {
    let method = method(asked)?;
    let pattern = match asked.setting("verify_pattern") {
        Some(setting) => asked
            .read(setting, &setting.value, |text| pattern(text, asked.around.read_file, true))
            .unwrap_or_default(),
        None => Vec::new(),
    };
    let by_pattern = matches!(method, CheckMethod::Pattern | CheckMethod::PatternHeader);
    if by_pattern && !asked.has("verify_pattern") {
        asked.fault(
            "verify",
            "verify=pattern has no pattern",
            "add verify_pattern, as in verify_pattern=0xff",
        );
    }
    let only = asked.flag("verify_only");
    if only && asked.flag("time_based") {
        let text =
            "verify_only reads once what was written, and time_based goes on until the runtime is over";
        asked.fault("verify_only", text, "take time_based out");
    }
    let interval_bytes = interval(asked, order, sizes);
    let after_writes = asked.flag_or("do_verify", true) && order.writes;
    let backlog = asked.number("verify_backlog").unwrap_or(0);
    if after_writes && !only && backlog == 0 && asked.flag("time_based") && asked.has("runtime") {
        let text = "verify would compare nothing: with time_based the job writes until its runtime is over";
        let hint = "add verify_backlog=N to read back after each N writes, take time_based out, or write do_verify=0";
        asked.fault("verify", text, hint);
    }
    if after_writes && asked.has("read_iolog") {
        let text = "verify would compare nothing: what read_iolog replays is not read back";
        asked.fault("verify", text, "write do_verify=0, and compare with a job that reads the files");
    }
    Some(Check {
        method,
        interval_bytes,
        header_offset: header_offset(asked, method, interval_bytes, sizes),
        pattern,
        after_writes,
        only,
        fatal: asked.flag("verify_fatal"),
        backlog,
        backlog_batch: asked.number("verify_backlog_batch").unwrap_or(0),
        dump: asked.flag("verify_dump"),
    })
}

/// A pattern without a method is compared as it is.
fn method(asked: &Asked<'_>) -> Option<CheckMethod> {
    match asked.text("verify") {
        None => asked.has("verify_pattern").then_some(CheckMethod::Pattern),
        Some("0" | "none") => None,
        Some(word) => {
            let found = METHODS.iter().find(|method| method.0 == word);
            if found.is_none() {
                let hint = experiment::hint(word, METHODS.iter().map(|method| method.0));
                asked.fault("verify", format!("there is no verify method {word:?}"), hint);
            }
            found.map(|method| method.1)
        }
    }
}

/// Bytes covered by each header, 0 for whole blocks: at most the smallest block written, and a divisor of the smallest
/// and the largest, or else their greatest common divisor.
fn interval(asked: &Asked<'_>, order: &Order, sizes: &BlockSizes) -> u64 {
    let choice = if order.writes { &sizes.sizes.write } else { &sizes.sizes.read };
    let (least, most) = (choice.least(), choice.most());
    let given = asked.number("verify_interval").unwrap_or(0);
    if given == 0 && least == most {
        return 0;
    }
    let wanted = if given == 0 { least } else { given.min(least) };
    let interval = if least.is_multiple_of(wanted) && most.is_multiple_of(wanted) {
        wanted
    } else {
        common(least, most)
    };
    if interval == most { 0 } else { interval }
}

/// The greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

fn header_offset(asked: &Asked<'_>, method: CheckMethod, interval: u64, sizes: &BlockSizes) -> u64 {
    let offset = asked.number("verify_offset").unwrap_or(0);
    if offset == 0 {
        return 0;
    }
    let header = method.header_bytes() as u64;
    let room = if interval == 0 { sizes.sizes.write.least() } else { interval };
    if offset < header || offset + header > room {
        let text =
            format!("the header of {header} bytes at {offset} does not fit an interval of {room} bytes");
        let hint = format!("write an offset from {header} to {}", room.saturating_sub(header));
        asked.fault("verify_offset", text, hint);
    }
    offset
}
