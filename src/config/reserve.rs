//! What a pool keeps back: excluded and reserved addresses, and whether anything is left to give.

use super::draft::Draft;
use super::findings::{Finding, Findings, Path, Placed};
use crate::addr::{self, Span, SpanSet};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The pool's excluded addresses and its reservations. The ranges have been checked.
pub(super) fn check(
    found: &mut Findings,
    draft: &Draft,
    prefix: u8,
    gateway: Option<IpAddr>,
) -> (SpanSet, BTreeMap<String, IpAddr>) {
    let ranges = Sorted::new(draft.ranges.iter().map(|r| r.value.0));
    for outside in draft.exclude.iter().filter(|e| !ranges.meets(e.value)) {
        let message = format!("{} is in no range of pool {:?} anyway", outside.value, draft.name);
        found.warning(Finding::new(&outside.at, message));
    }
    let exclude: SpanSet = draft.exclude.iter().map(|e| e.value).collect();
    let nameservers = draft.nameservers.iter().copied().collect();
    let judge = Judge { draft, ranges, exclude: &exclude, nameservers, gateway, prefix };
    let mut taken: BTreeMap<IpAddr, &Path> = BTreeMap::new();
    for (name, place) in &draft.reserved {
        if let Some(finding) = judge.objection(place) {
            found.error(finding);
        } else if let Some(other) = taken.insert(place.value, &place.at) {
            let message = format!("{} is reserved twice: also by {}", place.value, other.short());
            let hint = format!("reserve another address for {name}");
            found.error(Finding::new(&place.at, message).hint(hint).see(other));
        }
    }
    judge.something_left(found);
    let reserved = draft.reserved.iter().map(|(name, place)| (name.clone(), place.value)).collect();
    (exclude, reserved)
}

struct Judge<'a> {
    draft: &'a Draft,
    ranges: Sorted,
    exclude: &'a SpanSet,
    nameservers: BTreeSet<IpAddr>,
    gateway: Option<IpAddr>,
    prefix: u8,
}

impl Judge<'_> {
    /// Why an address cannot be reserved.
    fn objection(&self, place: &Placed<IpAddr>) -> Option<Finding> {
        let address = place.value;
        let unusable = || addr::unusable_in_subnet(address, self.prefix);
        let why = if !self.ranges.meets(Span::single(address)) {
            let hint = format!("reserve an address of {}", self.ranges);
            let message = format!("{address} is in no range of the pool");
            return Some(Finding::new(&place.at, message).hint(hint));
        } else if Some(address) == self.gateway {
            "is the gateway"
        } else if self.exclude.contains(address) {
            "is excluded"
        } else if self.nameservers.contains(&address) {
            "is a name server"
        } else if unusable().first() == Some(&address) {
            "is the subnet's network address"
        } else if unusable().contains(&address) {
            "is the subnet's broadcast address"
        } else {
            return None;
        };
        let message = format!("{address} {why}, so no machine can get it");
        Some(Finding::new(&place.at, message).hint("reserve another address"))
    }

    /// A pool that can never give anything is a slip, not a wish.
    fn something_left(&self, found: &mut Findings) {
        let mut taken = self.exclude.clone();
        for address in self.gateway.iter().chain(&self.draft.nameservers) {
            taken.insert_address(*address);
        }
        for range in &self.draft.ranges {
            for address in addr::unusable_in_subnet(range.value.0.first(), self.prefix) {
                taken.insert_address(address);
            }
        }
        if self.draft.ranges.iter().any(|r| taken.lowest_free(r.value.0).is_some()) {
            return;
        }
        let message = format!("pool {:?} has no address left to give", self.draft.name);
        let hint = "the excluded addresses, the gateway, the name servers and the subnet's network and broadcast \
                    address cover its ranges: add a range or exclude less";
        let at = self.draft.ranges.first().map_or(&self.draft.at, |r| &r.at);
        found.error(Finding::new(at, message).hint(hint));
    }
}

/// Merged ranges, for a fast "does it touch one of them": a pool may have many of both.
struct Sorted(Vec<Span>);

impl Sorted {
    fn new(spans: impl Iterator<Item = Span>) -> Self {
        Self(spans.collect::<SpanSet>().spans().collect())
    }

    fn meets(&self, span: Span) -> bool {
        let at = self.0.partition_point(|s| s.bounds().1 < span.bounds().0);
        self.0.get(at).is_some_and(|s| s.overlaps(&span))
    }
}

impl std::fmt::Display for Sorted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 3;
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(ToString::to_string).collect();
        f.write_str(&shown.join(", "))?;
        f.write_str(if self.0.len() > SHOWN { ", …" } else { "" })
    }
}
