//! The file operations of a Gluster volume's bricks: `gluster --xml volume profile VOLUME info cumulative`.
//!
//! A successful answer has a `brick` for each brick with its `brickName` and, in `cumulativeStats/fopStats`, a `fop` for
//! each kind of file operation: `name`, `hits` and `avgLatency` in nanoseconds. Others have `opRet` -1, the reason in
//! `opErrstr`, and still exit code 0.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::error::AccountingError;
use super::reading::{CallCounts, CounterReading, Time};

/// What an answer says.
#[derive(Debug, PartialEq)]
pub enum Profile {
    /// The counters since the profile was started.
    Counters(CounterReading),
    /// The volume is not profiled.
    NotStarted,
}

/// Maximum depth of elements and length of a text; real ones are far smaller.
const MAX_DEPTH: usize = 16;
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Parses an answer.
///
/// # Errors
/// It is not one of gluster's, or gluster refused.
pub fn profile(text: &str) -> Result<Profile, AccountingError> {
    let mut found = Found::default();
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let mut content = String::new();
    loop {
        let event = reader.read_event().map_err(|error| AccountingError::Output(error.to_string()))?;
        match event {
            Event::Start(start) => {
                let name = start.local_name();
                let name: &str = name.as_ref();
                path.push(name.to_owned());
                content.clear();
            }
            Event::End(_) => {
                found.leave(&path, content.trim())?;
                path.pop();
                content.clear();
            }
            Event::Text(text) => content.push_str(&text.xml10_content()),
            Event::Eof => break,
            _ => {}
        }
        if path.len() > MAX_DEPTH || content.len() > MAX_TEXT_BYTES {
            return Err(AccountingError::Output("it is no profile of gluster's".to_owned()));
        }
    }
    match found.returned {
        Some(0) => Ok(Profile::Counters(found.reading)),
        Some(_) if found.reason.contains("is not started") && found.reason.starts_with("Profile") => {
            Ok(Profile::NotStarted)
        }
        Some(_) => Err(AccountingError::Refused(found.reason)),
        None => Err(AccountingError::Output("it is no answer of gluster's".to_owned())),
    }
}

#[derive(Default)]
struct Found {
    returned: Option<i64>,
    reason: String,
    reading: CounterReading,
    brick: String,
    name: String,
    hits: u64,
    mean_ns: f64,
}

impl Found {
    fn leave(&mut self, path: &[String], text: &str) -> Result<(), AccountingError> {
        let wrong = || AccountingError::Output(format!("{text:?} is no number"));
        match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["cliOutput", "opRet"] => self.returned = Some(text.parse().map_err(|_| wrong())?),
            ["cliOutput", "opErrstr"] => text.clone_into(&mut self.reason),
            [.., "brick", "brickName"] => text.clone_into(&mut self.brick),
            [.., "cumulativeStats", "fopStats", "fop", "name"] => text.clone_into(&mut self.name),
            [.., "cumulativeStats", "fopStats", "fop", "hits"] => {
                self.hits = text.parse().map_err(|_| wrong())?;
            }
            [.., "cumulativeStats", "fopStats", "fop", "avgLatency"] => {
                self.mean_ns = text.parse().map_err(|_| wrong())?;
            }
            [.., "cumulativeStats", "fopStats", "fop"] => {
                let ns = self.mean_ns * self.hits as f64;
                let time = Some(Time { calls: self.hits, ns });
                self.reading.add(
                    &self.brick,
                    &self.name,
                    CallCounts { calls: self.hits, time, errors: None },
                );
                (self.hits, self.mean_ns) = (0, 0.0);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(returned: i32, reason: &str, rest: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <opRet>{returned}</opRet>\n  \
             <opErrno>0</opErrno>\n  <opErrstr>{reason}</opErrstr>\n  <volProfile>{rest}</volProfile>\n</cliOutput>\n"
        )
    }

    fn brick(name: &str, fops: &[(&str, u64, f64)]) -> String {
        let fop = |(name, hits, mean): &(&str, u64, f64)| {
            format!(
                "<fop><name>{name}</name><hits>{hits}</hits><avgLatency>{mean}</avgLatency>\
                 <minLatency>1.0</minLatency><maxLatency>2.0</maxLatency></fop>"
            )
        };
        let fops: String = fops.iter().map(fop).collect();
        format!(
            "<brick><brickName>{name}</brickName><cumulativeStats><blockStats><block><size>1</size></block>\
             </blockStats><fopStats>{fops}</fopStats><duration>2</duration></cumulativeStats></brick>"
        )
    }

    #[test]
    fn every_brick_has_its_operations() {
        let one = brick("h:/b1", &[("LOOKUP", 16, 43295.5), ("CREATE", 1, 100.0)]);
        let text = answer(0, "", &(one + &brick("h:/b2", &[("LOOKUP", 2, 10.0)])));
        let counters = |calls: u64, mean: f64| {
            let time = Some(Time { calls, ns: mean * calls as f64 });
            CallCounts { calls, time, errors: None }
        };
        let mut expected = CounterReading::default();
        expected.add("h:/b1", "LOOKUP", counters(16, 43295.5));
        expected.add("h:/b1", "CREATE", counters(1, 100.0));
        expected.add("h:/b2", "LOOKUP", counters(2, 10.0));
        assert_eq!(profile(&text).unwrap(), Profile::Counters(expected));
    }

    #[test]
    fn refusals_say_why() {
        let stopped = answer(-1, "Profile on Volume gv is not started", "");
        assert_eq!(profile(&stopped).unwrap(), Profile::NotStarted);
        let error = profile(&answer(-1, "Volume gv does not exist", "")).unwrap_err();
        assert_eq!(error.to_string(), "gluster refuses: Volume gv does not exist");
        for text in
            ["", "Connection failed", "<cliOutput>", "<a><b></a>", "<cliOutput><opRet>x</opRet></cliOutput>"]
        {
            assert!(profile(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text: String) {
            let _ = profile(&text);
        }
    }
}
