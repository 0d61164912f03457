//! Host lists as text: names separated by commas, spaces or newlines, with comments and ranges such as
//! `node[01-16,20]`.

use crate::text_fault::TextFault;

/// More hosts than this indicate a mistake in a range.
pub const MAX_HOSTS: usize = 10_000;

/// Maximum length of a host name, including user and port.
const LONGEST_NAME: usize = 320;

/// The hosts of a list, in order: `a,b`, `me@node[01-16]:2222`, or the text of a file with one host per line and
/// comments after `#`. A range keeps its leading zeros, as in Slurm and pdsh; brackets that contain a colon are an IPv6
/// address.
///
/// # Errors
/// One line: which text is no host list, or which host is listed twice, and what to write instead.
pub fn host_list(text: &str) -> Result<Vec<String>, TextFault> {
    let mut hosts: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("");
        for word in words(line)? {
            check_name(&word)?;
            expand(&word, &mut hosts)?;
        }
    }
    if hosts.is_empty() {
        return Err(TextFault::new("there are no hosts in it", "write such as node1,node2 or node[01-16]"));
    }
    let mut sorted: Vec<&String> = hosts.iter().collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(TextFault::new(format!("host {:?} is in it twice", pair[0]), "name each host once"));
    }
    Ok(hosts)
}

/// Whether two names are of one host: the user and the port used to reach it do not identify it.
pub fn is_same_host(one: &str, other: &str) -> bool {
    bare_host(one) == bare_host(other)
}

/// The name of a host without user and port: `me@node1:2222` gives `node1`, `[fd00::1]:22` gives `fd00::1`. For several
/// agents on one node (`node1/0`) it is the node.
pub fn bare_host(host: &str) -> &str {
    let host = host.split('/').next().unwrap_or(host);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match host.split_once(':') {
        // Two colons mean an IPv6 address without brackets, which has no port.
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    }
}

/// The port in a host's name: 2222 in `me@node1:2222` and in `[fd00::1]:2222`; `None` if there is none.
pub fn host_port(host: &str) -> Option<u16> {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let after = match host.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?.1,
        None => host.split_once(':').filter(|(_, port)| !port.contains(':'))?.1,
    };
    after.parse().ok()
}

/// The words of a line, separated by spaces and by commas outside brackets.
fn words(line: &str) -> Result<Vec<String>, TextFault> {
    let mut words = vec![String::new()];
    let mut within = false;
    for c in line.chars() {
        match c {
            '[' if within => return Err(unclosed(line)),
            '[' => within = true,
            ']' if !within => return Err(unclosed(line)),
            ']' => within = false,
            _ => {}
        }
        if !within && (c == ',' || c.is_whitespace()) {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    if within {
        return Err(unclosed(line));
    }
    Ok(words.into_iter().filter(|word| !word.is_empty()).collect())
}

fn unclosed(line: &str) -> TextFault {
    let text = format!("the brackets in {:?} do not match", shortened(line.trim()));
    TextFault::new(text, "write a range as node[01-16]")
}

/// Rejects what no host name contains: a leading dash would be an ssh option.
fn check_name(word: &str) -> Result<(), TextFault> {
    let shown = shortened(word);
    let known =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '@' | '%' | '[' | ']' | ',');
    let start = word.rsplit_once('@').map_or(word, |(_, host)| host);
    if word.starts_with('-') || start.is_empty() || start.starts_with('-') {
        let hint = "write a name that begins with a letter or a digit";
        return Err(TextFault::new(format!("{shown:?} is no host"), hint));
    }
    if let Some(strange) = word.chars().find(|c| !known(*c)) {
        let text = format!("{shown:?} is no host: {strange:?} is in no host's name");
        return Err(TextFault::new(text, "write such as me@node1:22"));
    }
    if word.len() > LONGEST_NAME {
        let text = format!("{shown:?} is too long for a host");
        return Err(TextFault::new(text, "part hosts by commas"));
    }
    Ok(())
}

/// Expands all ranges of a word.
fn expand(word: &str, hosts: &mut Vec<String>) -> Result<(), TextFault> {
    let range = word.match_indices('[').find_map(|(from, _)| {
        let to = from + word[from..].find(']')?;
        let inner = &word[from + 1..to];
        (!inner.contains(':')).then_some((&word[..from], inner, &word[to + 1..]))
    });
    let Some((before, inner, after)) = range else {
        if hosts.len() >= MAX_HOSTS {
            let text = format!("there are more than {MAX_HOSTS} hosts in it");
            return Err(TextFault::new(text, "check its ranges"));
        }
        hosts.push(word.to_owned());
        return Ok(());
    };
    for part in inner.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if plain { digits.parse::<u64>().ok() } else { None }
        };
        let (Some(from), Some(to)) = (number(first), number(last)) else {
            let text = format!("[{}] is no range of numbers", shortened(inner));
            return Err(TextFault::new(text, "write such as node[01-16,20]"));
        };
        if from > to {
            let hint = format!("write [{last}-{first}]");
            return Err(TextFault::new(format!("[{part}] counts down"), hint));
        }
        if to - from >= MAX_HOSTS as u64 {
            let text = format!("[{part}] makes more than {MAX_HOSTS} hosts");
            return Err(TextFault::new(text, "write a shorter range"));
        }
        let width = first.len();
        for number in from..=to {
            expand(&format!("{before}{number:0width$}{after}"), hosts)?;
        }
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_become_hosts() {
        for (text, hosts) in [
            ("a", &["a"][..]),
            ("a,b, c  d", &["a", "b", "c", "d"]),
            ("# rack 1\na # first\n\nb,c\n", &["a", "b", "c"]),
            ("node[08-11]", &["node08", "node09", "node10", "node11"]),
            ("node[1,3-4]:22,x", &["node1:22", "node3:22", "node4:22", "x"]),
            ("r[1-2]n[1-2]", &["r1n1", "r1n2", "r2n1", "r2n2"]),
            ("me@[fd00::1]:22,fd00::2", &["me@[fd00::1]:22", "fd00::2"]),
            ("10.0.0.[1-2]", &["10.0.0.1", "10.0.0.2"]),
            ("fe80::1%eth0", &["fe80::1%eth0"]),
        ] {
            assert_eq!(host_list(text).unwrap(), hosts, "{text}");
        }
        assert_eq!(host_list("n[1-10000]").unwrap().len(), MAX_HOSTS);
    }

    #[test]
    fn what_is_no_list_is_said_in_one_line() {
        for (text, said) in [
            ("", "no hosts"),
            (" # nobody\n", "no hosts"),
            ("a,b,a", "\"a\" is in it twice"),
            ("n[1-3],n2", "\"n2\" is in it twice"),
            ("n[1-3", "do not match"),
            ("n1-3]", "do not match"),
            ("n[[1]]", "do not match"),
            ("n[3-1]", "write [1-3]"),
            ("n[a-c]", "no range of numbers"),
            ("n[]", "no range of numbers"),
            ("n[1-]", "no range of numbers"),
            ("n[1-10001]", "more than 10000"),
            ("n[1-10000],x", "more than 10000"),
            ("n[1-99999999999999999999]", "no range of numbers"),
            ("-oProxyCommand=x", "no host"),
            ("me@-x", "no host"),
            ("me@", "no host"),
            ("a;b", "';'"),
            ("ssh://a", "'/'"),
        ] {
            let error = host_list(text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn the_port_of_a_host_is_what_is_written() {
        let ports = [
            ("node1", None),
            ("me@node1:2222", Some(2222)),
            ("fd00::1", None),
            ("me@[fd00::1]:22", Some(22)),
            ("[fd00::1]", None),
        ];
        ports.into_iter().for_each(|(host, port)| assert_eq!(host_port(host), port, "{host}"));
    }

    #[test]
    fn a_bare_host_has_no_user_and_no_port() {
        for (host, bare) in [
            ("a", "a"),
            ("me@a:22", "a"),
            ("a.b.c:22", "a.b.c"),
            ("[fd00::1]:22", "fd00::1"),
            ("me@[fd00::1]", "fd00::1"),
            ("fd00::1", "fd00::1"),
            ("local-0", "local-0"),
            ("node1/2", "node1"),
        ] {
            assert_eq!(bare_host(host), bare);
        }
    }
}
