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

    /// The first address of the lowest block of `span` that has no address in the set, at or above `from`. A block
    /// has so many host bits, and begins at a multiple of its size.
    pub fn lowest_free_block(&self, span: Span, host_bits: u8, from: u128) -> Option<u128> {
        let size = ones(host_bits);
        let up = |n: u128| n.checked_add(size).map(|n| n & !size);
        let (first, last) = span.bounds();
        let mut at = up(first.max(from))?;
        loop {
            let end = at | size;
            if end > last {
                return None;
            }
            // The highest range that begins before the block ends is the one to step over.
            match self.of(span.family()).range(..=end).next_back() {
                Some((_, &taken)) if taken >= at => at = up(taken.checked_add(1)?)?,
                _ => return Some(at),
            }
        }
    }

    /// How many blocks of `span` have an address in the set, and how many of those have others that are not. The
    /// span itself begins and ends where blocks do.
    pub fn blocks_in(&self, span: Span, host_bits: u8) -> (u128, u128) {
        let (first, last) = span.bounds();
        let block = |n: u128| n.checked_shr(host_bits.into()).unwrap_or(0);
        let map = self.of(span.family());
        let before = map.range(..first).next_back().filter(|&(_, &end)| end >= first);
        let (mut touched, mut whole, mut seen) = (0u128, 0u128, None);
        for (&start, &end) in before.into_iter().chain(map.range(first..=last)) {
            let (start, end) = (start.max(first), end.min(last));
            let count = (block(end) - block(start)).saturating_add(1);
            // Two ranges may share a block.
            touched = touched.saturating_add(count - u128::from(seen == Some(block(start))));
            seen = Some(block(end));
            // What of it lies in the first and in the last block may not fill those.
            let size = ones(host_bits);
            let cut = u128::from(start & size != 0) + u128::from(end & size != size);
            whole = whole.saturating_add(count.saturating_sub(cut));
        }
        (touched, touched - whole)
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

/// So many ones: the last address of a block that begins at zero.
fn ones(host_bits: u8) -> u128 {
    if host_bits == 0 { 0 } else { u128::MAX >> (128 - host_bits) }
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

        /// Compared with a look at every block.
        #[test]
        fn finds_and_counts_blocks(
            family in prop_oneof![Just(Family::V4), Just(Family::V6)],
            top in any::<bool>(),
            taken in prop::collection::vec((0u128..64, 0u128..9), 0..12),
            host_bits in 0u8..=6,
            from in 0u128..64,
        ) {
            let base = if top { family.max() - 63 } else { 0 };
            let at = |a: u128, b: u128| Span::new(family, base + a, base + b.min(63));
            let set: SpanSet = taken.iter().map(|(first, more)| at(*first, first + more)).collect();
            let size = 1u128 << host_bits;
            let inside = |block: u128| (block..block + size).filter(|n| set.contains(family.address(base + n))).count();
            let blocks: Vec<u128> = (0..64).step_by(1 << host_bits).collect();
            let free = blocks.iter().copied().find(|b| *b >= from && inside(*b) == 0);
            prop_assert_eq!(set.lowest_free_block(at(0, 63), host_bits, base.saturating_add(from)), free.map(|b| base + b));
            let touched = blocks.iter().filter(|b| inside(**b) > 0).count();
            let partly = blocks.iter().filter(|b| (1..1 << host_bits).contains(&inside(**b))).count();
            prop_assert_eq!(set.blocks_in(at(0, 63), host_bits), (touched as u128, partly as u128));
        }
    }
}
