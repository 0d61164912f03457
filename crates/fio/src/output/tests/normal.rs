//! Text: each line has the format of fio's, number for number and word for word.

use std::collections::BTreeSet;

use super::super::report::FioReport;

pub(super) fn write(report: &FioReport) -> String {
    let mut out = Vec::new();
    super::super::normal::write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A line with each number replaced by `N`, and with units and spaces before numbers normalised.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut number = false;
    for letter in line.chars() {
        if letter.is_ascii_digit() || number && letter == '.' {
            if !number {
                while shape.ends_with(['=', '[', '-', ' ']) && shape.ends_with(' ') {
                    shape.pop();
                }
                shape.push('N');
            }
            number = true;
        } else {
            number = false;
            shape.push(letter);
        }
    }
    for unit in ["KiB", "MiB", "GiB", "kB", "MB", "GB", "NB"] {
        shape = shape.replace(&format!("N{unit}"), "NB");
    }
    for unit in ["nsec", "usec", "msec"] {
        shape = shape.replace(&format!("({unit})"), "(unit)");
    }
    shape.replace("Nk", "N").replace("NM", "N").replace("(  KiB/s)", "(unit)").replace("(  MiB/s)", "(unit)")
}

/// The order of hosts, jobs with their groups, and group sums.
fn order(text: &str) -> Vec<String> {
    let job =
        |line: &str| line.split_once(": (groupid=").map(|(name, rest)| format!("{name} {}", &rest[..1]));
    let is_host = |line: &str| line.starts_with('<') && line.trim_end().ends_with('>');
    let host = |line: &str| is_host(line).then(|| "host".to_owned());
    let group = |line: &str| line.starts_with("Run status group").then(|| line[..18].to_owned());
    let rest = text.lines().skip_while(|line| !is_host(line));
    rest.filter_map(|line| host(line).or_else(|| job(line)).or_else(|| group(line))).collect()
}

#[test]
fn hosts_come_one_after_the_other_and_then_all_together() {
    let mut one = super::fleet();
    one.clients.truncate(1);
    let theirs = order(&super::by_fio("client.txt"));
    assert_eq!(order(&write(&one)), theirs);
    let ours = write(&super::fleet());
    // The second host's entries are between the first's and the combined ones.
    let (all, each) = theirs.split_last().unwrap();
    assert_eq!(order(&ours), [each, each, std::slice::from_ref(all)].concat());
    let all = ours.split_once("All clients: ").unwrap().1;
    assert!(all.starts_with("(groupid=1, jobs=6): err= 0: pid="), "{all}");
    let heads: Vec<&str> = ours.lines().filter(|line| line.starts_with('<')).collect();
    assert_eq!(heads, ["<alpha> ", "<beta> "]);
}

#[test]
fn every_line_has_the_shape_of_one_of_fios() {
    let ours = write(&super::sample());
    let theirs = super::by_fio("normal.txt");
    // fio's line for all directions combined lacks its numbers; the number of figure lines varies.
    let varies = |line: &str| line.starts_with("  lat (") || line.starts_with("  mixed: ");
    let shapes = |text: &str| -> BTreeSet<String> {
        text.lines().filter(|line| !varies(line) && !line.contains("err=")).map(shape).collect()
    };
    let (ours_shapes, theirs_shapes) = (shapes(&ours), shapes(&theirs));
    let strange: Vec<&String> = ours_shapes.difference(&theirs_shapes).collect();
    assert!(strange.is_empty(), "fio has no such lines: {strange:#?}\n{ours}");
    let body = theirs.split_once("\n\n").unwrap().1;
    let missing: Vec<String> =
        shapes(body).difference(&ours_shapes).filter(|line| !line.contains("slat (unit)")).cloned().collect();
    assert!(missing.is_empty(), "these lines of fio are missing: {missing:#?}\n{ours}");
    assert!(ours.contains("\n  mixed: IOPS=512k, BW=2000MiB/s (2097MB/s)(2048KiB/1msec)\n"), "{ours}");
    assert!(ours.contains("\n  lat (usec)   : "), "{ours}");
}

#[test]
fn a_small_parser_finds_its_figures() {
    let text = write(&super::sample());
    // `  read: IOPS=199, BW=800KiB/s (819kB/s)(1520KiB/1901msec)`
    let line = text.lines().find(|line| line.starts_with("  read: ")).unwrap();
    let field = |name: &str| line.split(name).nth(1).unwrap().split([',', ' ', '(']).next().unwrap();
    assert_eq!((field("IOPS="), field("BW=")), ("199", "800KiB/s"));
    // `     | 99.00th=[ 4490], …` of the first table.
    let table: Vec<(f64, u64)> = text
        .lines()
        .skip_while(|line| !line.starts_with("    clat percentiles"))
        .skip(1)
        .take_while(|line| line.starts_with("     |"))
        .flat_map(|line| line[6..].split(','))
        .filter_map(|item| item.trim().split_once("th=["))
        .map(|(percent, value)| {
            (percent.parse().unwrap(), value.trim_end_matches(']').trim().parse().unwrap())
        })
        .collect();
    assert_eq!(table.len(), 17);
    assert_eq!(table[6], (50.0, 206));
    assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
}
