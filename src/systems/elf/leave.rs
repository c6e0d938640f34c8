//! How machines, claims and records are let go when mipam leaves: without our finalizers, and where mipam serves
//! metal3's pools without metal3's, which nobody else would take off.

use super::index::Index;
use super::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, IP_POOL, NAME, address, claim, machine, pool};
use crate::model::Departure;

pub(super) fn departures(index: &Index<'_>) -> Vec<Departure> {
    let observed = index.observed;
    let mut all = Vec::new();
    if index.serves {
        for object in observed.all(IP_ADDRESS) {
            // A record is as paused as its claim.
            let name = object.text("/spec/claim/name").unwrap_or_default();
            let of = observed.find(&IP_CLAIM.at(object.namespace(), name));
            let paused = claim::pause(of.unwrap_or(object), index);
            all.extend(Departure::finalizer(NAME, IP_ADDRESS, object, address::FINALIZER, paused));
        }
        for object in observed.all(IP_CLAIM) {
            let paused = claim::pause(object, index);
            all.extend(Departure::finalizer(NAME, IP_CLAIM, object, claim::FINALIZER, paused));
        }
        // mipam puts none on a pool, but whoever did is gone.
        for object in observed.all(IP_POOL).filter(|p| p.deleting()) {
            let paused = claim::pause_of_pool(object, index);
            all.extend(Departure::finalizer(NAME, IP_POOL, object, pool::FINALIZER, paused));
        }
    }
    if index.left_to.is_none() {
        for object in observed.all(ELF_MACHINE) {
            let paused = machine::pause(object, index);
            all.extend(Departure::finalizer(NAME, ELF_MACHINE, object, machine::FINALIZER, paused));
        }
    }
    all
}
