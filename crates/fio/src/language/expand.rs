//! Environment variables and keywords in values.

use super::lines::LONGEST_LINE;
use super::script::Reading;
use super::values;

/// Substitutes `${NAME}` (in job files) and `$pagesize`, `$mb_memory`, `$ncpus` in a value. A value with such a keyword
/// is then evaluated if it is arithmetic, such as `8*$ncpus`.
///
/// # Errors
/// The result is too long.
pub(super) fn expand(value: &str, with_environment: bool, reading: &Reading<'_>) -> Result<String, String> {
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
    too_long(&expanded)?;
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

fn too_long(text: &str) -> Result<(), String> {
    if text.len() > LONGEST_LINE { Err(format!("the most is {LONGEST_LINE} bytes")) } else { Ok(()) }
}

fn variables(value: &str, reading: &Reading<'_>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        expanded.push_str(&rest[..at]);
        expanded.push_str(&(reading.environment)(&rest[at + 2..at + end]).unwrap_or_default());
        too_long(&expanded)?;
        rest = &rest[at + end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}
