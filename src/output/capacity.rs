//! What `check-capacity` says.

use super::paint::{Paint, plain};
use super::table::{Cell, Table};
use super::{Look, number, status};
use crate::model::{CapacityReport, PoolLine};

/// The report as text: the answer in one line, why, then the pools.
pub fn render(report: &CapacityReport, look: Look) -> String {
    let pools: Vec<_> = report.pools.iter().map(|p| (&p.pool, p.need, p.short)).collect();
    super::render(report, look, || short(&pools), || vec![answer(report, look), table(&pools, look)])
}

/// A pool, what is wanted from it, and what it lacks.
type Line<'a> = (&'a PoolLine, u128, u128);

fn short(pools: &[Line<'_>]) -> Vec<String> {
    pools.iter().filter(|(_, _, short)| *short > 0).map(|(pool, _, _)| pool.name.clone()).collect()
}

fn answer(report: &CapacityReport, look: Look) -> String {
    let (need, free) = (number(report.need), number(report.free));
    let mut lines = vec![if report.fits {
        format!("{}: {need} needed, {free} free\n", Paint::Green.on("fits", look.color))
    } else {
        let no = Paint::Red.on("does not fit", look.color);
        format!("{no}: {need} needed, {free} free, {} short\n", number(report.short))
    }];
    lines.extend(report.messages.iter().map(|why| format!("  {}\n", plain(why).replace('\n', "\n  "))));
    lines.concat()
}

fn table(pools: &[Line<'_>], look: Look) -> String {
    let mut table = Table::new(&["NAME", "NEED", "FREE", "SHORT", "TOTAL", "USED", "COOLING", "USE%"]);
    table.wide(look, &["RESERVED", "RANGES", "NETWORK"]);
    table.numbers(1..9);
    for (pool, need, short) in pools {
        let lack = Cell::new(number(*short));
        let name = match &pool.blocks {
            Some(blocks) => format!("{} ({})", pool.name, blocks.family),
            None => pool.name.clone(),
        };
        let mut row = vec![Cell::new(name), Cell::new(number(*need)), Cell::new(number(pool.free))];
        row.push(if *short > 0 { lack.paint(Paint::Red) } else { lack });
        row.extend([pool.total, pool.used, pool.cooling].map(|n| Cell::new(number(n))));
        row.push(status::percent(pool));
        row.extend(status::wide(pool));
        table.row(row);
    }
    table.render(look)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{capacity, huge, look, pool};
    use super::*;
    use crate::cli::Format;

    #[test]
    fn the_answer_comes_first() {
        let mut report = capacity(5, 9);
        insta::assert_snapshot!(render(&report, look(Format::Table)), @"fits: 5 needed, 9 free");
        report = capacity(12, 9);
        report.messages.push("pool lab lacks 3 addresses; add a range to it".into());
        insta::assert_snapshot!(render(&report, look(Format::Table)), @"
        does not fit: 12 needed, 9 free, 3 short
          pool lab lacks 3 addresses; add a range to it
        ");
        insta::assert_snapshot!(render(&report, Look { color: true, ..Look::default() }), @"
        \u{1b}[31mdoes not fit\u{1b}[0m: 12 needed, 9 free, 3 short
          pool lab lacks 3 addresses; add a range to it
        ");
        insta::assert_snapshot!(render(&capacity(1, 1 << 64), look(Format::Table)), @"fits: 1 needed, 2^64 free");
    }

    #[test]
    fn then_the_pools() {
        let (lab, six) = (pool("lab", 14, 9), huge());
        let lines = [(&lab, 12, 3), (&six, 12, 0)];
        insta::assert_snapshot!(table(&lines, look(Format::Table)), @"
        NAME  NEED    FREE  SHORT   TOTAL  USED  COOLING  USE%
        lab     12       9      3      14     5        0   35%
        six     12  1.8e19      0  1.8e19     3        1    0%
        ");
        insta::assert_snapshot!(table(&lines, look(Format::Wide)), @"
        NAME  NEED    FREE  SHORT   TOTAL  USED  COOLING  USE%  RESERVED  RANGES                                   NETWORK
        lab     12       9      3      14     5        0   35%         0  192.168.101.64/28                        -
        six     12  1.8e19      0  1.8e19     3        1    0%         2  fd00:101::/64,fd00:102::10-fd00:102::20  storage
        ");
        insta::assert_snapshot!(table(&lines, Look { color: true, ..Look::default() }), @"
        \u{1b}[1mNAME  NEED    FREE  SHORT   TOTAL  USED  COOLING  USE%\u{1b}[0m
        lab     12       9      \u{1b}[31m3\u{1b}[0m      14     5        0   35%
        six     12  1.8e19      0  1.8e19     3        1    0%
        ");
        assert_eq!(short(&lines), ["lab"]);
    }

    #[test]
    fn json_and_yaml() {
        insta::assert_snapshot!(render(&capacity(u128::MAX, 9), look(Format::Json)), @r#"
        {
          "apiVersion": "mipam.io/v1",
          "kind": "CapacityReport",
          "fits": false,
          "need": "340282366920938463463374607431768211455",
          "free": 9,
          "short": "340282366920938463463374607431768211446",
          "pools": []
        }
        "#);
        insta::assert_snapshot!(render(&capacity(5, 9), look(Format::Yaml)), @"
        apiVersion: mipam.io/v1
        kind: CapacityReport
        fits: true
        need: 5
        free: 9
        short: 0
        pools: []
        ");
        assert_eq!(render(&capacity(12, 9), look(Format::Name)), "");
    }
}
