//! Claims that are taken from a machine which lives on. What such a claim had may be another's a moment later, so the
//! machine is told first: a run that had decided to write it there, however long ago, sees that and does not.

use super::machine::{self, DEVICES};
use crate::model::{Edited, Object, Write};
use crate::systems::paused;

/// The uids of the claims that were taken from a machine, the latest last.
const WITHDRAWN: &str = "mipam.io/withdrawn";

/// How many of them are kept.
const KEPT: usize = 16;

/// Was this claim taken from the machine?
pub(super) fn is_withdrawn(machine: &Object, uid: &str) -> bool {
    uids(machine).any(|withdrawn| withdrawn == uid)
}

fn uids(machine: &Object) -> impl Iterator<Item = &str> {
    machine.annotation(WITHDRAWN).unwrap_or_default().split_whitespace()
}

/// Tells whether what was decided on a machine for a claim may still be written to it. Membership alone would not do: a
/// run that took its time between the two may find it among the forgotten.
pub(super) fn unless_withdrawn(decided_on: &Object, claim: &Object) -> impl Fn(&Object) -> bool + use<> {
    let before = decided_on.annotation(WITHDRAWN).map(str::to_owned);
    let uid = claim.uid().to_owned();
    move |machine| machine.annotation(WITHDRAWN) == before.as_deref() && !is_withdrawn(machine, &uid)
}

/// Tells a machine that a claim is taken from it, also where it has an address: that may be wiped a moment later. `None`:
/// there is nothing that could still be written to it.
pub(super) fn withdraw(machine: &Object, device: usize, claim: &Object) -> Option<Write> {
    let lives = move |machine: &Object| !machine.deleting() && machine.array(DEVICES).len() > device;
    let uid = claim.uid().to_owned();
    let edit = move |machine: &Object| {
        if is_withdrawn(machine, &uid) {
            return Edited::Already;
        }
        if !lives(machine) || paused(machine).is_some() {
            return Edited::Moot;
        }
        let mut known: Vec<&str> = uids(machine).collect();
        known.push(&uid);
        let text = known[known.len().saturating_sub(KEPT)..].join(" ");
        let mut edited = machine.clone();
        edited.annotate(WITHDRAWN, &text);
        Edited::To(Box::new(edited))
    };
    // Where objects have no uid there is one run at a time.
    (lives(machine) && !claim.uid().is_empty()).then(|| machine::update(machine, edit))
}
