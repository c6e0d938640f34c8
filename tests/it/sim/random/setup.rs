//! The pools of a random world: small, so that they fill up, meet page boundaries and run out of one family
//! first; and what people do to them.

use super::act::Edit;
use mipam::addr::parse_span;
use mipam::config::{self, Config};
use std::sync::Arc;

#[derive(Clone, PartialEq)]
pub struct Setup {
    pools: Vec<Pool>,
}

#[derive(Clone, PartialEq)]
struct Pool {
    name: String,
    ranges: Vec<&'static str>,
    /// Ranges that it can grow by.
    spare: Vec<&'static str>,
    /// What else there is to it.
    more: &'static str,
    network: &'static str,
}

const HOOK: &str = "ipam-config:\n  lifecycle-hook: {name: ipamController, owner: network-admin}\n  pools:\n";
const V4: &str = "prefix: 16, gateway: 10.0.0.9";
const V6: &str = "prefix: 64, gateway: 'fd00::ff'";

fn pool(name: &str, ranges: &[&'static str], more: &'static str) -> Pool {
    let spare = if name == "b" {
        vec!["10.0.8.255-10.0.9.0", "fd00::40-fd00::41"]
    } else {
        vec!["10.0.0.2-10.0.0.3", "fd00::50-fd00::51"]
    };
    let v6 = ranges[0].contains(':');
    let spare = spare.into_iter().filter(|r| r.contains(':') == v6).collect();
    Pool { name: name.to_owned(), ranges: ranges.to_vec(), spare, more, network: "" }
}

impl Setup {
    /// The pools with which the world of a seed begins.
    pub fn of(seed: u64) -> Self {
        let pools = match seed % 9 {
            0 => vec![pool(
                "a",
                &["10.0.0.8-10.0.0.15"],
                "prefix: 16, gateway: 10.0.0.9, nameservers: [10.0.0.12], exclude: [10.0.0.11]",
            )],
            1 => {
                vec![pool("a", &["10.0.0.253-10.0.1.3"], V4), pool("b", &["fd00::fe-fd00::102"], V6)]
            }
            2 => vec![
                pool("a", &["10.0.0.8/29"], "prefix: 16, gateway: 10.0.0.1, reuse-after: 2m"),
                pool("b", &["fd00::/64"], V6),
            ],
            3 => vec![pool(
                "a",
                &["fd00::10-fd00::14"],
                "prefix: 64, gateway: 'fd00::1', reserved: {m1: 'fd00::12'}",
            )],
            4 => vec![pool("a", &["10.0.0.10/31"], V4), pool("b", &["10.0.1.254-10.0.2.1"], V4)],
            5 => vec![
                pool(
                    "a",
                    &["10.0.0.8-10.0.0.11"],
                    "prefix: 16, gateway: 10.0.0.9, match: {labels: {tier: t1}}",
                ),
                pool("b", &["10.0.0.14-10.0.0.19"], V4),
            ],
            6 => vec![
                pool(
                    "a",
                    &["10.0.0.8-10.0.0.12"],
                    "prefix: 16, gateway: 10.0.0.9, match: {labels: {tier: t1}}",
                ),
                Pool {
                    network: "two",
                    ..pool(
                        "b",
                        &["10.0.0.8-10.0.0.15"],
                        "prefix: 16, gateway: 10.0.0.10, match: {namespaces: [ns]}",
                    )
                },
            ],
            // Room for everybody: here everything has to come out as it does without faults.
            7 => vec![pool("a", &["10.0.0.240-10.0.1.30"], V4), pool("b", &["fd00::e0-fd00::140"], V6)],
            _ => vec![pool("a", &["10.0.0.10-10.0.0.60"], V4)],
        };
        Self { pools }
    }

    /// `None` where it would be no configuration any more.
    pub fn edited(&self, at: u8, how: Edit) -> Option<Self> {
        let mut next = self.clone();
        let at = usize::from(at) % next.pools.len();
        let pool = &mut next.pools[at];
        match how {
            Edit::Grow => pool.ranges.push(pool.spare.pop()?),
            Edit::Shrink => {
                let last = pool.ranges.pop()?;
                pool.spare.push(last);
            }
            Edit::Move => pool.network = if pool.network.is_empty() { "two" } else { "" },
            Edit::Rename if pool.name.ends_with('2') => drop(pool.name.pop()),
            Edit::Rename => pool.name.push('2'),
            Edit::Reorder => next.pools.rotate_left(1),
        }
        config::parse("sim", &next.text()).ok().map(|_| next)
    }

    /// The configuration of somebody else, with pools that overlap these: each reaches less far down and further
    /// up.
    pub fn laptop(&self) -> Self {
        let mut other = self.clone();
        for pool in &mut other.pools {
            pool.name = format!("lap-{}", pool.name);
            pool.ranges = match pool.ranges.first() {
                Some(r) if r.contains(':') => vec!["fd00::11-fd00::18", "fd00::100-fd00::104"],
                _ if pool.name.starts_with("lap-b") => vec!["10.0.0.15-10.0.0.24", "10.0.2.0-10.0.2.3"],
                _ => vec!["10.0.0.11-10.0.0.13", "10.0.1.0-10.0.1.6"],
            };
        }
        if config::parse("sim", &other.text()).is_ok() { other } else { self.clone() }
    }

    fn text(&self) -> String {
        let line = |p: &Pool| {
            let ranges: Vec<String> = p.ranges.iter().map(|r| format!("'{r}'")).collect();
            let network =
                if p.network.is_empty() { String::new() } else { format!(", network: {}", p.network) };
            format!("    - {{name: {}, ranges: [{}], {}{network}}}\n", p.name, ranges.join(", "), p.more)
        };
        self.pools.iter().fold(HOOK.to_owned(), |text, p| text + &line(p))
    }

    pub fn config(&self) -> Arc<Config> {
        let text = self.text();
        Arc::new(config::parse("sim", &text).unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    /// An address in or near the pools.
    pub fn address(&self, n: u8) -> String {
        let (n, pools) = (usize::from(n), self.pools.len());
        let range = self.pools[n % pools].ranges.first().expect("a range");
        let range = parse_span(range).expect("a range");
        let first = range.bounds().0.saturating_sub(2);
        range.family().address(first + (n / pools) as u128).to_string()
    }
}
