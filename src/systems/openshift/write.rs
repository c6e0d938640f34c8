//! What is written to a Machine: device addresses, the nmstate document and the hooks, in one replacement.

use super::MACHINE;
use super::hooks::{self, Marks};
use super::machine::{self, DEVICES, Device};
use crate::config::{Config, Hook, NmstateTarget};
use crate::model::{Action, Claim, Edit, Edited, Gate, Given, Object, Owner, Pool, Write};
use crate::systems::nmstate::{self, Interface, distinct};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

const ANNOTATION: &str = "mipam.io/nmstate";

/// For each device its addresses, each with the index of its pool.
type Wanted = Vec<(usize, Vec<(IpAddr, usize)>)>;

/// Gives a machine its addresses and moves our hook from before its creation to before its end.
pub(super) fn give(claim: &Claim, given: &[Given], pools: &Arc<[Pool]>, config: &Config) -> Option<Write> {
    let hook = config.lifecycle_hook.clone();
    let target = config.nmstate_target;
    let gate = claim.gate;
    let mut devices: BTreeMap<usize, Vec<(IpAddr, usize)>> = BTreeMap::new();
    for one in given {
        let pool = pools.iter().position(|p| p.name == one.pool)?;
        devices.entry(one.device.parse().ok()?).or_default().push((one.address, pool));
    }
    let (devices, all_pools): (Wanted, _) = (devices.into_iter().collect(), pools.clone());
    let edit = Edit::new(move |object| decorate(object, &devices, hook.as_ref(), gate, target, &all_pools));
    Some(Write {
        target: claim.owner.reference(MACHINE),
        uid: claim.owner.uid.to_string(),
        action: Action::Update(edit),
    })
}

/// Takes our hooks off a machine that is being deleted.
pub(super) fn unhook(owner: &Owner, config: &Config) -> Option<Write> {
    let hook = config.lifecycle_hook.clone()?;
    let edit = Edit::new(move |object| {
        if !object.deleting() || machine::paused(object).is_some() {
            return Edited::Moot;
        }
        if !Marks::of(object, Some(&hook)).ours() {
            return Edited::Already;
        }
        let mut edited = object.clone();
        hooks::clear(&mut edited, &hook);
        Edited::To(Box::new(edited))
    });
    Some(Write { target: owner.reference(MACHINE), uid: owner.uid.to_string(), action: Action::Update(edit) })
}

fn decorate(
    object: &Object,
    given: &Wanted,
    hook: Option<&Hook>,
    gate: Gate,
    target: NmstateTarget,
    pools: &[Pool],
) -> Edited {
    if object.deleting() || machine::paused(object).is_some() {
        return Edited::Moot;
    }
    let marks = Marks::of(object, hook);
    let present = machine::devices(object);
    let carries = |index: &usize, wanted: &[(IpAddr, usize)]| {
        present
            .get(*index)
            .is_some_and(|d| wanted.iter().all(|(ip, _)| d.addresses.iter().flatten().any(|(a, _)| a == ip)))
    };
    if given.iter().all(|(index, wanted)| carries(index, wanted)) && !marks.gate {
        return Edited::Already;
    }
    let wanting = match gate {
        Gate::Closed => marks.gate,
        Gate::Open => marks.served,
        Gate::Asked => true,
    };
    if !wanting {
        return Edited::Moot;
    }
    let mut edited = object.clone();
    for (index, wanted) in given {
        match present.get(*index) {
            // Somebody else gave the device an address in the meantime: the next pass sorts it out.
            Some(device) if !device.wants() && !carries(index, wanted) => return Edited::Moot,
            None => return Edited::Moot,
            Some(_) => {}
        }
        let Some(device) = edited.0.pointer_mut(&format!("{DEVICES}/{index}")) else { return Edited::Moot };
        fill(device, wanted, pools);
    }
    if let (Some(hook), true) = (hook, marks.gate) {
        hooks::serve(&mut edited, hook);
    }
    let interfaces = interfaces(&edited, pools);
    match target {
        NmstateTarget::Annotation if !interfaces.is_empty() => {
            edited.annotate(
                ANNOTATION,
                &crate::yaml::to_yaml(&nmstate::document(&interfaces_only(&interfaces))),
            );
        }
        NmstateTarget::DeviceConfig => {
            for (at, (index, interface)) in interfaces.iter().enumerate() {
                let mut interface = interface.clone();
                if at > 0 {
                    interface.gateways.clear();
                }
                let text = crate::yaml::to_yaml(&nmstate::document(&[interface]));
                if let Some(device) =
                    edited.0.pointer_mut(&format!("{DEVICES}/{index}")).and_then(Value::as_object_mut)
                {
                    device.insert("config".to_owned(), text.into());
                }
            }
        }
        NmstateTarget::Annotation => {}
    }
    Edited::To(Box::new(edited))
}

/// Addresses always; gateway and name servers where a person has not set them.
fn fill(device: &mut Value, wanted: &[(IpAddr, usize)], pools: &[Pool]) {
    let wanted: Vec<(IpAddr, &Pool)> = wanted.iter().map(|(ip, pool)| (*ip, &pools[*pool])).collect();
    let Some(device) = device.as_object_mut() else { return };
    let addresses: Vec<String> = wanted.iter().map(|(ip, pool)| format!("{ip}/{}", pool.prefix)).collect();
    device.insert("ipAddrs".to_owned(), json!(addresses));
    let blank = |v: Option<&Value>| v.is_none_or(|v| v.is_null() || *v == json!("") || *v == json!([]));
    if blank(device.get("gateway"))
        && let Some(gateway) = wanted.iter().find_map(|(_, pool)| pool.gateway)
    {
        device.insert("gateway".to_owned(), json!(gateway.to_string()));
    }
    if blank(device.get("nameservers")) {
        let servers = distinct(wanted.iter().flat_map(|(_, pool)| pool.nameservers.iter().copied()));
        if !servers.is_empty() {
            device.insert(
                "nameservers".to_owned(),
                json!(servers.iter().map(ToString::to_string).collect::<Vec<_>>()),
            );
        }
    }
}

/// The interfaces of a machine as its devices have them, each with the index of its device; gateways of the
/// second family, which a device has no field for, come from the pools.
fn interfaces(object: &Object, pools: &[Pool]) -> Vec<(usize, Interface)> {
    let raw = object.array(DEVICES);
    machine::devices(object)
        .iter()
        .filter_map(|d| Some((d.index, interface(object, d, raw.get(d.index)?, pools)?)))
        .collect()
}

fn interface(object: &Object, device: &Device, raw: &Value, pools: &[Pool]) -> Option<Interface> {
    let subject = device.subject(object);
    let mut addresses = Vec::new();
    let mut own: Vec<&Pool> = Vec::new();
    for (ip, prefix) in device.addresses.iter().flatten() {
        let pool = pools.iter().find(|p| p.contains(*ip) && subject.fits(p));
        let pool = pool.or_else(|| pools.iter().find(|p| p.contains(*ip)));
        own.extend(pool);
        addresses.push((*ip, prefix.or(pool.map(|p| p.prefix))?));
    }
    if addresses.is_empty() {
        return None;
    }
    let parse = |v: &Value| v.as_str().and_then(|t| t.parse::<IpAddr>().ok());
    let mut gateways: Vec<IpAddr> = raw.get("gateway").and_then(parse).into_iter().collect();
    for pool in &own {
        if let Some(gateway) = pool.gateway
            && !gateways.iter().any(|g| g.is_ipv4() == gateway.is_ipv4())
        {
            gateways.push(gateway);
        }
    }
    gateways.retain(|g| addresses.iter().any(|(a, _)| a.is_ipv4() == g.is_ipv4()));
    let written = raw.get("nameservers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let nameservers = distinct(
        written.iter().filter_map(parse).chain(own.iter().flat_map(|p| p.nameservers.iter().copied())),
    );
    let search_domains = distinct(own.iter().flat_map(|p| &p.search_domains).cloned());
    let named = own.iter().find_map(|p| p.interface(device.index));
    let name = named.or_else(|| crate::model::DEFAULT_INTERFACES.get(device.index).copied())?;
    Some(Interface { name: name.to_owned(), addresses, gateways, nameservers, search_domains })
}

/// The nmstate document of a machine as it is; `None` where no device has an address.
pub(super) fn nmstate_of(object: &Object, pools: &[Pool]) -> Option<Value> {
    let interfaces = interfaces(object, pools);
    (!interfaces.is_empty()).then(|| nmstate::document(&interfaces_only(&interfaces)))
}

fn interfaces_only(interfaces: &[(usize, Interface)]) -> Vec<Interface> {
    interfaces.iter().map(|(_, i)| i.clone()).collect()
}
