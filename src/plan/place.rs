//! Where claims are made that can be served from several pools: the first that has room when all those who wait
//! already have been served, by mipam or by another controller.

use super::{World, chosen};
use crate::model::{Claim, Opening, Owner, Reason};
use std::collections::BTreeSet;

/// For each opening the place of its site; `None` where none has room, or where the claim that is there is served.
/// Where there is but one place, the claim is made there, and says itself what it waits for.
pub fn place(world: World<'_>, others: &[Claim], openings: &[Opening]) -> Vec<Option<usize>> {
    let only = |o: &Opening| o.sites.len() == 1 && o.instead_of.is_none();
    if openings.iter().all(only) {
        return vec![Some(0); openings.len()];
    }
    let (mut chooser, decision) = chosen(world);
    let unmet = decision.unmet.iter().zip(&decision.pending);
    let full =
        unmet.filter(|(_, line)| matches!(line.reason, Reason::PoolExhausted | Reason::NoMatchingPool));
    let full: BTreeSet<&Owner> = full.map(|(at, _)| &*world.claims[*at].owner).collect();
    for claim in others {
        chooser.keep(claim, &decision);
    }
    let find = |opening: &Opening| {
        if opening.instead_of.as_ref().is_some_and(|claim| !full.contains(&**claim)) {
            return None;
        }
        let room = opening.sites.iter().position(|site| chooser.keep(&site.claim, &decision));
        room.or(only(opening).then_some(0))
    };
    openings.iter().map(find).collect()
}
