//! Environment variables and keywords in values.

use super::lines::LONGEST_LINE;
use super::script::Reading;
use super::values;

/// A value becomes too long when variables are substituted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the most is {LONGEST_LINE} bytes")]
pub(super) struct TooLong;

/// Substitutes `${NAME}` (in job files) and `$pagesize`, `$mb_memory`, `$ncpus` in a value. A value with such a keyword
/// is then evaluated if it is arithmetic, such as `8*$ncpus`.
///
/// # Errors
/// [`TooLong`].
pub(super) fn expand(value: &str, with_environment: bool, reading: &Reading<'_>) -> Result<String, TooLong> {
    if !value.contains('$') {
        return Ok(value.to_owned());
    }
    let with_variables = if with_environment { variables(value, reading)? } else { value.to_owned() };
    let mut expanded = with_variables.clone();
    for (keyword, number) in
        [("$pagesize", reading.page_bytes), ("$mb_memory", reading.memory_mib), ("$ncpus", reading.cpus)]
    {
        expanded = expanded.replace(keyword, &number.to_string());
    }
    check_length(&expanded)?;
    let is_arithmetic = expanded.chars().all(|c| c.is_ascii_digit() || "+-*/%^() ".contains(c))
        && expanded.chars().any(|c| "+-*/%^".contains(c));
    if expanded != with_variables
        && is_arithmetic
        && let Ok(number) = values::integer(&format!("({expanded})"), 1024)
    {
        return Ok(number.to_string());
    }
    Ok(expanded)
}

fn check_length(text: &str) -> Result<(), TooLong> {
    if text.len() > LONGEST_LINE { Err(TooLong) } else { Ok(()) }
}

fn variables(value: &str, reading: &Reading<'_>) -> Result<String, TooLong> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        expanded.push_str(&rest[..at]);
        expanded.push_str(&(reading.environment)(&rest[at + 2..at + end]).unwrap_or_default());
        check_length(&expanded)?;
        rest = &rest[at + end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}
