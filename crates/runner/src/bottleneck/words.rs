//! A finding in words: the limit, what to try next, and the evidence.

use stats::limit::Bottleneck;

/// The finding on one line, what to try next on another, and the evidence as a table if a width is given.
pub fn lines(finding: &Bottleneck, evidence: Option<usize>) -> Vec<String> {
    let mut lines = vec![format!("limit: {}", finding.sentence), format!("next: {}", finding.next)];
    if let Some(width) = evidence {
        lines.extend(table(finding, "", width));
    }
    lines
}

/// The evidence as an indented table; `head` is the heading of the first column. A table wider than `width` drops the
/// threshold column first, then the meaning column.
pub fn table(finding: &Bottleneck, head: &str, width: usize) -> Vec<String> {
    let shown = [&[0, 1, 2, 3][..], &[0, 1, 3], &[0, 1]];
    let mut tables = shown.iter().map(|columns| of_columns(finding, head, columns));
    let fits = |table: &Vec<String>| table.iter().all(|line| line.chars().count() <= width);
    tables.find(fits).unwrap_or_else(|| of_columns(finding, head, &[0, 1]))
}

fn of_columns(finding: &Bottleneck, head: &str, columns: &[usize]) -> Vec<String> {
    let header = [head, "seen", "limit from", "says"].map(str::to_owned);
    let rows = finding
        .evidence
        .iter()
        .map(|row| [row.name.clone(), row.value.clone(), row.limit.clone(), row.says.clone()]);
    let rows: Vec<[String; 4]> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let line = |row: &[String; 4]| {
        let cells: Vec<String> =
            columns.iter().map(|column| format!("{:<1$}", row[*column], width(*column))).collect();
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
        let finding = Bottleneck {
            bound: Bound::Target,
            cause: Cause::Service,
            confidence: Confidence::High,
            place: String::new(),
            share: None,
            sentence: "target-bound: operations take 5 ms".into(),
            next: "look at the target".into(),
            evidence: vec![row("all cores", "5 %"), row("card e0", "1.5 Gbit/s")],
            hosts: Vec::new(),
            servers: Vec::new(),
            doubts: Vec::new(),
            probe: None,
        };
        let lines = lines(&finding, Some(110));
        assert_eq!(lines[0], "limit: target-bound: operations take 5 ms");
        assert_eq!(lines[3], "  all cores  5 %         90 %        has room");
        assert_eq!(lines[4], "  card e0    1.5 Gbit/s  90 %        has room");
        assert_eq!(super::lines(&finding, None).len(), 2);
        assert_eq!(table(&finding, "nfs read", 43)[0], "  nfs read   seen        says");
        assert_eq!(table(&finding, "", 43)[1], "  all cores  5 %         has room");
        assert_eq!(table(&finding, "", 10)[1], "  all cores  5 %");
    }
}
