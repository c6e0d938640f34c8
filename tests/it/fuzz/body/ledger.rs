//! The ledger from arbitrary ConfigMaps: every entry is either understood or reported, and changing a page
//! leaves all that was not meant as it was, whether understood or not.

use super::make::Bytes;
use mipam::ledger::{Change, FORMAT, HEAD, Ledger, NAMESPACE, by_page, object_name};
use mipam::model::{Allocation, Holder, Object, Owner, Slot, Standing};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const EPOCH: &str = "e";
pub const NETWORKS: [&str; 3] = ["", "lab", "a_b.c/ä"];

pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let objects = objects(&mut bytes);
    let Ok(ledger) = Ledger::read(objects.clone()) else { return };
    accounted(&ledger, &objects);
    read_again(&ledger, &objects, &mut bytes);
    let changes: BTreeMap<Slot, Change> = bytes.some(6, change).into_iter().collect();
    unharmed(&ledger, &changes);
}

/// It is the same ledger, whatever was read before.
fn read_again(ledger: &Ledger, objects: &[Object], bytes: &mut Bytes<'_>) {
    let mut earlier = objects.to_vec();
    for data in earlier.iter_mut().skip(1).filter_map(|o| o.0.get_mut("data")?.as_object_mut()) {
        let values: Vec<Value> = data.values().cloned().collect();
        data.retain(|_, value| {
            if bytes.one_in(3) {
                *value = bytes.pick(&values).clone();
            }
            !bytes.one_in(4)
        });
    }
    let Ok(again) = Ledger::read(earlier).and_then(|earlier| earlier.read_again(objects.to_vec())) else {
        return;
    };
    assert_eq!(again.allocations(), ledger.allocations());
    let told =
        |ledger: &Ledger| ledger.unreadable().iter().map(|u| format!("{u:?}")).collect::<BTreeSet<_>>();
    assert_eq!(told(&again), told(ledger));
}

/// A head, mostly a good one, and pages with good, spoilt and senseless entries.
pub fn objects(bytes: &mut Bytes<'_>) -> Vec<Object> {
    let mut head = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": HEAD, "namespace": NAMESPACE },
        "data": { "format": FORMAT.to_string(), "epoch": EPOCH, "pools": "{}" },
    });
    if bytes.one_in(8) {
        bytes.spoil(&mut head);
    }
    let mut pages: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (slot, change) in bytes.some(12, change) {
        let Change::Put(allocation) = change else { continue };
        let name = object_name(slot.address);
        let made = Ledger::default().changed(&name, EPOCH, &[(slot, Change::Put(allocation))]);
        let entry = made.0["data"].as_object().unwrap().iter().next().map(|(k, v)| (k.clone(), v.clone()));
        let (mut key, mut value) = entry.unwrap();
        if bytes.one_in(6) {
            let mut inner: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
            bytes.spoil(&mut inner);
            value = json!(inner.to_string());
        }
        if bytes.one_in(10) {
            value = bytes.odd();
        }
        if bytes.one_in(10) {
            key = bytes
                .pick(&["10.0.0.1", "10.0.0.01", "fd00--1", "_", "-", "10.0.0.1_.6", "fish"])
                .to_string();
        }
        // Somebody may have copied an entry into another page.
        let page = if bytes.one_in(12) { object_name(bytes.address()) } else { name };
        pages.entry(page).or_default().insert(key, value);
    }
    let mut objects = vec![Object(head)];
    objects.extend(pages.into_iter().map(|(name, data)| {
        let mut page = Ledger::default().changed(&name, EPOCH, &[]);
        page.0["data"] = Value::Object(data);
        if bytes.one_in(16) {
            bytes.spoil(&mut page.0);
        }
        page
    }));
    objects
}

pub fn owner(bytes: &mut Bytes<'_>) -> Arc<Owner> {
    if bytes.one_in(8) {
        let name: &&str = bytes.pick(&["a", "b"]);
        return Owner::hold(name);
    }
    Arc::new(Owner {
        group: "machine.openshift.io".into(),
        kind: "Machine".into(),
        namespace: bytes.pick(&["ns", "other"]).to_string().into(),
        name: bytes.pick(&["a", "b", "c", "d"]).to_string().into(),
        uid: bytes.pick(&["1", "2", "3"]).to_string().into(),
        system: "openshift".into(),
    })
}

pub fn slot(bytes: &mut Bytes<'_>) -> Slot {
    Slot::new(bytes.address(), bytes.pick(&NETWORKS[..]).to_string().into())
}

fn change(bytes: &mut Bytes<'_>) -> (Slot, Change) {
    let at = slot(bytes);
    if bytes.one_in(8) {
        return (at, Change::Remove);
    }
    let holder = |bytes: &mut Bytes<'_>| Holder {
        owner: owner(bytes),
        device: bytes.pick(&["0", "1", ""]).to_string().into(),
    };
    let mut holders = vec![holder(bytes)];
    if bytes.one_in(6) {
        holders.push(holder(bytes));
    }
    let draft = |bytes: &mut Bytes<'_>| bytes.pick(&["", "1"]).to_string().into();
    let standing = match bytes.below(10) {
        0..5 => Standing::Bound,
        5 => Standing::Surplus,
        6 => Standing::Cooling { until: i64::from(bytes.byte()) },
        7 | 8 => {
            let mut set = vec![at.clone()];
            set.extend(bytes.some(2, slot));
            Standing::Home { set, bound: bytes.one_in(2), draft: draft(bytes) }
        }
        _ => Standing::Member { home: slot(bytes), draft: draft(bytes) },
    };
    let pool = bytes.pick(&["p0", "p1", "p2", "gone"]).to_string().into();
    (at.clone(), Change::Put(Allocation { slot: at, holders, pool, since: 1, adopted: false, standing }))
}

fn entries(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    object.at("/data").and_then(Value::as_object).into_iter().flatten()
}

/// No entry of a page is overlooked.
fn accounted(ledger: &Ledger, objects: &[Object]) {
    let unreadable: BTreeSet<(&str, &str)> =
        ledger.unreadable().iter().map(|u| (&*u.object, &*u.key)).collect();
    let pages = objects.iter().filter(|o| ledger.object(o.name()).is_some());
    let all: usize = pages.clone().map(|o| entries(o).count()).sum();
    assert_eq!(ledger.allocations().len() + unreadable.len(), all, "{:?}", ledger.unreadable());
    for (slot, allocation) in ledger.allocations() {
        assert_eq!(*slot, allocation.slot);
        // As it would be written again, it is where it would be written.
        let name = object_name(slot.address);
        let again =
            Ledger::default().changed(&name, EPOCH, &[(slot.clone(), Change::Put(allocation.clone()))]);
        let (key, _) = entries(&again).next().unwrap();
        let page = pages.clone().find(|o| o.name() == name);
        assert!(page.is_some_and(|p| entries(p).any(|(k, _)| k == key)), "{key} is not in {name}");
    }
}

/// Keys that no change names keep their values, byte for byte; those that one does are as it says.
pub fn unharmed(ledger: &Ledger, changes: &BTreeMap<Slot, Change>) {
    for (page, changes) in by_page(changes) {
        let name = page.name();
        let meant: BTreeSet<String> = changes
            .iter()
            .flat_map(|(slot, _)| {
                let blank = Allocation {
                    slot: slot.clone(),
                    holders: vec![],
                    pool: "".into(),
                    since: 0,
                    adopted: false,
                    standing: Standing::Bound,
                };
                let alone = Ledger::default().changed(&name, EPOCH, &[(slot.clone(), Change::Put(blank))]);
                entries(&alone).map(|(k, _)| k.clone()).collect::<Vec<_>>()
            })
            .collect();
        let after = ledger.changed(&name, EPOCH, &changes);
        let Some(before) = ledger.object(&name) else { continue };
        for (key, value) in entries(before).filter(|(k, _)| !meant.contains(*k)) {
            assert_eq!(entries(&after).find(|(k, _)| *k == key).map(|(_, v)| v), Some(value), "{name} {key}");
        }
        let mut written = ledger.clone();
        written.wrote(after);
        for (slot, change) in &changes {
            let wanted = match change {
                Change::Put(allocation) => Some(allocation),
                Change::Remove => None,
            };
            assert_eq!(written.allocations().get(slot), wanted);
        }
    }
}
