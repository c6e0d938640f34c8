//! The objects of a survey, by the questions that are asked of them.

use super::pool::{self, Parsed};
use super::{IP_ADDRESS, IP_CLAIM, IP_POOL, NAME, machine};
use crate::model::{Holder, Object, ObjectRef, Observed, Owner};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names the machine and the device that a claim is for, exactly: names of claims alone collide.
pub(super) const OWNER: &str = "mipam.io/owner";

/// A machine's device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct For {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) device: usize,
}

impl For {
    /// This device of a machine.
    pub(super) fn device(machine: &Object, device: usize) -> Self {
        Self { namespace: machine.namespace().to_owned(), name: machine.name().to_owned(), device }
    }

    /// What a claim says that it is for.
    pub(super) fn of(claim: &Object) -> Option<Self> {
        let mut parts = claim.annotation(OWNER)?.split('/');
        let found = (parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next());
        let ("ElfMachine", namespace, name, device, None) = found else { return None };
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned(), device: device.parse().ok()? })
    }

    /// The machine.
    pub(super) fn machine(&self) -> ObjectRef {
        super::ELF_MACHINE.at(&self.namespace, &self.name)
    }

    /// The name that its claim has, unless another device has the same.
    pub(super) fn plain_name(&self) -> String {
        format!("{}-{}-{}", self.namespace, self.name, self.device)
    }

    /// How a claim says it.
    pub(super) fn text(&self) -> String {
        format!("ElfMachine/{}/{}/{}", self.namespace, self.name, self.device)
    }

    /// As people know it.
    pub(super) fn holder(&self) -> Holder {
        let owner = Owner {
            group: super::ELF_MACHINE.group.into(),
            kind: super::ELF_MACHINE.kind.into(),
            namespace: self.namespace.as_str().into(),
            name: self.name.as_str().into(),
            uid: "".into(),
            system: NAME.into(),
        };
        Holder { owner: Arc::new(owner), device: self.device.to_string().into() }
    }
}

/// Claims by machine, addresses by claim.
pub(super) struct Index<'a> {
    pub(super) observed: &'a Observed,
    /// mipam serves the pools, rather than a metal3 controller.
    pub(super) serves: bool,
    /// Who else serves the machines, so that mipam does not.
    pub(super) left_to: Option<String>,
    claims: BTreeMap<(String, String), Vec<(usize, &'a Object)>>,
    addresses: BTreeMap<(&'a str, &'a str), Vec<&'a Object>>,
    /// The devices that would give a claim this name; the first has the right to it.
    names: BTreeMap<String, Vec<For>>,
    /// Every pool, read once.
    pools: BTreeMap<(&'a str, &'a str), Parsed>,
    none: Parsed,
}

impl<'a> Index<'a> {
    pub(super) fn new(observed: &'a Observed, serves: bool, left_to: Option<String>) -> Self {
        let pool = |p: &'a Object| {
            let parsed = pool::read(p, serves && !p.deleting());
            ((p.namespace(), p.name()), parsed)
        };
        let pools: BTreeMap<_, _> = observed.all(IP_POOL).map(pool).collect();
        let mut addresses: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for address in observed.all(IP_ADDRESS) {
            let claim = address.text("/spec/claim/name").unwrap_or_default();
            addresses.entry((address.namespace(), claim)).or_default().push(address);
        }
        let mut names: BTreeMap<String, Vec<For>> = BTreeMap::new();
        for machine in observed.all(super::ELF_MACHINE) {
            for device in 0..machine.array(machine::DEVICES).len() {
                let whose = For::device(machine, device);
                names.entry(whose.plain_name()).or_default().push(whose);
            }
        }
        let (claims, none) = (BTreeMap::new(), Parsed::default());
        let mut index = Self { observed, serves, left_to, claims, addresses, names, pools, none };
        for claim in observed.all(IP_CLAIM) {
            if let Some(whose) = index.whose(claim) {
                index.claims.entry((whose.namespace, whose.name)).or_default().push((whose.device, claim));
            }
        }
        index
    }

    /// What a claim is for: what it says, or what SmartX's own controller meant, whose claims say nothing. The name alone
    /// proves nothing: the one device that has it must carry the address of the claim, and our finalizer must
    /// hold its machine, which is that controller's, too.
    pub(super) fn whose(&self, claim: &Object) -> Option<For> {
        if claim.annotation(OWNER).is_some() {
            return For::of(claim);
        }
        let [one] = self.names.get(claim.name())?.as_slice() else { return None };
        let machine = self.observed.find(&one.machine())?;
        let device = machine.array(machine::DEVICES).get(one.device)?;
        let carried = device.get("ipAddrs").and_then(Value::as_array)?;
        let records = self.addresses_of(claim);
        let shown = records.iter().filter_map(|r| r.at("/spec/address")).any(|a| carried.contains(a));
        (shown && machine.held_by(machine::FINALIZER)).then(|| one.clone())
    }

    /// What a pool is to the planner.
    pub(super) fn parsed(&self, pool: &'a Object) -> &Parsed {
        self.pools.get(&(pool.namespace(), pool.name())).unwrap_or(&self.none)
    }

    /// Has another device more right to the name of this claim?
    pub(super) fn name_is_taken(&self, whose: &For, namespace: &str) -> bool {
        let name = whose.plain_name();
        let found = self.observed.find(&IP_CLAIM.at(namespace, &name));
        found.is_some_and(|claim| For::of(claim).as_ref() != Some(whose))
            || self.names.get(&name).is_some_and(|all| all.first() != Some(whose))
    }

    /// The claims for the devices of a machine.
    pub(super) fn claims_for(&self, machine: &Object) -> &[(usize, &'a Object)] {
        let key = (machine.namespace().to_owned(), machine.name().to_owned());
        self.claims.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The addresses of a claim, the one that its status names first.
    pub(super) fn addresses_of(&self, claim: &Object) -> Vec<&'a Object> {
        let found = self.addresses.get(&(claim.namespace(), claim.name()));
        let mut found = found.cloned().unwrap_or_default();
        let named = claim.text("/status/address/name");
        found.sort_by_key(|a| (Some(a.name()) != named, a.name()));
        found
    }

    /// The pool of a claim or an address: metal3 looks for it in the namespace of the claim alone.
    pub(super) fn pool_of(&self, object: &Object) -> Option<&'a Object> {
        let name = object.text("/spec/pool/name")?;
        self.observed.find(&IP_POOL.at(object.namespace(), name))
    }
}
