//! The tables and words that several reports have in common.

use super::Look;
use super::paint::Paint;
use super::table::{Cell, Table};
use crate::model::{Allocated, ClaimChange, ClaimLine, PendingLine, Problem};

/// `Kind/namespace/name`, without the namespace where there is none.
pub(super) fn object(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// Whose address a line is about.
pub(super) fn owner(line: &Allocated) -> String {
    object(&line.kind, &line.namespace, &line.name)
}

/// Who got which address.
pub(super) fn allocated(lines: &[Allocated], look: Look) -> String {
    let mut table = Table::new(&["SYSTEM", "KIND", "NAMESPACE", "NAME", "DEVICE", "POOL", "ADDRESS"]);
    table.wide(look, &["NETWORK"]);
    for line in lines {
        let who = [&line.system, &line.kind, &line.namespace, &line.name];
        let what = [&line.device, &line.pool, &line.address, &line.network];
        table.row(who.into_iter().chain(what).map(Cell::new).collect());
    }
    table.render(look)
}

/// Addresses and whose they are or were, under this word.
pub(super) fn by_address(word: &'static str, lines: &[Allocated], look: Look) -> String {
    let mut table = Table::new(&[word, "POOL", "OWNER", "DEVICE"]);
    table.wide(look, &["SYSTEM", "NETWORK"]);
    for line in lines {
        let owner = owner(line);
        let shown = [&line.address, &line.pool, &owner, &line.device, &line.system, &line.network];
        table.row(shown.map(Cell::new).into());
    }
    table.render(look)
}

/// Claims whose addresses the CNI chooses, with what it gave.
pub(super) fn claims(lines: &[ClaimLine], look: Look) -> String {
    let mut table = Table::new(&["CLAIM", "VM", "NETWORK", "ADDRESSES", "WRONG"]);
    table.wrap_last();
    for line in lines {
        let mut row = claim(line);
        row.push(Cell::new(line.addresses.join(",")));
        let wrong = Cell::new(&line.wrong);
        row.push(if line.wrong.is_empty() { wrong } else { wrong.paint(Paint::Red) });
        table.row(row);
    }
    table.render(look)
}

/// What became of claims.
pub(super) fn changed_claims(lines: &[ClaimChange], look: Look) -> String {
    let mut table = Table::new(&["CLAIM", "VM", "NETWORK", "CHANGE"]);
    for line in lines {
        let mut row = claim(&line.claim);
        row.push(Cell::new(line.change));
        table.row(row);
    }
    table.render(look)
}

fn claim(line: &ClaimLine) -> Vec<Cell> {
    vec![
        Cell::new(object(line.kind, &line.namespace, &line.name)),
        Cell::new(&line.vm),
        Cell::new(&line.network),
    ]
}

/// Who waits, and why.
pub(super) fn pending(lines: &[PendingLine], look: Look) -> String {
    let mut table = Table::new(&["PENDING", "DEVICE", "POOL", "REASON", "MESSAGE"]);
    table.wrap_last();
    for line in lines {
        let owner = object(&line.kind, &line.namespace, &line.name);
        table.row(vec![
            Cell::new(owner),
            Cell::new(&line.device),
            Cell::new(&line.pool),
            Cell::new(format!("{:?}", line.reason)).paint(Paint::Yellow),
            Cell::new(&line.message),
        ]);
    }
    table.render(look)
}

/// What a person should look at.
pub(super) fn problems(lines: &[Problem], look: Look) -> String {
    let mut table = Table::new(&["PROBLEM", "OBJECT", "MESSAGE"]);
    table.wrap_last();
    for line in lines {
        table.row(vec![
            Cell::new(line.kind).paint(Paint::Red),
            Cell::new(&line.object),
            Cell::new(&line.message),
        ]);
    }
    table.render(look)
}

/// The word that ends every report of a run that wrote nothing.
pub(super) const DRY_RUN: &str = "dry run: nothing was written\n";

/// `1 problem`, `2 problems`.
pub(super) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
