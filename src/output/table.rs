//! Plain columns as kubectl prints them: upper-case headers, two spaces apart, nothing that breaks in a log.

use super::Look;
use super::paint::{Paint, plain};
use crate::cli::Format;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement};

/// Spaces between columns.
const GAP: u16 = 2;

/// The last column is only wrapped where it has at least this much room: no address is longer, so none is cut.
const ROOM: u16 = 45;

/// One cell: text, and a colour for it.
pub(super) struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    /// A cell with this text; an empty one shows as `-`.
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self { text: if text.is_empty() { "-".to_owned() } else { plain(text) }, paint: None }
    }

    /// The same in colour.
    pub(super) fn paint(self, paint: Paint) -> Self {
        Self { paint: Some(paint), ..self }
    }
}

/// Rows under headers.
pub(super) struct Table {
    headers: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    numbers: Vec<usize>,
    wrap_last: bool,
}

impl Table {
    /// A table with these columns.
    pub(super) fn new(headers: &[&'static str]) -> Self {
        Self { headers: headers.to_vec(), rows: Vec::new(), numbers: Vec::new(), wrap_last: false }
    }

    /// More columns, if the wide form was asked for.
    pub(super) fn wide(&mut self, look: Look, headers: &[&'static str]) {
        if look.format == Format::Wide {
            self.headers.extend(headers);
        }
    }

    /// Columns of numbers, which stand at the right; those that only the wide form has may be among them.
    pub(super) fn numbers(&mut self, columns: std::ops::Range<usize>) {
        self.numbers.extend(columns);
    }

    /// The last column is text that may go on in the next line, where the terminal is too narrow for it.
    pub(super) fn wrap_last(&mut self) {
        self.wrap_last = true;
    }

    /// One more row; cells beyond the last column are for the wide form and left out.
    pub(super) fn row(&mut self, mut cells: Vec<Cell>) {
        cells.truncate(self.headers.len());
        self.rows.push(cells);
    }

    /// The lines, each with its newline; nothing where there are no rows.
    pub(super) fn render(&self, look: Look) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(self.headers.clone());
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| cell.text.as_str()));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        for index in &self.numbers {
            if let Some(column) = table.column_mut(*index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let widths = table.column_max_content_widths();
        if self.wrap_last
            && let (Some(width), Some((_, before))) = (look.width, widths.split_last())
            && before.iter().map(|w| u32::from(*w) + u32::from(GAP)).sum::<u32>() + u32::from(ROOM + GAP)
                <= u32::from(width)
        {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            for column in table.column_iter_mut().take(before.len()) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        if look.color {
            text = self.colored(&text, &widths);
        }
        text
    }

    /// Colour after the layout, which would count the codes as letters: each painted cell is looked for in its
    /// column, line after line.
    fn colored(&self, text: &str, widths: &[u16]) -> String {
        let mut rows = self.rows.iter().peekable();
        let mut colored = String::with_capacity(text.len() * 2);
        for (number, line) in text.lines().enumerate() {
            if number == 0 {
                colored += &Paint::Bold.on(line, true);
            } else if rows.peek().is_some_and(|row| starts(line, row)) {
                colored += &rows.next().map_or_else(|| line.to_owned(), |row| painted(line, row, widths));
            } else {
                colored += line;
            }
            colored.push('\n');
        }
        colored
    }
}

/// Does this row begin on this line? Lines that go on with the row before have nothing in the first column.
fn starts(line: &str, row: &[Cell]) -> bool {
    row.first().is_some_and(|cell| cell.text.lines().next().is_some_and(|text| line.starts_with(text)))
}

fn painted(line: &str, row: &[Cell], widths: &[u16]) -> String {
    let mut out = String::new();
    let mut rest = line;
    for (cell, width) in row.iter().zip(widths) {
        // Names, reasons and numbers are ASCII, one byte a column. Where a cell is not, colour is left off.
        let (field, after) =
            rest.split_at_checked(usize::from(*width) + usize::from(GAP)).unwrap_or((rest, ""));
        match cell.paint.filter(|_| field.trim() == cell.text) {
            Some(paint) => out += &field.replacen(&cell.text, &paint.on(&cell.text, true), 1),
            None => out += field,
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["NAME", "USE%", "MESSAGE"]);
        table.numbers(1..2);
        table.wrap_last();
        let message = "no free address in 2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112, give the pool more ranges";
        table.row(vec![Cell::new("a"), Cell::new("5%").paint(Paint::Green), Cell::new(message)]);
        table.row(vec![Cell::new(""), Cell::new("100%").paint(Paint::Red), Cell::new("x\ny\x1b[2J")]);
        table
    }

    #[test]
    fn columns_stand_two_spaces_apart_and_end_without_spaces() {
        insta::assert_snapshot!(sample().render(Look::default()), @r"
        NAME  USE%  MESSAGE
        a       5%  no free address in 2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112, give the pool more ranges
        -     100%  x
                    y\u{1b}[2J
        ");
    }

    #[test]
    fn a_terminal_wraps_the_last_column_and_no_other() {
        let look = |width| Look { width: Some(width), ..Look::default() };
        insta::assert_snapshot!(sample().render(look(70)), @r"
        NAME  USE%  MESSAGE
        a       5%  no free address in
                    2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112, give the pool
                    more ranges
        -     100%  x
                    y\u{1b}[2J
        ");
        assert_eq!(sample().render(look(40)), sample().render(Look::default()), "too narrow to wrap well");
    }

    #[test]
    fn colour_changes_nothing_else() {
        let look = Look { color: true, width: Some(70), ..Look::default() };
        insta::assert_snapshot!(sample().render(look), @"
        \u{1b}[1mNAME  USE%  MESSAGE\u{1b}[0m
        a       \u{1b}[32m5%\u{1b}[0m  no free address in
                    2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112, give the pool
                    more ranges
        -     \u{1b}[31m100%\u{1b}[0m  x
                    y\\u{1b}[2J
        ");
    }

    #[test]
    fn no_rows_no_text() {
        assert_eq!(Table::new(&["NAME"]).render(Look::default()), "");
    }
}
