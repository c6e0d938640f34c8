//! A set of addresses of one family, kept as disjoint ranges that never touch, so that the address after a
//! range is free: finding the lowest free one is one look-up, however large the pool.

use super::{Family, Span, number};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses of both families as merged ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanSet {
    v4: BTreeMap<u128, u128>,
    v6: BTreeMap<u128, u128>,
}

impl SpanSet {
    fn of(&self, family: Family) -> &BTreeMap<u128, u128> {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }

    fn of_mut(&mut self, family: Family) -> &mut BTreeMap<u128, u128> {
        match family {
            Family::V4 => &mut self.v4,
            Family::V6 => &mut self.v6,
        }
    }

    /// Adds all addresses of a range.
    pub fn insert(&mut self, span: Span) {
        let (mut first, mut last) = span.bounds();
        let map = self.of_mut(span.family());
        if let Some((&start, &end)) = map.range(..=first).next_back() {
            if end >= last {
                return;
            }
            if first == 0 || end >= first - 1 {
                first = start;
            }
        }
        // Every range that begins inside the new one, or right after it, becomes part of it.
        while let Some((&start, &end)) = map.range(first..=last.saturating_add(1)).next() {
            last = last.max(end);
            map.remove(&start);
        }
        map.insert(first, last);
    }

    /// Adds one address.
    pub fn insert_address(&mut self, address: IpAddr) {
        self.insert(Span::single(address));
    }

    /// Takes one address out.
    pub fn remove_address(&mut self, address: IpAddr) {
        self.remove(Span::single(address));
    }

    /// Takes all addresses of a range out.
    pub fn remove(&mut self, span: Span) {
        let (first, last) = span.bounds();
        let map = self.of_mut(span.family());
        // From the top: at most the first and the last range that it touches leave something behind.
        while let Some((&start, &end)) = map.range(..=last).next_back() {
            if end < first {
                return;
            }
            map.remove(&start);
            if last < end {
                map.insert(last + 1, end);
            }
            if start < first {
                map.insert(start, first - 1);
            }
        }
    }

    /// Is the address in the set?
    pub fn contains(&self, address: IpAddr) -> bool {
        let n = number(address);
        self.of(Family::of(address)).range(..=n).next_back().is_some_and(|(_, &end)| end >= n)
    }

    /// The lowest address of `span` that is not in the set.
    pub fn lowest_free(&self, span: Span) -> Option<IpAddr> {
        let (first, last) = span.bounds();
        let free = match self.of(span.family()).range(..=first).next_back() {
            Some((_, &end)) if end >= first => end.checked_add(1)?,
            _ => first,
        };
        (free <= last).then(|| span.family().address(free))
    }

    /// How many addresses of `span` are in the set; saturates at the largest number.
    pub fn count_in(&self, span: Span) -> u128 {
        let (first, last) = span.bounds();
        let map = self.of(span.family());
        let before = map.range(..first).next_back().filter(|&(_, &end)| end >= first);
        before
            .into_iter()
            .chain(map.range(first..=last))
            .map(|(&start, &end)| end.min(last) - start.max(first))
            .fold(0u128, |sum, n| sum.saturating_add(n).saturating_add(1))
    }

    /// The ranges, IPv4 first, ascending.
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let of = |family, map: &BTreeMap<u128, u128>| {
            map.iter().map(move |(&first, &last)| Span::new(family, first, last)).collect::<Vec<_>>()
        };
        of(Family::V4, &self.v4).into_iter().chain(of(Family::V6, &self.v6))
    }
}

impl FromIterator<Span> for SpanSet {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        let mut set = Self::default();
        spans.into_iter().for_each(|s| set.insert(s));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A small universe at either end of a family, where off-by-one and overflow live.
    fn universe() -> impl Strategy<Value = (Family, u128)> {
        prop_oneof![
            Just((Family::V4, 0u128)),
            Just((Family::V4, Family::V4.max() - 40)),
            Just((Family::V6, 0u128)),
            Just((Family::V6, u128::MAX - 40)),
        ]
    }

    proptest! {
        /// Compared with a plain set of numbers after every step.
        #[test]
        fn behaves_like_a_set_of_numbers(
            (family, base) in universe(),
            steps in prop::collection::vec((any::<bool>(), 0u128..=40, 0u128..=12), 1..60),
            ask in (0u128..=40, 0u128..=40),
        ) {
            let (mut set, mut model) = (SpanSet::default(), BTreeSet::new());
            for (add, at, len) in steps {
                let last = (at + len).min(40);
                let span = Span::new(family, base + at, base + last);
                if add {
                    set.insert(span);
                    model.extend(at..=last);
                } else {
                    set.remove(span);
                    model.retain(|n| !(at..=last).contains(n));
                }
                for n in 0..=40 {
                    prop_assert_eq!(set.contains(family.address(base + n)), model.contains(&n));
                }
                let spans: Vec<_> = set.spans().collect();
                for pair in spans.windows(2) {
                    prop_assert!(pair[0].bounds().1 + 1 < pair[1].bounds().0, "ranges touch: {:?}", pair);
                }
            }
            let (a, b) = (ask.0.min(ask.1), ask.0.max(ask.1));
            let span = Span::new(family, base + a, base + b);
            let free = (a..=b).find(|n| !model.contains(n)).map(|n| family.address(base + n));
            prop_assert_eq!(set.lowest_free(span), free);
            prop_assert_eq!(set.count_in(span), model.range(a..=b).count() as u128);
        }
    }
}
