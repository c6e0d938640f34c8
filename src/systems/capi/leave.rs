//! How claims, records and pools are let go when mipam leaves: without the finalizers that nobody else would take
//! off. What another controller serves keeps them.

use super::index::{Index, named_pool};
use super::{ADDRESS, CLAIM, Marks, NAME, OWN_POOLS, pool};
use crate::model::Departure;
use crate::systems::paused;

pub(super) fn departures(index: &Index<'_>) -> Vec<Departure> {
    let mut all = Vec::new();
    for kind in [ADDRESS, CLAIM] {
        for object in index.observed.all(kind) {
            let Some(target) = named_pool(object).filter(|t| index.serving.serves(t.kind)) else { continue };
            let marks = Marks::of(target.kind);
            let finalizer = if kind == ADDRESS { marks.record } else { marks.claim };
            // A record is as paused as its claim.
            let claim = object.text("/spec/claimRef/name").map(|name| CLAIM.at(object.namespace(), name));
            let claim = claim.and_then(|claim| index.observed.find(&claim));
            let paused = index.paused(claim.unwrap_or(object), &target);
            all.extend(Departure::finalizer(NAME, kind, object, finalizer, paused));
        }
    }
    for kind in OWN_POOLS.into_iter().filter(|kind| index.serving.serves(*kind)) {
        for object in index.observed.all(kind) {
            all.extend(Departure::finalizer(NAME, kind, object, pool::FINALIZER, paused(object)));
        }
    }
    all
}
