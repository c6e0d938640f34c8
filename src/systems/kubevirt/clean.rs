//! When a claim may go: when nothing of its machine can use its addresses any more, by a live look at that moment.

use super::machine::{Machine, Whose, may_go};
use super::network::{of_vm, of_vmi};
use super::{CLAIM, FINALIZER, VM, VMI};
use crate::model::{Action, Chain, Expect, Object, ObjectRef, Observed, Write};
use serde_json::Value;

/// What becomes of a claim.
#[derive(Debug)]
pub(super) enum Fate {
    /// Its machine lives.
    Stays,
    /// Its machine is gone or goes, and something of it is left, or that cannot be told.
    Lingers(String),
    /// It is let go; nothing is left to do where the chain is empty.
    Goes(Chain),
}

/// What becomes of a claim, as far as its machine decides it.
pub(super) fn fate(claim: &Object, whose: &Whose, observed: &Observed) -> Fate {
    let (vm_at, vmi_at) = (whose.vm(claim), whose.vmi(claim));
    let vm = observed.find(&vm_at).filter(|vm| whose.is_vm(vm));
    if vm.is_some_and(|vm| !vm.deleting()) {
        return Fate::Stays;
    }
    let vmi = observed.find(&vmi_at).filter(|vmi| whose.is_vmi(vmi));
    if whose.kind == Some(VMI) && vmi.is_some_and(|vmi| !vmi.deleting()) {
        return Fate::Stays;
    }
    if !may_go(claim) {
        let why = || {
            format!("there is no {vm_at}, and mipam has not made this claim: delete it if nothing needs it")
        };
        return if vmi.is_none_or(is_idle) { Fate::Lingers(why()) } else { Fate::Stays };
    }
    let unserved = [VM, VMI].into_iter().find(|kind| !observed.serves(*kind));
    if let Some(kind) = unserved.filter(|kind| vm.is_none() || *kind == VMI) {
        let resource = kind.resource();
        return Fate::Lingers(format!(
            "{resource} are not served here, so whether it is in use cannot be told"
        ));
    }
    match (vm, vmi) {
        (Some(_), Some(_)) => {
            Fate::Lingers(format!("its VM is being deleted; it goes when {vmi_at} is gone"))
        }
        (Some(_), None) => {
            let looks = [expect(vm_at, whose, Rest::MayGo), expect(vmi_at, whose, Rest::Nothing)];
            Fate::Goes(let_go(claim, looks, false))
        }
        (None, Some(vmi)) if !is_idle(vmi) => {
            Fate::Lingers(format!("its VM is gone; it goes when {vmi_at} is gone"))
        }
        (None, vmi) => {
            let looks = [expect(vm_at, whose, Rest::Nothing), expect(vmi_at, whose, Rest::MayGo)];
            // As long as its owner is there, the garbage collector deletes it after that one.
            Fate::Goes(let_go(claim, looks, whose.kind != Some(VMI) || vmi.is_none()))
        }
    }
}

/// Lets a claim go that no network of its machine names any more: as long as they are what they were.
pub(super) fn unplugged(claim: &Object, machine: &Machine<'_>) -> Chain {
    let (namespace, name) = machine.owner().map_or(("", ""), |(_, o)| (o.namespace(), o.name()));
    let (vm, vmi) = (machine.vm.map(of_vm), machine.vmi.map(of_vmi));
    let same = |at: ObjectRef, entries, read: fn(&Object) -> Vec<_>| Write {
        target: at,
        uid: String::new(),
        action: Action::Expect(Expect::new(move |now| now.map(read) == entries)),
    };
    let looks = [same(VM.at(namespace, name), vm, of_vm), same(VMI.at(namespace, name), vmi, of_vmi)];
    let_go(claim, looks, true)
}

fn let_go(claim: &Object, looks: [Write; 2], delete: bool) -> Chain {
    let write = |action| Write {
        target: CLAIM.at(claim.namespace(), claim.name()),
        uid: claim.uid().to_owned(),
        action,
    };
    // Deleted first: while it is held, the next pass finds it if this one ends in between.
    let delete = (delete && !claim.deleting()).then(|| write(Action::Delete));
    let free = claim.held_by(FINALIZER).then(|| write(Action::Free(FINALIZER)));
    if delete.is_none() && free.is_none() {
        return Chain::new();
    }
    looks.into_iter().chain(delete).chain(free).collect()
}

/// What may be left of a machine.
#[derive(Clone, Copy)]
enum Rest {
    Nothing,
    /// What is going: a VirtualMachine that is being deleted, or an instance without pods.
    MayGo,
}

fn expect(target: ObjectRef, whose: &Whose, rest: Rest) -> Write {
    let (whose, kind) = (whose.clone(), target.kind);
    let holds = move |now: Option<&Object>| {
        let its = now.filter(|o| if kind == VM { whose.is_vm(o) } else { whose.is_vmi(o) });
        its.is_none_or(|o| match rest {
            Rest::Nothing => false,
            Rest::MayGo => {
                if kind == VM {
                    o.deleting()
                } else {
                    is_idle(o)
                }
            }
        })
    };
    Write { target, uid: String::new(), action: Action::Expect(Expect::new(holds)) }
}

/// Is nothing of it left that could use an address?
fn is_idle(vmi: &Object) -> bool {
    let pods = vmi.at("/status/activePods").and_then(Value::as_object);
    vmi.deleting() && pods.is_none_or(serde_json::Map::is_empty)
}
