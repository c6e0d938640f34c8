//! What can be said on objects about a pass. The same state is said in the same words, so it is said once.

use crate::ledger;
use crate::model::{Allocated, Allocation, Claim, Holder, Notice, Owner, PendingLine, Problem};
use crate::systems;
use std::sync::Arc;

/// An owner has its addresses.
pub(super) fn allocated(claim: &Claim, lines: &[Allocated]) -> Option<Notice> {
    let of = |line: &Allocated| format!("{} of pool {}", line.address, line.pool);
    let addresses: Vec<String> = lines.iter().map(of).collect();
    let message = format!("got {}", addresses.join(" and "));
    (!lines.is_empty()).then(|| about(claim.whose(), true, "AddressAllocated", message)).flatten()
}

/// An entry of the ledger is freed.
pub(super) fn released(freed: &Allocation) -> impl Iterator<Item = Notice> {
    let message = format!("{} of pool {} is free again", freed.slot.address, freed.pool);
    let of = |holder: &Holder| about(&holder.owner, true, "AddressReleased", message.clone());
    freed.holders.iter().filter_map(of).collect::<Vec<_>>().into_iter()
}

/// A claim waits.
pub(super) fn waiting(claim: &Claim, line: &PendingLine) -> Option<Notice> {
    let system = systems::ALL.iter().find(|s| s.name() == claim.owner.system)?;
    let reason = format!("{:?}", line.reason);
    system.notice(claim, line).or_else(|| about(claim.whose(), false, &reason, line.message.clone()))
}

/// Something is wrong. What with is not always an object that is there, so it is said on the ledger's head.
pub(super) fn problem(problem: &Problem) -> Notice {
    Notice {
        system: "".into(),
        about: ledger::CONFIG_MAP.at(ledger::NAMESPACE, ledger::HEAD),
        uid: String::new(),
        normal: false,
        reason: problem.kind.to_owned(),
        message: format!("{}: {}", problem.object, problem.message),
    }
}

fn about(owner: &Arc<Owner>, normal: bool, reason: &str, message: String) -> Option<Notice> {
    let kind = systems::kind_of(&owner.group, &owner.kind)?;
    Some(Notice {
        system: owner.system.clone(),
        about: owner.reference(kind),
        uid: owner.uid.to_string(),
        normal,
        reason: reason.to_owned(),
        message,
    })
}
