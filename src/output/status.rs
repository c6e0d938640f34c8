//! What `status` says.

use super::lines::{by_address, claims, pending, problems};
use super::map::{self, Map};
use super::paint::Paint;
use super::table::{Cell, Table};
use super::{Look, number};
use crate::model::{Allocated, PoolLine, StatusReport};

/// What `status` shows beside the pools.
#[derive(Clone, Copy, Debug, Default)]
pub struct Details<'a> {
    /// Every address that is given out.
    pub addresses: bool,
    /// A drawing of each of these pools.
    pub maps: &'a [Map],
}

/// The report as text.
pub fn render(report: &StatusReport, look: Look, details: &Details<'_>) -> String {
    let names = || report.pools.iter().map(|pool| pool.name.clone()).collect();
    super::render(report, look, names, || {
        let (of_blocks, of_addresses) = report.pools.iter().partition(|p| p.blocks.is_some());
        let mut blocks = vec![pools(of_addresses, look), block_pools(of_blocks, look)];
        if report.pools.is_empty() && report.claims.is_empty() {
            blocks.push("no pools\n".to_owned());
        }
        blocks.extend(details.maps.iter().map(|map| map::render(map, look.color)));
        if details.addresses {
            blocks.push(addresses(&report.allocations, look));
        }
        blocks.push(claims(&report.claims, look));
        blocks.push(pending(&report.pending, look));
        blocks.push(problems(&report.problems, look));
        blocks
    })
}

/// Pools that give whole blocks: a line for each family.
fn block_pools(pools: Vec<&PoolLine>, look: Look) -> String {
    let mut table =
        Table::new(&["BLOCKS OF", "FAMILY", "RANGE", "BLOCK", "TOTAL", "USED", "FREE", "FRAGMENTED", "USE%"]);
    table.numbers(4..9);
    for (pool, blocks) in pools.into_iter().filter_map(|p| Some((p, p.blocks.as_ref()?))) {
        let (range, block) = (pool.ranges.join(","), format!("/{}", blocks.prefix));
        let mut row =
            vec![Cell::new(&pool.name), Cell::new(&blocks.family), Cell::new(range), Cell::new(block)];
        row.extend([pool.total, pool.used, pool.free, blocks.fragmented].map(|n| Cell::new(number(n))));
        row.push(percent(pool));
        table.row(row);
    }
    table.render(look)
}

fn pools(pools: Vec<&PoolLine>, look: Look) -> String {
    let mut table = Table::new(&["NAME", "SYSTEM", "TOTAL", "USED", "FREE", "COOLING", "USE%"]);
    table.wide(look, &["RESERVED", "RANGES", "NETWORK"]);
    table.numbers(2..8);
    for pool in pools {
        let mut row = vec![Cell::new(&pool.name), Cell::new(&pool.system)];
        row.extend([pool.total, pool.used, pool.free, pool.cooling].map(|n| Cell::new(number(n))));
        row.push(percent(pool));
        row.extend(wide(pool));
        table.row(row);
    }
    table.render(look)
}

/// How full a pool is: a warning from 80 percent on, an alarm from 95 on.
pub(super) fn percent(pool: &PoolLine) -> Cell {
    let percent = pool.percent();
    let cell = Cell::new(format!("{percent}%"));
    match percent {
        95.. => cell.paint(Paint::Red),
        80.. => cell.paint(Paint::Yellow),
        _ => cell,
    }
}

/// RESERVED, RANGES and NETWORK, which only the wide form has.
pub(super) fn wide(pool: &PoolLine) -> [Cell; 3] {
    [Cell::new(number(pool.reserved)), Cell::new(pool.ranges.join(",")), Cell::new(&pool.network)]
}

fn addresses(lines: &[Allocated], look: Look) -> String {
    if lines.is_empty() {
        return "no addresses are given out\n".to_owned();
    }
    by_address("ADDRESS", lines, look)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{claim, look, no_pools, status};
    use super::*;
    use crate::cli::Format;
    use map::Row;

    fn maps() -> Vec<Map> {
        let cells = vec![map::Cell::Used, map::Cell::Free];
        let rows = vec![Row { first: "192.168.101.65".into(), cells }];
        vec![Map { name: "lab".into(), total: 2, rows }]
    }

    #[test]
    fn table() {
        insta::assert_snapshot!(render(&status(), look(Format::Table), &Details::default()), @"
        NAME  SYSTEM   TOTAL  USED    FREE  COOLING  USE%
        lab   config      14    14       0        0  100%
        edge  config      10     8       2        0   80%
        dmz   config     254    14     240        0    5%
        six   config  1.8e19     3  1.8e19        1    0%

        PENDING                                 DEVICE  POOL  REASON         MESSAGE
        Machine/openshift-machine-api/worker-9  0       lab   PoolExhausted  all 14 addresses of pool lab are taken

        PROBLEM    OBJECT                                  MESSAGE
        Duplicate  Machine/openshift-machine-api/worker-3  192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them
        ");
    }

    #[test]
    fn with_addresses_and_maps() {
        let details = Details { addresses: true, maps: &maps() };
        let report = StatusReport { allocations: status().allocations, pools: status().pools, ..no_pools() };
        insta::assert_snapshot!(render(&report, look(Format::Table), &details), @"
        NAME  SYSTEM   TOTAL  USED    FREE  COOLING  USE%
        lab   config      14    14       0        0  100%
        edge  config      10     8       2        0   80%
        dmz   config     254    14     240        0    5%
        six   config  1.8e19     3  1.8e19        1    0%

        lab (2 addresses)
                        +0              +16             +32             +48
        192.168.101.65  #.
        # used  ~ cooling  R reserved  x unusable  . free

        ADDRESS            POOL  OWNER                                   DEVICE
        192.168.101.65/23  lab   Machine/openshift-machine-api/worker-0  0
        10.0.0.9/24        dmz   Hold/printer                            -
        ");
    }

    #[test]
    fn claims_of_virtual_machines() {
        let claims = vec![
            claim("vm-a", &["192.168.200.5/24", "fd00::5/64"], ""),
            claim("vm-b", &[], "IPsAllocated is False (SubnetExhausted): the subnet is full"),
        ];
        let report = StatusReport { claims, ..no_pools() };
        insta::assert_snapshot!(render(&report, look(Format::Table), &Details::default()), @"
        CLAIM                        VM    NETWORK     ADDRESSES                    WRONG
        IPAMClaim/default/vm-a.anet  vm-a  tenantblue  192.168.200.5/24,fd00::5/64  -
        IPAMClaim/default/vm-b.anet  vm-b  tenantblue  -                            IPsAllocated is False (SubnetExhausted): the subnet is full
        ");
    }

    #[test]
    fn wide() {
        let details = Details { addresses: true, maps: &[] };
        let report = StatusReport { allocations: status().allocations, pools: status().pools, ..no_pools() };
        insta::assert_snapshot!(render(&report, look(Format::Wide), &details), @"
        NAME  SYSTEM   TOTAL  USED    FREE  COOLING  USE%  RESERVED  RANGES                                   NETWORK
        lab   config      14    14       0        0  100%         0  192.168.101.64/28                        -
        edge  config      10     8       2        0   80%         0  192.168.101.64/28                        -
        dmz   config     254    14     240        0    5%         0  192.168.101.64/28                        -
        six   config  1.8e19     3  1.8e19        1    0%         2  fd00:101::/64,fd00:102::10-fd00:102::20  storage

        ADDRESS            POOL  OWNER                                   DEVICE  SYSTEM     NETWORK
        192.168.101.65/23  lab   Machine/openshift-machine-api/worker-0  0       openshift  -
        10.0.0.9/24        dmz   Hold/printer                            -       hold       dmz
        ");
    }

    #[test]
    fn full_pools_are_yellow_then_red() {
        let report = StatusReport { pools: status().pools, ..no_pools() };
        let look = Look { color: true, ..Look::default() };
        insta::assert_snapshot!(render(&report, look, &Details::default()), @"
        \u{1b}[1mNAME  SYSTEM   TOTAL  USED    FREE  COOLING  USE%\u{1b}[0m
        lab   config      14    14       0        0  \u{1b}[31m100%\u{1b}[0m
        edge  config      10     8       2        0   \u{1b}[33m80%\u{1b}[0m
        dmz   config     254    14     240        0    5%
        six   config  1.8e19     3  1.8e19        1    0%
        ");
    }

    #[test]
    fn names_are_those_of_the_pools() {
        insta::assert_snapshot!(render(&status(), look(Format::Name), &Details::default()), @"
        lab
        edge
        dmz
        six
        ");
    }

    #[test]
    fn json_has_huge_numbers_in_full() {
        let report = StatusReport { pools: status().pools.split_off(3), ..no_pools() };
        insta::assert_snapshot!(render(&report, look(Format::Json), &Details::default()), @r#"
        {
          "apiVersion": "mipam.io/v1",
          "kind": "StatusReport",
          "pools": [
            {
              "name": "six",
              "system": "config",
              "total": "18446744073709551633",
              "used": 3,
              "free": "18446744073709551627",
              "cooling": 1,
              "reserved": 2,
              "ranges": [
                "fd00:101::/64",
                "fd00:102::10-fd00:102::20"
              ],
              "network": "storage"
            }
          ],
          "allocations": [],
          "pending": [],
          "problems": []
        }
        "#);
        insta::assert_snapshot!(render(&report, look(Format::Yaml), &Details::default()), @r#"
        apiVersion: mipam.io/v1
        kind: StatusReport
        pools:
        - name: six
          system: config
          total: "18446744073709551633"
          used: 3
          free: "18446744073709551627"
          cooling: 1
          reserved: 2
          ranges:
          - fd00:101::/64
          - fd00:102::10-fd00:102::20
          network: storage
        allocations: []
        pending: []
        problems: []
        "#);
    }

    #[test]
    fn nothing_to_show() {
        let details = Details { addresses: true, maps: &[] };
        insta::assert_snapshot!(render(&no_pools(), look(Format::Table), &details), @"
        no pools

        no addresses are given out
        ");
    }
}
