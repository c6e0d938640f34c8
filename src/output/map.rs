//! A pool as a drawing, one character for an address.

use super::number;
use super::paint::{Paint, plain};

/// Addresses in a row.
pub const ROW: usize = 64;

/// Addresses that are drawn at most: a drawing of more helps nobody.
pub const LIMIT: usize = 1024;

/// What an address is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Held or seen in use.
    Used,
    /// Freed and resting.
    Cooling,
    /// Kept for a name that does not hold it yet.
    Reserved,
    /// Excluded, or never given out (gateway, name server, network, broadcast).
    Unusable,
    /// Can be given out.
    Free,
}

impl Cell {
    const ALL: [Self; 5] = [Self::Used, Self::Cooling, Self::Reserved, Self::Unusable, Self::Free];

    /// The character, its meaning and its colour; the character alone tells what the colour tells.
    fn look(self) -> (char, &'static str, Option<Paint>) {
        match self {
            Self::Used => ('#', "used", Some(Paint::Red)),
            Self::Cooling => ('~', "cooling", Some(Paint::Cyan)),
            Self::Reserved => ('R', "reserved", Some(Paint::Yellow)),
            Self::Unusable => ('x', "unusable", Some(Paint::Dim)),
            Self::Free => ('.', "free", None),
        }
    }
}

/// A row of at most [`ROW`] addresses; a range begins a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first address.
    pub first: String,
    /// It and those that follow.
    pub cells: Vec<Cell>,
}

/// A pool to draw. Rows beyond [`LIMIT`] need not be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The pool.
    pub name: String,
    /// How many addresses it has, drawn or not.
    pub total: u128,
    /// From the first address on.
    pub rows: Vec<Row>,
}

/// The drawing with its legend.
pub fn render(map: &Map, color: bool) -> String {
    let mut rows: Vec<(&str, &[Cell])> = Vec::new();
    let mut drawn = 0;
    for row in &map.rows {
        // A row that is too long is broken rather than trusted, so that no terminal has to.
        for (part, cells) in row.cells.chunks(ROW).enumerate() {
            let cells = &cells[..cells.len().min(LIMIT - drawn)];
            if !cells.is_empty() {
                rows.push((if part == 0 { &row.first } else { "" }, cells));
                drawn += cells.len();
            }
        }
    }
    let margin = rows.iter().map(|(first, _)| first.len()).max().unwrap_or_default();
    let title = format!("{} ({})\n", Paint::Bold.on(&plain(&map.name), color), amount(map.total, drawn));
    let ruler = format!("{:margin$}  +0              +16             +32             +48\n", "");
    let mut lines = vec![title];
    if !rows.is_empty() {
        lines.push(ruler);
    }
    lines.extend(rows.iter().map(|(first, cells)| format!("{first:margin$}  {}\n", draw(cells, color))));
    lines.push(legend(color));
    lines.concat()
}

fn amount(total: u128, drawn: usize) -> String {
    let all = if total == 1 { "1 address".to_owned() } else { format!("{} addresses", number(total)) };
    if total > drawn as u128 { format!("the first {drawn} of {all}") } else { all }
}

/// Runs of the same kind get one colour code between them.
fn draw(cells: &[Cell], color: bool) -> String {
    let runs = cells.chunk_by(|a, b| a == b).map(|run| {
        let (letter, _, paint) = run[0].look();
        let text = letter.to_string().repeat(run.len());
        paint.map_or_else(|| text.clone(), |p| p.on(&text, color))
    });
    runs.collect()
}

fn legend(color: bool) -> String {
    let entry = |cell: Cell| format!("{} {}", draw(&[cell], color), cell.look().1);
    Cell::ALL.map(entry).join("  ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Map {
        let mut cells = vec![Cell::Free; 16];
        cells[0] = Cell::Unusable;
        cells[1..4].fill(Cell::Used);
        cells[4] = Cell::Cooling;
        cells[7] = Cell::Reserved;
        let first = Row { first: "192.168.101.64".into(), cells };
        let second = Row { first: "10.0.0.1".into(), cells: vec![Cell::Used; 70] };
        Map { name: "lab".into(), total: 86, rows: vec![first, second] }
    }

    #[test]
    fn rows_have_their_first_address_and_break_at_64() {
        insta::assert_snapshot!(render(&small(), false), @"
        lab (86 addresses)
                        +0              +16             +32             +48
        192.168.101.64  x###~..R........
        10.0.0.1        ################################################################
                        ######
        # used  ~ cooling  R reserved  x unusable  . free
        ");
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let map = Map { rows: small().rows[..1].to_vec(), total: 16, ..small() };
        insta::assert_snapshot!(render(&map, true), @"
        \u{1b}[1mlab\u{1b}[0m (16 addresses)
                        +0              +16             +32             +48
        192.168.101.64  \u{1b}[2mx\u{1b}[0m\u{1b}[31m###\u{1b}[0m\u{1b}[36m~\u{1b}[0m..\u{1b}[33mR\u{1b}[0m........
        \u{1b}[31m#\u{1b}[0m used  \u{1b}[36m~\u{1b}[0m cooling  \u{1b}[33mR\u{1b}[0m reserved  \u{1b}[2mx\u{1b}[0m unusable  . free
        ");
    }

    #[test]
    fn large_pools_show_their_first_part() {
        let rows: Vec<_> = (0..40)
            .map(|i| Row { first: format!("fd00::{:x}", i * 64), cells: vec![Cell::Free; 64] })
            .collect();
        let text = render(&Map { name: "six".into(), total: 1 << 64, rows }, false);
        assert_eq!(text.lines().count(), 2 + LIMIT / ROW + 1);
        assert!(text.starts_with("six (the first 1024 of 2^64 addresses)\n"), "{text}");
    }

    #[test]
    fn a_pool_without_addresses_has_only_a_legend() {
        let text = render(&Map { name: "none".into(), total: 0, rows: Vec::new() }, false);
        insta::assert_snapshot!(text, @"
        none (0 addresses)
        # used  ~ cooling  R reserved  x unusable  . free
        ");
    }
}
