//! A virtual machine as claims know it: the VirtualMachine, what runs of it, or both; and which of its networks has
//! which claim.

use super::name;
use super::network::{self, Entry};
use super::{CLAIM, FINALIZER, VM, VM_LABEL, VM_NAME, VMI};
use crate::model::{Kind, Object, ObjectRef, Observed};
use serde_json::Value;

/// A VirtualMachine, what runs of it, or both; one of them at least.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The VirtualMachine.
    pub vm: Option<&'a Object>,
    /// What runs.
    pub vmi: Option<&'a Object>,
}

impl<'a> Machine<'a> {
    /// The machine of a VirtualMachine.
    pub fn of_vm(vm: &'a Object, observed: &'a Observed) -> Self {
        let vmi = observed.find(&VMI.at(vm.namespace(), vm.name()));
        Self { vm: Some(vm), vmi: vmi.filter(|vmi| runs_for(vmi, vm)) }
    }

    /// The machine of something that runs without a VirtualMachine. `None` where it has one: that one is the machine,
    /// and where it was not seen, it may have been made since.
    pub fn of_vmi(vmi: &'a Object, observed: &Observed) -> Option<Self> {
        let theirs = vm_of(vmi).is_some();
        let same = observed.find(&VM.at(vmi.namespace(), vmi.name())).is_some();
        (!theirs && !same).then_some(Self { vm: None, vmi: Some(vmi) })
    }

    /// Whose the claims are.
    pub fn owner(&self) -> Option<(Kind, &'a Object)> {
        self.vm.map(|vm| (VM, vm)).or_else(|| self.vmi.map(|vmi| (VMI, vmi)))
    }

    /// The networks that claims are for now: those of what runs, or of what will.
    pub fn wanted(&self) -> Vec<Entry> {
        let running = self.vmi.filter(|vmi| !vmi.deleting());
        let entries = running.map(network::of_vmi).or_else(|| self.vm.map(network::of_vm));
        entries.unwrap_or_default().into_iter().filter(|e| !e.leaves).collect()
    }

    /// All networks that anything of it names.
    pub fn named(&self) -> Vec<Entry> {
        let running = self.vmi.map(network::of_vmi).unwrap_or_default();
        running.into_iter().chain(self.vm.map(network::of_vm).unwrap_or_default()).collect()
    }

    /// Is this claim its own?
    pub fn owns(&self, claim: &Object) -> bool {
        let parts = [self.vm, self.vmi].into_iter().flatten();
        match Whose::of(claim) {
            Some(whose) if whose.kind.is_some() => {
                parts.clone().any(|part| !part.uid().is_empty() && part.uid() == whose.uid)
            }
            // Files have no uids, and who deletes a machine may leave what it owned.
            Some(whose) => self.owner().is_some_and(|(_, o)| o.name() == whose.name) && is_ours(claim),
            None => false,
        }
    }
}

/// The uid of the VirtualMachine that something runs for, as it says itself.
pub fn vm_of(vmi: &Object) -> Option<&str> {
    let owner = vmi.array("/metadata/ownerReferences").iter().find(|o| o["kind"] == VM.kind)?;
    owner.get("uid").and_then(Value::as_str)
}

fn runs_for(vmi: &Object, vm: &Object) -> bool {
    vm_of(vmi).is_none_or(|uid| vm.uid().is_empty() || uid == vm.uid())
}

/// Is a claim one that this system, or the one that it replaces, has made?
pub fn is_ours(claim: &Object) -> bool {
    claim.held_by(FINALIZER) || claim.label(VM_LABEL).is_some()
}

/// May it be let go? One with neither our finalizer nor an owner is somebody's own: for a machine that is yet to come,
/// say.
pub fn may_go(claim: &Object) -> bool {
    claim.held_by(FINALIZER) || Whose::of(claim).is_some_and(|whose| whose.kind.is_some())
}

/// Whom a claim says that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// The kind of its owner; `None` where it has none any more.
    pub kind: Option<Kind>,
    /// The name of the machine.
    pub name: String,
    /// The uid of its owner.
    pub uid: String,
}

impl Whose {
    /// What a claim says; `None` where it is for something else.
    pub fn of(claim: &Object) -> Option<Self> {
        let owners = claim.array("/metadata/ownerReferences");
        let text =
            |owner: &Value, key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        for owner in owners {
            let kind = [VM, VMI].into_iter().find(|k| text(owner, "kind") == k.kind);
            let group = text(owner, "apiVersion");
            if let Some(kind) = kind.filter(|k| group.split('/').next() == Some(k.group)) {
                return Some(Self { kind: Some(kind), name: text(owner, "name"), uid: text(owner, "uid") });
            }
        }
        let label = claim.label(VM_LABEL).filter(|_| owners.is_empty())?;
        // Of a long name the label has only a part.
        let name = claim.annotation(VM_NAME).filter(|name| name::label(name) == label).unwrap_or(label);
        Some(Self { kind: None, name: name.to_owned(), uid: String::new() })
    }

    /// The VirtualMachine of that name.
    pub fn vm(&self, claim: &Object) -> ObjectRef {
        VM.at(claim.namespace(), &self.name)
    }

    /// What runs under that name.
    pub fn vmi(&self, claim: &Object) -> ObjectRef {
        VMI.at(claim.namespace(), &self.name)
    }

    /// Is this VirtualMachine the one that it is for?
    pub fn is_vm(&self, vm: &Object) -> bool {
        self.kind != Some(VM) || self.uid == vm.uid()
    }

    /// Does this run for the machine that it is for?
    pub fn is_vmi(&self, vmi: &Object) -> bool {
        match self.kind {
            Some(VMI) => self.uid == vmi.uid(),
            Some(_) => vm_of(vmi).is_none_or(|uid| uid == self.uid),
            None => true,
        }
    }
}

/// A network of a machine whose addresses are, or were, to persist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Its name in the machine.
    pub entry: String,
    /// The name that the CNI knows it by.
    pub network: String,
    /// Is a claim made for it where there is none?
    pub make: bool,
}

/// The claim of a network.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// It has this one.
    Has(&'a Object),
    /// It has none.
    Gets {
        /// The name of the one that it gets.
        name: String,
        /// Who has the plain name, where that is why it is another one.
        plain: Option<&'a Object>,
        /// Who has that name already.
        taken: Option<&'a Object>,
    },
}

/// Which claim each network has or gets. A claim is for one network alone, so all of a machine are looked at together.
/// `promised` are the names that others get.
pub fn assign<'a>(
    machine: &Machine<'_>,
    wants: &[Want],
    find: impl Fn(&str) -> Option<&'a Object>,
    promised: impl Fn(&str) -> bool,
) -> Vec<Place<'a>> {
    let vm = machine.owner().map_or("", |(_, o)| o.name());
    let hashed: Vec<String> = wants.iter().map(|w| name::hashed(vm, &w.entry, &w.network)).collect();
    let plain: Vec<String> = wants.iter().map(|w| name::plain(vm, &w.entry)).collect();
    let has = |name: &str, want: &Want| {
        let owned = find(name).filter(|claim| machine.owns(claim));
        owned.filter(|claim| claim.text("/spec/network") == Some(&want.network))
    };
    let mut places: Vec<Option<Place<'a>>> =
        wants.iter().zip(&hashed).map(|(want, name)| has(name, want).map(Place::Has)).collect();
    // The plain name goes to the first of those that have no claim yet.
    let mut given: Vec<&str> = Vec::new();
    let open = |places: &[Option<Place<'a>>]| {
        places.iter().enumerate().filter(|(_, p)| p.is_none()).map(|(at, _)| at).collect::<Vec<_>>()
    };
    for at in open(&places) {
        if let Some(claim) = has(&plain[at], &wants[at]).filter(|_| !given.contains(&plain[at].as_str())) {
            given.push(&plain[at]);
            places[at] = Some(Place::Has(claim));
        }
    }
    for at in open(&places) {
        let name = plain[at].as_str();
        let has_plain = find(name);
        let is_free = has_plain.is_none() && !given.contains(&name) && !promised(name);
        if is_free && wants[at].make {
            given.push(name);
        }
        let name = if is_free { name } else { &hashed[at] };
        places[at] = Some(Place::Gets { name: name.to_owned(), plain: has_plain, taken: find(name) });
    }
    places.into_iter().flatten().collect()
}

/// The reference to a claim of that name.
pub fn claim_of(machine: &Machine<'_>, name: &str) -> ObjectRef {
    CLAIM.at(machine.owner().map_or("", |(_, o)| o.namespace()), name)
}
