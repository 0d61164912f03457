//! Tables for people, fitted to the terminal: the least important columns are dropped first, then names are wrapped.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table};

/// Columns in a log, a file or a document, where no terminal gives the width.
pub const LOG_WIDTH: usize = 100;
/// Space between two columns.
const GAP: usize = 2;
/// Minimum width of a column of names.
const NARROWEST: usize = 10;

/// How text is highlighted on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextColour {
    /// As it should be.
    Good,
    /// Needs attention.
    Doubtful,
    /// Wrong.
    Bad,
}

impl From<TextColour> for Color {
    fn from(colour: TextColour) -> Self {
        match colour {
            TextColour::Good => Color::Green,
            TextColour::Doubtful => Color::Yellow,
            TextColour::Bad => Color::Red,
        }
    }
}

/// A column: its title, and how it adapts when space is short.
#[derive(Clone, Debug)]
pub struct TableColumn {
    title: String,
    right: bool,
    rank: u8,
    optional: bool,
    breaks_to: Option<usize>,
}

impl TableColumn {
    /// A column of text, left-aligned.
    pub fn left(title: impl Into<String>) -> Self {
        Self { title: title.into(), right: false, rank: 0, optional: false, breaks_to: None }
    }

    /// A column of numbers, right-aligned.
    pub fn right(title: impl Into<String>) -> Self {
        Self { right: true, ..Self::left(title) }
    }

    /// Dropped when it does not fit, highest rank first; a column of rank 0 always stays.
    #[must_use]
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Wrapped down to this width before another column is dropped.
    #[must_use]
    pub fn breaks_to(self, width: usize) -> Self {
        Self { breaks_to: Some(width), ..self }
    }

    /// Dropped if it is empty in every row.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// Rows under columns, without a frame.
#[derive(Clone, Debug)]
pub struct FittedTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
    colour: Option<fn(usize, &str) -> Option<TextColour>>,
}

impl FittedTable {
    /// A table without rows.
    pub fn new(columns: Vec<TableColumn>) -> Self {
        Self { columns, rows: Vec::new(), colour: None }
    }

    /// A table of these rows.
    pub fn of(columns: Vec<TableColumn>, rows: Vec<Vec<String>>) -> Self {
        Self { rows, ..Self::new(columns) }
    }

    /// Adds a row: a text for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Colours texts by column and content.
    #[must_use]
    pub fn coloured(self, colour: Option<fn(usize, &str) -> Option<TextColour>>) -> Self {
        Self { colour, ..self }
    }

    /// The lines, each indented, none wider than `width` if possible: figures are never cut.
    pub fn text(&self, width: usize, indent: &str) -> String {
        let room = width.saturating_sub(indent.chars().count());
        let kept = self.kept(room);
        let mut widths: Vec<usize> = kept.iter().map(|column| self.width(*column)).collect();
        self.narrow(&kept, &mut widths, room);
        let mut table = Table::new();
        if self.colour.is_some() {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(kept.iter().map(|column| self.columns[*column].title.clone()).collect::<Vec<_>>());
        for row in &self.rows {
            table.add_row(kept.iter().zip(&widths).map(|(column, width)| {
                let text = row.get(*column).map_or("", String::as_str);
                let cell = Cell::new(broken(text, *width));
                match self.colour.and_then(|colour| colour(*column, text)) {
                    Some(colour) => cell.fg(colour.into()),
                    None => cell,
                }
            }));
        }
        for (position, (column, at)) in table.column_iter_mut().zip(&kept).enumerate() {
            // Coloured trailing blanks would extend beyond the terminal's edge.
            column.set_padding((0, if position + 1 < kept.len() { GAP as u16 } else { 0 }));
            if self.columns[*at].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string().lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
    }

    /// The columns that fit.
    fn kept(&self, room: usize) -> Vec<usize> {
        let filled = |column: &usize| {
            let mut texts = self.rows.iter().filter_map(|row| row.get(*column));
            !self.columns[*column].optional || texts.any(|text| !matches!(text.as_str(), "" | "-"))
        };
        let mut kept: Vec<usize> = (0..self.columns.len()).filter(filled).collect();
        let least = |column: &usize| {
            let width = self.width(*column);
            self.columns[*column].breaks_to.map_or(width, |narrow| width.min(narrow))
        };
        while self.total(kept.iter().map(least)) > room {
            // Among equal ranks, the rightmost is dropped.
            let least = kept.iter().copied().max_by_key(|column| (self.columns[*column].rank, *column));
            match least.filter(|column| self.columns[*column].rank > 0) {
                Some(least) => kept.retain(|column| *column != least),
                None => break,
            }
        }
        kept
    }

    /// Narrows text columns until the table fits, widest first.
    fn narrow(&self, kept: &[usize], widths: &mut [usize], room: usize) {
        loop {
            let excess = self.total(widths.iter().copied()).saturating_sub(room);
            let words = (0..kept.len())
                .filter(|at| !self.columns[kept[*at]].right && widths[*at] > NARROWEST)
                .max_by_key(|at| widths[*at]);
            let (Some(at), true) = (words, excess > 0) else { return };
            widths[at] = widths[at].saturating_sub(excess.min(widths[at].div_ceil(4))).max(NARROWEST);
        }
    }

    fn total(&self, widths: impl Iterator<Item = usize>) -> usize {
        widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
    }

    fn width(&self, column: usize) -> usize {
        let texts = self.rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
        let title = self.columns[column].title.as_str();
        texts.chain([title]).flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0)
    }
}

/// Wraps a text into lines of at most `width` at blanks; a longer word stays whole, and a number keeps its unit where
/// space allows. Removes terminal control characters.
fn broken(text: &str, width: usize) -> String {
    let text = text.replace(char::is_control, " ");
    let mut out = String::new();
    let mut used = 0;
    let mut words = text.split(' ').peekable();
    while let Some(first) = words.next() {
        let mut word = first.to_owned();
        let fits = |word: &str, next: &str| word.chars().count() + 1 + next.chars().count() <= width;
        while let Some(unit) = words.next_if(|next| is_number_with_unit(&word, next) && fits(&word, next)) {
            word.push(' ');
            word.push_str(unit);
        }
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        } else if !out.is_empty() {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += length;
    }
    out
}

/// Whether a number ends the text so far and the next word may be its unit.
fn is_number_with_unit(before: &str, next: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
        && next.starts_with(|c: char| c.is_alphabetic() || c == '%')
}

/// Wraps a paragraph at blanks into lines of at most `width` (longer words stay whole), the first after `indent` and
/// the others after `hanging`.
pub fn paragraph(text: &str, width: usize, indent: &str, hanging: &str) -> String {
    let mut out = String::from(indent);
    let mut used = indent.chars().count();
    let mut first_in_line = true;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !first_in_line && used + 1 + length > width {
            out.push('\n');
            out.push_str(hanging);
            used = hanging.chars().count();
        } else if !first_in_line {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
        first_in_line = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FittedTable {
        let mut table = FittedTable::new(vec![
            TableColumn::right("#"),
            TableColumn::left("name of it"),
            TableColumn::right("p50").rank(2),
            TableColumn::right("p99"),
            TableColumn::left("steady").rank(1),
            TableColumn::right("errors").optional(),
        ]);
        table.row(["1", "a name of some length", "1.00 ms", "7.20 ms", "yes", "-"].map(str::to_owned).into());
        table.row(["2", "short", "900 µs", "1.10 ms", "no", ""].map(str::to_owned).into());
        table
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            broken("mixed block_size=4 KiB (not steady)", 16),
            "mixed\nblock_size=4 KiB\n(not steady)"
        );
        assert_eq!(broken("± 3 % of 12 cells", 8), "± 3 % of\n12 cells");
        assert_eq!(
            broken("block_size=16 KiB", 16),
            "block_size=16\nKiB",
            "where there is no room, it is broken"
        );
    }

    #[test]
    fn what_matters_least_goes_first() {
        let text = table().text(100, "");
        assert_eq!(text.lines().next(), Some("#  name of it                 p50      p99  steady"));
        assert!(!text.contains("errors"), "a column in which nothing stands is left out: {text}");
        let text = table().text(48, "  ");
        assert_eq!(text.lines().next(), Some("  #  name of it                 p99  steady"));
        let text = table().text(40, "");
        assert_eq!(text.lines().next(), Some("#  name of it                 p99"));
    }

    #[test]
    fn names_are_broken_at_blanks_and_figures_never() {
        let text = table().text(24, "");
        assert!(widest(&text) <= 24, "{text}");
        assert!(text.contains("a name of\n") || text.contains("a name of  "), "{text}");
        for figure in ["7.20 ms", "1.10 ms"] {
            assert!(text.contains(figure), "{text}");
        }
        // A table cannot be narrower than its figures.
        assert!(table().text(5, "").contains("7.20 ms"));
    }

    #[test]
    fn texts_of_a_file_do_not_steer_the_terminal() {
        let table = FittedTable::of(vec![TableColumn::left("a")], vec![vec!["x\u{1b}[2Jy".into()]]);
        assert_eq!(table.text(80, ""), "a\nx [2Jy\n");
        assert_eq!(paragraph("x\u{1b}[2Jy z", 80, "", ""), "x [2Jy z\n");
    }

    #[test]
    fn every_width_that_can_be_kept_is_kept() {
        for width in 24..120 {
            let text = table().text(width, "");
            assert!(widest(&text) <= width, "{width}: {text}");
        }
    }
}
