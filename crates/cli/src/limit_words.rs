//! A finding as people read it: what was the limit, what to try next, and on what evidence.

use stats::limit::Finding;

/// The finding in a line, what to try next in another, and, if `evidence` is wanted, a table.
pub fn lines(finding: &Finding, evidence: bool) -> Vec<String> {
    let mut lines = vec![format!("limit: {}", finding.sentence), format!("next: {}", finding.next)];
    if evidence {
        lines.extend(table(finding));
    }
    lines
}

/// The evidence, in columns, indented.
pub fn table(finding: &Finding) -> Vec<String> {
    let header = ["", "seen", "limit from", "says"].map(str::to_owned);
    let rows = finding
        .evidence
        .iter()
        .map(|row| [row.name.clone(), row.value.clone(), row.limit.clone(), row.says.clone()]);
    let rows: Vec<[String; 4]> = std::iter::once(header).chain(rows).collect();
    let mut widths = [0; 4];
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    let line = |row: &[String; 4]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(text, width)| format!("{text:<width$}")).collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    if rows.len() > 1 { rows.iter().map(line).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use stats::limit::{Bound, Cause, Confidence, EvidenceRow};

    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |name: &str, value: &str| EvidenceRow {
            name: name.into(),
            value: value.into(),
            limit: "90 %".into(),
            says: "has room".into(),
        };
        let finding = Finding {
            bound: Bound::Target,
            cause: Cause::Service,
            confidence: Confidence::High,
            place: String::new(),
            share: None,
            sentence: "target-bound: operations take 5 ms".into(),
            next: "look at the target".into(),
            evidence: vec![row("all cores", "5 %"), row("card e0", "1.5 Gbit/s")],
            hosts: Vec::new(),
        };
        let lines = lines(&finding, true);
        assert_eq!(lines[0], "limit: target-bound: operations take 5 ms");
        assert_eq!(lines[3], "  all cores  5 %         90 %        has room");
        assert_eq!(lines[4], "  card e0    1.5 Gbit/s  90 %        has room");
        assert_eq!(super::lines(&finding, false).len(), 2);
    }
}
