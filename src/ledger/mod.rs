//! How allocations are kept in ConfigMaps, and what a compare-and-swap changes. Pure: [`crate::apply`] reads
//! and writes the objects.
//!
//! An address is a key in the object of its aligned range of 256 addresses. The object's name says nothing of
//! pools, networks or systems, so two allocations of one address always meet in one object, whoever makes
//! them. Blocks are all in one object, and only until the Node that they are for shows them.

mod entry;
mod head;
mod shrink;

pub use head::{Applied, FORMAT, HEAD, Head};
pub use shrink::{Cause, Shrunk, shrunk};

use crate::addr::{Span, subnet};
use crate::model::{Allocation, Draft, Kind, Listed, Object, Slot};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Where the ledger lives; fixed, so that every run meets in the same place.
pub const NAMESPACE: &str = "mipam-system";

/// What marks the ledger's objects.
pub const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "mipam");

/// The kind that the ledger is made of.
pub const CONFIG_MAP: Kind =
    Kind { group: "", versions: &["v1"], kind: "ConfigMap", plural: "configmaps", namespaced: true };

/// Made where it is missing.
pub const NAMESPACE_KIND: Kind =
    Kind { group: "", versions: &["v1"], kind: "Namespace", plural: "namespaces", namespaced: false };

const EPOCH: &str = "mipam.io/epoch";

/// The ledger object of all blocks.
const BLOCKS: &str = "mipam-nodes";

/// All allocations, as the cluster's objects have them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Format, epoch and the pools last applied; `None` before the first allocation.
    pub head: Option<Head>,
    objects: BTreeMap<String, Listed>,
    allocations: BTreeMap<Slot, Allocation>,
    unreadable: Vec<Unreadable>,
}

/// An entry that cannot be read. It stays as it is, and its address is not given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The ledger object.
    pub object: String,
    /// The key in it.
    pub key: String,
    /// The address, where at least the key can be read.
    pub address: Option<IpAddr>,
    /// The block instead, where it is one.
    pub block: Option<Span>,
    /// What is wrong.
    pub message: String,
}

/// Why a ledger must not be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// A newer mipam has written it.
    #[error(
        "the ledger in namespace {NAMESPACE} has format {0}, and this mipam knows {FORMAT}: use the newer mipam"
    )]
    Newer(String),
    /// The head is gone, the entries are not.
    #[error(
        "ConfigMap {NAMESPACE}/{HEAD} is missing beside {0} ledger object{s}: restore it from a backup (its `epoch` is the annotation {EPOCH} of the others); nothing is given out until then",
        s = if *.0 == 1 { "" } else { "s" }
    )]
    NoHead(usize),
    /// Objects of two ledgers are mixed.
    #[error(
        "ConfigMap {NAMESPACE}/{object} belongs to another ledger (epoch {theirs}, the head has {ours}): a backup was restored in part; restore the rest or remove what does not belong"
    )]
    Foreign {
        /// The object.
        object: String,
        /// Its epoch.
        theirs: String,
        /// The head's epoch.
        ours: String,
    },
    /// The configuration has taken a range away.
    #[error(transparent)]
    Shrunk(#[from] Shrunk),
    /// The head cannot be read.
    #[error("ConfigMap {NAMESPACE}/{HEAD} cannot be read: {0}; restore it from a backup")]
    BadHead(String),
}

/// One change to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Record it, or record it anew.
    Put(Allocation),
    /// Take it out.
    Remove,
}

impl Ledger {
    /// Reads the ledger's objects; the other ConfigMaps of the namespace are not ours.
    pub fn read(objects: impl IntoIterator<Item: Into<Listed>>) -> Result<Self, LedgerError> {
        Self::default().read_again(objects)
    }

    /// The same where some of them were read before: those that have not changed since are not read again.
    pub fn read_again(mut self, objects: impl IntoIterator<Item: Into<Listed>>) -> Result<Self, LedgerError> {
        let belongs = |o: &Listed| {
            let pages = ["mipam-v4-", "mipam-v6-"];
            o.name() == HEAD || o.name() == BLOCKS || pages.iter().any(|p| o.name().starts_with(p))
        };
        let (heads, rest): (Vec<_>, Vec<_>) =
            objects.into_iter().map(Into::into).filter(belongs).partition(|o: &Listed| o.name() == HEAD);
        self.head = heads.first().map(|head| Head::read(head)).transpose()?;
        let Some(head) = &self.head else {
            return if rest.is_empty() { Ok(Self::default()) } else { Err(LedgerError::NoHead(rest.len())) };
        };
        let ours = head.epoch.clone();
        let there: BTreeSet<&str> = rest.iter().map(Listed::name).collect();
        let gone: Vec<String> =
            self.objects.keys().filter(|n| !there.contains(n.as_str())).cloned().collect();
        gone.iter().for_each(|name| self.unload(name));
        for object in rest {
            let theirs = object.annotation(EPOCH).unwrap_or_default();
            if theirs != ours {
                let theirs = theirs.to_owned();
                return Err(LedgerError::Foreign { object: object.name().to_owned(), theirs, ours });
            }
            match self.objects.get_mut(object.name()) {
                // The list has it anyway: there need not be two of it in memory.
                Some(known) if known.is_same_version(&object) => *known = object,
                _ => self.load(&object),
            }
        }
        Ok(self)
    }

    /// Forgets an object and its entries.
    fn unload(&mut self, name: &str) {
        let Some(before) = self.objects.remove(name) else { return };
        entries(&before).for_each(|(key, _)| self.forget(name, key));
    }

    /// Forgets an entry of an object.
    fn forget(&mut self, name: &str, key: &str) {
        if let Some(slot) = entry::slot_of_key(key).filter(|slot| Page::of(slot).name() == name) {
            self.allocations.remove(&slot);
        }
        self.unreadable.retain(|u| u.object != name || u.key != key);
    }

    /// Reads an object. Entries that say what they said before are not read again.
    fn load(&mut self, object: &Listed) {
        let name = object.name().to_owned();
        let before = self.objects.insert(name.clone(), object.clone());
        let was = |key: &str| before.as_ref().and_then(|before| before.at("/data")?.get(key));
        let is = |key: &str| object.at("/data").and_then(|data| data.get(key));
        for (key, value) in before.iter().flat_map(|before| entries(before)) {
            if is(key) != Some(value) {
                self.forget(&name, key);
            }
        }
        let mut own = None;
        // Written to another page by hand, an entry would stand beside the one that counts.
        let mut belongs = |slot: &Slot| {
            let page = Page::of(slot);
            if own != Some(page) && page.name() == name {
                own = Some(page);
            }
            own == Some(page)
        };
        for (key, value) in entries(object).filter(|(key, value)| was(key) != Some(*value)) {
            let message = match entry::decode(key, value) {
                Ok(allocation) if belongs(&allocation.slot) => {
                    self.allocations.insert(allocation.slot.clone(), allocation);
                    continue;
                }
                Ok(allocation) => format!("it belongs in {}", Page::of(&allocation.slot).name()),
                Err(message) => message,
            };
            let place = entry::place_of_key(key);
            let address = place.filter(|(_, block)| block.is_none()).map(|(address, _)| address);
            let block = place.and_then(|(address, block)| Some(subnet(address, block?)));
            let (object, key) = (name.clone(), key.clone());
            self.unreadable.push(Unreadable { object, key, address, block, message });
        }
        // The same order, whatever was read before.
        self.unreadable.sort_by(|a, b| (&a.object, &a.key).cmp(&(&b.object, &b.key)));
    }

    /// Every entry, by address.
    pub fn allocations(&self) -> &BTreeMap<Slot, Allocation> {
        &self.allocations
    }

    /// Every entry of a single address.
    pub fn addresses(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.values().filter(|a| a.slot.block.is_none())
    }

    /// Every entry of a block.
    pub fn blocks(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.values().filter(|a| a.slot.block.is_some())
    }

    /// The entries of an address, one for each network that has it.
    pub fn of_address(&self, address: IpAddr) -> impl Iterator<Item = &Allocation> {
        let first = Slot::new(address, "".into());
        let from = self.allocations.range(first..).map(|(_, allocation)| allocation);
        from.take_while(move |a| a.slot.address == address).filter(|a| a.slot.block.is_none())
    }

    /// Entries that cannot be read.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// The ledger object as it was read, if there is one.
    pub fn object(&self, name: &str) -> Option<&Object> {
        self.listed(name).map(|object| &**object)
    }

    /// The same as lists have it.
    pub fn listed(&self, name: &str) -> Option<&Listed> {
        self.objects.get(name)
    }

    /// Has this later version of a ledger object the same entries for these slots, as far as they are in it?
    pub fn agrees(&self, later: &Object, slots: &BTreeSet<Slot>) -> bool {
        let Some(read) = self.object(later.name()) else { return false };
        let mut own = slots.iter().filter(|s| Page::of(s).name() == later.name()).map(entry::key);
        own.all(|key| {
            read.at("/data").and_then(|d| d.get(&key)) == later.at("/data").and_then(|d| d.get(&key))
        })
    }

    /// The version of the ledger object of an entry, empty where there is none yet.
    pub fn version(&self, slot: &Slot) -> Draft {
        self.object(&Page::of(slot).name()).map(Object::resource_version).unwrap_or_default().into()
    }

    /// The object with these changes, ready to be created or compared-and-swapped; keys that are not changed
    /// stay as they are.
    pub fn changed(&self, name: &str, epoch: &str, changes: &[(Slot, Change)]) -> Object {
        let mut object = self.object(name).cloned().unwrap_or_else(|| blank(name, epoch));
        let data = object.ensure_object(&["data"]);
        for (slot, change) in changes {
            match change {
                Change::Put(allocation) => {
                    data.insert(entry::key(slot), Value::String(entry::encode(allocation)));
                }
                Change::Remove => {
                    data.shift_remove(&entry::key(slot));
                }
            }
        }
        data.sort_keys();
        object
    }

    /// Takes note of an object that has just been written.
    pub fn wrote(&mut self, object: impl Into<Listed>) {
        let object = object.into();
        if object.name() == HEAD {
            self.head = Head::read(&object).ok();
        } else {
            self.load(&object);
        }
    }
}

/// Changes by ledger object, in the order in which they are written.
pub fn by_page(changes: &BTreeMap<Slot, Change>) -> BTreeMap<Page, Vec<(Slot, Change)>> {
    let mut grouped: BTreeMap<Page, Vec<_>> = BTreeMap::new();
    for (slot, change) in changes {
        grouped.entry(Page::of(slot)).or_default().push((slot.clone(), change.clone()));
    }
    grouped
}

/// The ledger object that an entry is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// That of the 256 addresses from this one on.
    Addresses(IpAddr),
    /// That of all blocks: whatever their sizes, two that overlap meet in it.
    Blocks,
}

impl Page {
    /// The page of an entry.
    pub fn of(slot: &Slot) -> Self {
        match slot.address {
            _ if slot.block.is_some() => Self::Blocks,
            IpAddr::V4(v4) => Self::Addresses(IpAddr::V4((v4.to_bits() & !0xff).into())),
            IpAddr::V6(v6) => Self::Addresses(IpAddr::V6((v6.to_bits() & !0xff).into())),
        }
    }

    /// The name of the ledger object.
    pub fn name(self) -> String {
        match self {
            Self::Addresses(IpAddr::V4(v4)) => {
                format!("mipam-v4-{}", v4.octets().map(|o| o.to_string()).join("-"))
            }
            Self::Addresses(IpAddr::V6(v6)) => format!("mipam-v6-{}", entry::dashed(v6.segments())),
            Self::Blocks => BLOCKS.to_owned(),
        }
    }
}

/// The name of the ledger object of an address.
pub fn object_name(address: IpAddr) -> String {
    Page::of(&Slot::new(address, "".into())).name()
}

/// The entries of a ledger object as text.
fn entries(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    object.at("/data").and_then(Value::as_object).into_iter().flatten()
}

fn blank(name: &str, epoch: &str) -> Object {
    Object(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": { (LABEL.0): LABEL.1 },
            "annotations": { (EPOCH): epoch },
        },
        "data": {},
    }))
}
