//! Blocks: what is chosen, compared with a look at every block; and runs that meet in every way, with Nodes that
//! come, go and come again, of which no two may ever have an address in common.

use super::*;
use crate::addr::{Family, Span, parse_span};
use crate::ledger::Page;
use crate::model::{BlockPart, BlockPool, Taken, TakenBy};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn node(name: &str, uid: u32) -> Arc<Owner> {
    Arc::new(Owner {
        group: "".into(),
        kind: "Node".into(),
        namespace: "".into(),
        name: name.into(),
        uid: format!("u{uid}").into(),
        system: "nodes".into(),
    })
}

fn pool(name: &str, parts: &[(&str, u8)]) -> BlockPool {
    let part =
        |(range, prefix): &(&str, u8)| BlockPart { range: parse_span(range).unwrap(), prefix: *prefix };
    BlockPool { name: name.into(), system: "nodes", parts: parts.iter().map(part).collect(), closed: false }
}

fn wants(owner: &Arc<Owner>, pools: &[&str]) -> Claim {
    let names: Vec<Arc<str>> = pools.iter().map(|p| (*p).into()).collect();
    let wish = Wish { device: "".into(), pools: PoolChoice::Blocks(names.into()), asks: None, one: false };
    Claim { owner: owner.clone(), wishes: vec![wish], presets: vec![], gate: Gate::Closed, stands_for: None }
}

fn has(owner: &Arc<Owner>, block: &str) -> Taken {
    Taken { span: parse_span(block).unwrap(), by: TakenBy::Owner(owner.clone()) }
}

/// A ledger, and what is decided on it.
struct Cluster {
    ledger: Ledger,
    pools: Vec<BlockPool>,
    taken: Vec<Taken>,
    gone: BTreeSet<Arc<Owner>>,
    at_once: Option<usize>,
}

impl Cluster {
    fn new(pools: Vec<BlockPool>) -> Self {
        let ledger = Ledger::read(vec![Head::first("e", &[])]).unwrap();
        Self { ledger, pools, taken: vec![], gone: BTreeSet::new(), at_once: None }
    }

    fn decide(&self, claims: &[Claim]) -> Decision {
        decide(World {
            pools: &[],
            ledger: &self.ledger,
            gone: &self.gone,
            claims,
            holdings: &[],
            block_pools: &self.pools,
            taken: &self.taken,
            at_once: self.at_once,
            scope: &Scope::default(),
            now: 1_000_000,
        })
    }

    fn given(&self, claims: &[Claim]) -> Vec<String> {
        self.decide(claims).served.iter().map(text).collect()
    }

    fn record(&mut self, changes: &BTreeMap<Slot, Change>) {
        for (page, changes) in by_page(changes) {
            assert_eq!(page, Page::Blocks);
            self.ledger.wrote(self.ledger.changed(&page.name(), "e", &changes));
        }
    }
}

fn text(served: &Served) -> String {
    let blocks = served.given.iter().map(|g| format!("{}/{}", g.address, g.block.unwrap()));
    blocks.collect::<Vec<_>>().join(" ")
}

#[test]
fn both_families_come_from_one_pool_or_from_none() {
    // The first has no IPv6 block left: its IPv4 block is not used up by that either.
    let mut cluster = Cluster::new(vec![
        pool("first", &[("10.0.0.0/24", 28), ("fd00::/124", 124)]),
        pool("second", &[("10.1.0.0/24", 28), ("fd01::/64", 124)]),
    ]);
    let (a, b, c) = (node("a", 1), node("b", 2), node("c", 3));
    cluster.taken = vec![has(&c, "fd00::/124")];
    let claims = [wants(&a, &["first", "second"]), wants(&b, &["second"])];
    assert_eq!(cluster.given(&claims), ["10.1.0.0/28 fd01::/124", "10.1.0.16/28 fd01::10/124"]);
    cluster.pools.push(pool("only-v4", &[("10.0.0.0/24", 28)]));
    assert_eq!(cluster.given(&[wants(&a, &["first", "only-v4"])]), ["10.0.0.0/28"]);
}

#[test]
fn a_node_that_lost_the_block_of_one_family_gets_both_anew() {
    // Both are recorded, and before they are on the Node somebody puts one of them on another.
    let mut cluster = Cluster::new(vec![pool("p", &[("10.0.0.0/24", 28), ("fd00::/64", 124)])]);
    let (a, b) = (node("a", 1), node("b", 2));
    cluster.record(&cluster.decide(&[wants(&a, &["p"])]).changes.clone());
    cluster.taken = vec![has(&b, "10.0.0.0/28")];
    let decision = cluster.decide(&[wants(&a, &["p"])]);
    let given: Vec<String> = decision.served.iter().map(text).collect();
    assert_eq!(given, ["10.0.0.16/28 fd00::/124"]);
    cluster.record(&decision.changes);
    assert_eq!(cluster.ledger.blocks().count(), 2);
}

#[test]
fn what_is_recorded_is_kept_though_labels_pools_and_the_pool_have_changed() {
    let mut cluster =
        Cluster::new(vec![pool("p", &[("10.0.0.0/24", 28)]), pool("q", &[("10.1.0.0/24", 28)])]);
    let a = node("a", 1);
    let decision = cluster.decide(&[wants(&a, &["p"])]);
    cluster.record(&decision.changes);
    assert_eq!(cluster.given(&[wants(&a, &["q"])]), ["10.0.0.0/28"], "its labels have changed");
    cluster.pools.remove(0);
    assert_eq!(cluster.given(&[wants(&a, &["q"])]), ["10.0.0.0/28"], "its pool is gone");
    assert_eq!(cluster.given(&[wants(&node("a", 2), &["q"])]), ["10.1.0.0/28"], "it was made anew");
}

#[test]
fn a_block_goes_out_of_the_ledger_when_it_is_shown_and_the_ledger_is_written_anyway() {
    let mut cluster = Cluster::new(vec![pool("p", &[("10.0.0.0/24", 28)])]);
    let (a, b) = (node("a", 1), node("b", 2));
    cluster.record(&cluster.decide(&[wants(&a, &["p"])]).changes.clone());
    cluster.taken = vec![has(&a, "10.0.0.0/28")];
    assert!(cluster.decide(&[]).changes.is_empty(), "for that alone nothing is written");
    let decision = cluster.decide(&[wants(&b, &["p"])]);
    assert_eq!(decision.changes[&Slot::block("10.0.0.0".parse().unwrap(), 28)], Change::Remove);
    assert_eq!(text(&decision.served[0]), "10.0.0.16/28");
    assert!(decision.released.is_empty(), "it is not released by that");
}

#[test]
fn what_can_never_be_written_is_taken_back() {
    let mut cluster = Cluster::new(vec![pool("p", &[("10.0.0.0/24", 28)])]);
    let (a, b) = (node("a", 1), node("b", 2));
    cluster.record(&cluster.decide(&[wants(&a, &["p"])]).changes.clone());
    // Somebody else has given it another one, which never changes.
    cluster.taken = vec![has(&a, "10.0.0.240/28")];
    assert_eq!(cluster.given(&[wants(&b, &["p"])]), ["10.0.0.0/28"]);
    // Somebody else has given its block to another Node.
    cluster.taken = vec![has(&b, "10.0.0.0/28")];
    let decision = cluster.decide(&[wants(&a, &["p"])]);
    assert_eq!(text(&decision.served[0]), "10.0.0.16/28");
    assert_eq!(decision.changes[&Slot::block("10.0.0.0".parse().unwrap(), 28)], Change::Remove);
}

#[test]
fn blocks_go_in_waves_that_the_ledger_can_hold() {
    let mut cluster = Cluster::new(vec![pool("p", &[("10.0.0.0/16", 28), ("fd00::/64", 124)])]);
    cluster.at_once = Some(10);
    let owners: Vec<_> = (0..23).map(|i| node(&format!("n{i:02}"), i)).collect();
    let mut waves = Vec::new();
    while cluster.taken.len() < 46 {
        let shown: BTreeSet<_> = cluster.taken.iter().filter_map(|t| t.owner().cloned()).collect();
        let claims: Vec<_> =
            owners.iter().filter(|o| !shown.contains(*o)).map(|o| wants(o, &["p"])).collect();
        let decision = cluster.decide(&claims);
        cluster.record(&decision.changes);
        assert!(cluster.ledger.blocks().count() <= 10);
        waves.push(decision.served.len());
        assert_eq!(decision.unsettled, decision.served.len() < claims.len());
        for (served, claim) in decision.served.iter().map(|s| (s, &claims[s.claim])) {
            cluster.taken.extend(text(served).split(' ').map(|block| has(&claim.owner, block)));
        }
    }
    assert_eq!(waves, [5, 5, 5, 5, 3]);
    assert!(overlapping(&cluster.taken).is_none());
}

#[test]
fn a_wave_is_small_enough_whatever_the_names() {
    let name = |i: u32| format!("{}{i:04}", "n".repeat(249));
    let mut cluster = Cluster::new(vec![pool(&"p".repeat(253), &[("10.0.0.0/8", 28), ("fd00::/64", 124)])]);
    cluster.at_once = Some(2_000);
    let claims: Vec<_> = (0..3_000).map(|i| wants(&node(&name(i), i), &[&cluster.pools[0].name])).collect();
    let decision = cluster.decide(&claims);
    cluster.record(&decision.changes);
    let object = cluster.ledger.object(&Page::Blocks.name()).unwrap();
    let bytes = serde_json::to_vec(&object.0).unwrap().len();
    assert!((600_000..1_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn an_entry_that_cannot_be_read_keeps_its_block() {
    let mut cluster = Cluster::new(vec![pool("p", &[("10.0.0.0/24", 28)])]);
    let mut object = cluster.ledger.changed(&Page::Blocks.name(), "e", &[]);
    object.ensure_object(&["data"]).insert("10.0.0.0-27".to_owned(), "?".into());
    cluster.ledger.wrote(object);
    let decision = cluster.decide(&[wants(&node("a", 1), &["p"])]);
    assert_eq!(text(&decision.served[0]), "10.0.0.32/28");
    assert_eq!(decision.problems[0].kind, "Unreadable");
}

/// Two blocks of different owners that have an address in common.
fn overlapping(taken: &[Taken]) -> Option<(Taken, Taken)> {
    let pairs = taken.iter().enumerate().flat_map(|(i, a)| taken[i + 1..].iter().map(move |b| (a, b)));
    let mut pairs = pairs.filter(|(a, b)| a.span.overlaps(&b.span) && a.owner() != b.owner());
    pairs.next().map(|(a, b)| (a.clone(), b.clone()))
}

/// Some ranges that overlap in many ways, in 256 addresses of each family.
const POOLS: [&[(&str, u8)]; 6] = [
    &[("10.0.0.0/24", 28)],
    &[("10.0.0.128/25", 27)],
    &[("10.0.0.0/26", 30)],
    &[("10.0.0.0/24", 26), ("fd00::/120", 122)],
    &[("fd00::/120", 124)],
    &[("10.0.0.64/26", 28), ("fd00::40/122", 127)],
];
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn pools() -> Vec<BlockPool> {
    NAMES.iter().zip(POOLS).map(|(name, parts)| pool(name, parts)).collect()
}

/// The lowest block of a part that overlaps nothing, by a look at each.
fn naive(part: &BlockPart, taken: &[Span]) -> Option<Span> {
    let (first, last) = part.range.bounds();
    let size = 1u128 << part.host_bits();
    let blocks = (0..).map(|i| first + i * size).take_while(|at| *at <= last);
    let mut spans = blocks.map(|at| Span::new(part.family(), at, at + size - 1));
    spans.find(|span| !taken.iter().any(|t| t.overlaps(span)))
}

/// One step of a story in which runs and people meet.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A run reads the ledger, then (another step of it) the Nodes.
    Read(usize),
    Record(usize),
    /// It writes the next Node that it has something for.
    Write(usize),
    Create(usize),
    Delete(usize),
    /// Another controller gives a Node a block.
    Foreign(usize, u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0usize..3).prop_map(Step::Read),
        3 => (0usize..3).prop_map(Step::Record),
        8 => (0usize..3).prop_map(Step::Write),
        4 => (0usize..10).prop_map(Step::Create),
        2 => (0usize..10).prop_map(Step::Delete),
        1 => (0usize..10, any::<u8>()).prop_map(|(n, at)| Step::Foreign(n, at)),
    ]
}

#[derive(Default)]
struct Run {
    ledger: Option<(u64, Ledger)>,
    decided: Option<(u64, Decision, Vec<Claim>)>,
    writes: Vec<(Arc<Owner>, Vec<Span>)>,
}

proptest! {
    #[test]
    fn the_lowest_free_block_of_the_first_pool_that_has_all_families(
        taken in prop::collection::vec((any::<bool>(), 0u128..256, 0u8..5), 0..10),
        choices in prop::collection::vec(prop::sample::subsequence(NAMES.to_vec(), 0..=6), 1..12),
    ) {
        let mut cluster = Cluster::new(pools());
        let mut spans = Vec::new();
        for (i, (v4, at, bits)) in taken.into_iter().enumerate() {
            let (family, base) = if v4 { (Family::V4, 10u128 << 24) } else { (Family::V6, 0xfd00 << 112) };
            let first = base + (at >> bits << bits);
            let span = Span::new(family, first, first + (1 << bits) - 1);
            spans.push(span);
            cluster.taken.push(Taken { span, by: TakenBy::Owner(node(&format!("t{i}"), 100)) });
        }
        let owners: Vec<_> = (0u32..).map(|i| node(&format!("n{i:02}"), i)).take(choices.len()).collect();
        let claims: Vec<_> = owners.iter().zip(&choices).map(|(o, c)| wants(o, c)).collect();
        let decision = cluster.decide(&claims);
        for (at, names) in choices.iter().enumerate() {
            let found = names.iter().find_map(|name| {
                let pool = cluster.pools.iter().find(|p| *p.name == **name)?;
                pool.parts.iter().map(|part| naive(part, &spans)).collect::<Option<Vec<Span>>>()
            });
            let served = decision.served.iter().find(|s| s.claim == at);
            let given = served.map(|s| s.slots.iter().map(Slot::span).collect::<Vec<_>>());
            prop_assert_eq!(&given, &found, "{:?} of {:?}", owners[at].name, names);
            spans.extend(found.into_iter().flatten());
        }
    }

    #[test]
    fn no_two_nodes_ever_overlap(steps in prop::collection::vec(step(), 1..120)) {
        let cluster = Cluster::new(pools());
        let (mut ledger, mut version) = (cluster.ledger.clone(), 0u64);
        let mut nodes: BTreeMap<usize, (Arc<Owner>, Vec<Span>)> = BTreeMap::new();
        let mut foreign: BTreeSet<Arc<Owner>> = BTreeSet::new();
        let mut runs: [Run; 3] = Default::default();
        let mut uid = 0;
        for step in steps {
            match step {
                Step::Create(n) => {
                    uid += 1;
                    nodes.entry(n).or_insert_with(|| (node(&format!("n{n}"), uid), vec![]));
                }
                Step::Delete(n) => drop(nodes.remove(&n)),
                Step::Foreign(n, at) => {
                    if let Some((owner, blocks)) = nodes.get_mut(&n).filter(|(_, blocks)| blocks.is_empty()) {
                        let first = (10u128 << 24) + u128::from(at & 0xf0);
                        *blocks = vec![Span::new(Family::V4, first, first + 15)];
                        foreign.insert(owner.clone());
                    }
                }
                Step::Read(run) => {
                    let Some((read, ledger)) = runs[run].ledger.take() else {
                        runs[run] = Run { ledger: Some((version, ledger.clone())), ..Run::default() };
                        continue;
                    };
                    let owners = ledger.blocks().flat_map(|a| a.holders.iter().map(|h| h.owner.clone()));
                    let lives = |o: &Arc<Owner>| nodes.values().any(|(owner, _)| owner == o);
                    let gone = owners.filter(|o| !lives(o)).collect();
                    let taken = nodes.values().flat_map(|(owner, blocks)| {
                        blocks.iter().map(|span| Taken { span: *span, by: TakenBy::Owner(owner.clone()) })
                    });
                    let taken = taken.collect();
                    let waiting = nodes.values().filter(|(_, blocks)| blocks.is_empty());
                    let claims: Vec<_> = waiting.map(|(owner, _)| wants(owner, &NAMES)).collect();
                    let seen = Cluster { ledger, pools: pools(), taken, gone, at_once: Some(4) };
                    let decision = seen.decide(&claims);
                    runs[run].decided = Some((read, decision, claims));
                }
                Step::Record(run) => {
                    let Some((read, decision, claims)) = runs[run].decided.take() else { continue };
                    if !decision.changes.is_empty() && read != version {
                        continue;
                    }
                    if !decision.changes.is_empty() {
                        version += 1;
                        for (page, changes) in by_page(&decision.changes) {
                            let object = ledger.changed(&page.name(), "e", &changes);
                            ledger.wrote(object);
                        }
                    } else if decision.served.iter().flat_map(|s| &s.slots).any(|s| !ledger.allocations().contains_key(s)) {
                        // What is given without a write is looked up again.
                        continue;
                    }
                    let gifts = decision.served.iter().map(|s| {
                        (claims[s.claim].owner.clone(), s.slots.iter().map(Slot::span).collect())
                    });
                    runs[run].writes = gifts.collect();
                }
                Step::Write(run) => {
                    let Some((owner, blocks)) = runs[run].writes.pop() else { continue };
                    let found = nodes.values_mut().find(|(o, has)| *o == owner && has.is_empty());
                    if let Some((_, has)) = found {
                        *has = blocks;
                    }
                }
            }
            let mine: Vec<Taken> = nodes
                .values()
                .filter(|(owner, _)| !foreign.contains(owner))
                .flat_map(|(o, all)| all.iter().map(|s| Taken { span: *s, by: TakenBy::Owner(o.clone()) }))
                .collect();
            prop_assert!(overlapping(&mine).is_none(), "{:?}", overlapping(&mine));
        }
    }
}
