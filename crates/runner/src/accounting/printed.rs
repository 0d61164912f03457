//! Counters that commands print: those of Ceph's metadata servers, and the form that any command may print.

use serde_json::Value;

use super::error::AccountingError;
use super::reading::{CallCounts, CounterReading, Time};

/// Parses what `ceph tell mds.NAME perf dump` prints: in `mds_server`, a latency `req_NAME_latency` for each kind of
/// request, with `avgcount` requests that took `sum` seconds.
///
/// # Errors
/// It is no such document.
pub fn of_mds(server: &str, text: &str) -> Result<CounterReading, AccountingError> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| AccountingError::Output(error.to_string()))?;
    let Some(Value::Object(section)) = document.get("mds_server") else {
        return Err(AccountingError::Output(
            "it has no counters of a metadata server (mds_server)".to_owned(),
        ));
    };
    let mut reading = CounterReading::default();
    for (name, value) in section {
        let kind = name.strip_prefix("req_").and_then(|name| name.strip_suffix("_latency"));
        let count = value.get("avgcount").and_then(Value::as_u64);
        let seconds = value.get("sum").and_then(Value::as_f64);
        if let (Some(kind), Some(calls), Some(seconds)) = (kind, count, seconds) {
            let time = Some(Time { calls, ns: seconds * 1e9 });
            reading.add(server, kind, CallCounts { calls, time, errors: None });
        }
    }
    Ok(reading)
}

/// Parses cumulative counters: a JSON object of servers with objects of procedures, each a number of calls or an object
/// with `calls`, `ns` (the time of all together) and `errors`; or lines of `server procedure calls [ns [errors]]`.
///
/// # Errors
/// The text has another form, or no counters.
pub fn of_command(text: &str) -> Result<CounterReading, AccountingError> {
    let reading = match text.trim_start().starts_with('{') {
        true => of_json(text)?,
        false => of_lines(text)?,
    };
    if reading == CounterReading::default() {
        return Err(AccountingError::Output("it has no counters".to_owned()));
    }
    Ok(reading)
}

fn of_json(text: &str) -> Result<CounterReading, AccountingError> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| AccountingError::Output(error.to_string()))?;
    let mut reading = CounterReading::default();
    for (server, procedures) in document.as_object().into_iter().flatten() {
        let Some(procedures) = procedures.as_object() else {
            return Err(AccountingError::Output(format!("{server} is no object of procedures")));
        };
        for (procedure, value) in procedures {
            let number = |name: &str| value.get(name).and_then(Value::as_u64);
            let Some(calls) = value.as_u64().or_else(|| number("calls")) else {
                let text = format!("{server}, {procedure}: neither a whole number nor an object with calls");
                return Err(AccountingError::Output(text));
            };
            let ns = value.get("ns").and_then(Value::as_f64);
            reading.add(server, procedure, counters(calls, ns, number("errors")));
        }
    }
    Ok(reading)
}

fn of_lines(text: &str) -> Result<CounterReading, AccountingError> {
    let mut reading = CounterReading::default();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let parsed = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [server, procedure, calls, ref rest @ ..] if rest.len() <= 2 => {
                let ns = rest.first().map(|ns| ns.parse::<f64>()).transpose().ok();
                let errors = rest.get(1).map(|errors| errors.parse::<u64>()).transpose().ok();
                calls.parse::<u64>().ok().zip(ns).zip(errors).map(|((calls, ns), errors)| {
                    reading.add(server, procedure, counters(calls, ns, errors));
                })
            }
            _ => None,
        };
        if parsed.is_none() {
            let text = format!("line {number} is no `server procedure calls [ns [errors]]`");
            return Err(AccountingError::Output(text));
        }
    }
    Ok(reading)
}

fn counters(calls: u64, ns: Option<f64>, errors: Option<u64>) -> CallCounts {
    let ns = ns.filter(|ns| ns.is_finite() && *ns >= 0.0);
    CallCounts { calls, time: ns.map(|ns| Time { calls, ns }), errors }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_json_mean_the_same() {
        let lines =
            of_command("# comment\nserver1 LOOKUP 5 2500\n\nserver1 GETATTR 7\nb READ 1 9 2\n").unwrap();
        let json = r#" {"server1": {"LOOKUP": {"calls": 5, "ns": 2500}, "GETATTR": 7}, "b": {"READ": {"calls": 1, "ns": 9, "errors": 2}}}"#;
        assert_eq!(of_command(json).unwrap(), lines);
        let mut expected = CounterReading::default();
        expected.add("server1", "LOOKUP", counters(5, Some(2500.0), None));
        expected.add("server1", "GETATTR", counters(7, None, None));
        expected.add("b", "READ", counters(1, Some(9.0), Some(2)));
        assert_eq!(lines, expected);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "a b",
            "a b c",
            "a b 1 2 3 4",
            "a b -1",
            "{}",
            "{\"a\": 1}",
            "{\"a\": {\"b\": \"c\"}}",
            "{",
            "a b 1 x",
        ] {
            assert!(of_command(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_metadata_server_has_its_requests() {
        let text = r#"{"mds": {"request": 9}, "mds_server": {"handle_client_request": 9,
            "req_create_latency": {"avgcount": 4, "sum": 0.002, "avgtime": 0.0005},
            "req_lookup_latency": {"avgcount": 5, "sum": 0.0, "avgtime": 0.0}}}"#;
        let mut expected = CounterReading::default();
        expected.add("mds.a", "create", counters(4, Some(2e6), None));
        expected.add("mds.a", "lookup", counters(5, Some(0.0), None));
        assert_eq!(of_mds("mds.a", text).unwrap(), expected);
        assert!(of_mds("mds.a", "{\"osd\": {}}").is_err() && of_mds("mds.a", "x").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text: String) {
            let _ = of_command(&text);
            let _ = of_mds("mds.a", &text);
        }
    }
}
