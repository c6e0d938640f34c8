//! How claims are let go when mipam leaves: without the finalizer, which nobody else would take off. The garbage
//! collector then deletes each with its machine.

use super::clean::{self, Fate};
use super::machine::{Whose, is_ours};
use super::{CLAIM, FINALIZER, NAME};
use crate::model::{Departure, Object, Observed, Stay};
use crate::systems::paused;

pub(super) fn departures(observed: &Observed) -> Vec<Departure> {
    let ours = observed.all(CLAIM).filter(|claim| is_ours(claim));
    ours.filter_map(|claim| departure(claim, observed)).collect()
}

fn departure(claim: &Object, observed: &Observed) -> Option<Departure> {
    let whose = Whose::of(claim)?;
    // A claim is as paused as its machine.
    let vm = observed.find(&whose.vm(claim)).filter(|vm| whose.is_vm(vm));
    let machine = vm.or_else(|| observed.find(&whose.vmi(claim)).filter(|vmi| whose.is_vmi(vmi)));
    let of = Departure::finalizer(NAME, CLAIM, claim, FINALIZER, machine.and_then(paused))?;
    // What is being deleted would be gone at once, and the addresses with it.
    let lost = claim.deleting() && !matches!(clean::fate(claim, &whose, observed), Fate::Goes(_));
    let waits = lost
        .then(|| Stay::Waiting("it is being deleted, and its machine would lose its addresses".to_owned()));
    Some(Departure { stays: of.stays.or(waits), ..of })
}
