//! Reads a Machine: its devices and the addresses it holds.

use super::MACHINE;
use crate::addr::{legible_address, parse_address};
use crate::model::{Adopt, Holder, Holding, Kind, Object, Owner, PoolChoice, Subject};
use crate::systems::capi::CLAIM;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

pub(super) const DEVICES: &str = "/spec/providerSpec/value/network/devices";

/// A network device of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) index: usize,
    pub(super) network: Option<String>,
    /// Addresses it has, with the prefix where it is written, or why one cannot be read.
    pub(super) addresses: Vec<Result<(IpAddr, Option<u8>), String>>,
    /// Addresses that can be told though they are not written as they should be.
    pub(super) legible: Vec<IpAddr>,
    /// Its addresses come from IPAddressClaims.
    pub(super) from_pools: bool,
}

impl Device {
    /// It has no address and nobody else gives it one.
    pub(super) fn wants(&self) -> bool {
        self.addresses.is_empty() && !self.from_pools
    }

    /// What pools compare their `match` with.
    pub(super) fn subject(&self, object: &Object) -> Subject {
        let labels = object.at("/metadata/labels").and_then(Value::as_object);
        let labels =
            labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
        Subject {
            system: super::NAME,
            namespace: object.namespace().to_owned(),
            network: self.network.clone(),
            labels: labels.collect::<BTreeMap<_, _>>(),
            family: None,
        }
    }
}

/// The devices of a machine, in order.
pub(super) fn devices(object: &Object) -> Vec<Device> {
    object.array(DEVICES).iter().enumerate().map(|(index, device)| read(index, device)).collect()
}

pub(super) fn read(index: usize, device: &Value) -> Device {
    let legible = || legible(device.get("ipAddrs"));
    let unreadable = |why: String| Device {
        index,
        network: None,
        addresses: vec![Err(why)],
        legible: legible(),
        from_pools: false,
    };
    let Some(map) = device.as_object() else {
        return unreadable(format!("{device} is no map of settings"));
    };
    let list = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(&[][..]),
        Some(Value::Array(list)) => Ok(list.as_slice()),
        Some(other) => Err(format!("{key} is {other} and not a list")),
    };
    match (list("ipAddrs"), list("addressesFromPools")) {
        (Ok(addresses), Ok(from_pools)) => {
            let addresses: Vec<_> = addresses.iter().map(address).collect();
            Device {
                index,
                network: map.get("networkName").and_then(Value::as_str).map(str::to_owned),
                legible: if addresses.iter().any(Result::is_err) { legible() } else { Vec::new() },
                addresses,
                from_pools: !from_pools.is_empty(),
            }
        }
        (Err(why), _) | (_, Err(why)) => unreadable(why),
    }
}

/// Addresses that can be told, in a list or alone, however they are written.
fn legible(addresses: Option<&Value>) -> Vec<IpAddr> {
    let list = addresses.and_then(Value::as_array).into_iter().flatten();
    let texts = list.chain(addresses).filter_map(Value::as_str);
    texts.filter_map(legible_address).collect()
}

fn address(value: &Value) -> Result<(IpAddr, Option<u8>), String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is not an address"))?;
    let (ip, prefix) = text.split_once('/').map_or((text, None), |(ip, prefix)| (ip, Some(prefix)));
    let ip = parse_address(ip).map_err(|e| e.to_string())?;
    let max = if ip.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => None,
        Some(p) => Some(
            p.parse().ok().filter(|p| *p <= max).ok_or_else(|| format!("{text:?} has no valid prefix"))?,
        ),
    };
    Ok((ip, prefix))
}

/// The claims that the Machine API will make for a machine that takes addresses from pools.
pub(super) fn claims(machine: &Object) -> Vec<(Kind, Object)> {
    let mut claims = Vec::new();
    for (device, settings) in machine.array(DEVICES).iter().enumerate() {
        let pools = settings.get("addressesFromPools").and_then(Value::as_array);
        for (number, pool) in pools.into_iter().flatten().enumerate() {
            let name = format!("{}-claim-{device}-{number}", machine.name());
            let claim = json!({
                "apiVersion": format!("{}/v1beta1", CLAIM.group),
                "kind": CLAIM.kind,
                "metadata": {
                    "name": name, "namespace": machine.namespace(), "uid": format!("{}-{name}", machine.uid()),
                },
                "spec": { "poolRef": {
                    "apiGroup": pool.get("group"), "kind": pool.get("resource"), "name": pool.get("name"),
                } },
            });
            claims.push((CLAIM, Object(claim)));
        }
    }
    claims
}

/// Notes every address that the machine has; returns what could not be read.
pub(super) fn holdings(
    object: &Object,
    owner: &Arc<Owner>,
    devices: &[Device],
    adopt: Adopt,
    holdings: &mut Vec<Holding>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let seen_on = Arc::new(MACHINE.at(object.namespace(), object.name()));
    for device in devices {
        let holder = Holder { owner: owner.clone(), device: device.index.to_string().into() };
        let pools = PoolChoice::Matching(Arc::new(device.subject(object)));
        let read: Vec<IpAddr> = device.addresses.iter().flatten().map(|(address, _)| *address).collect();
        holdings.extend(device.legible.iter().filter(|a| !read.contains(a)).map(|address| Holding {
            address: *address,
            seen_on: seen_on.clone(),
            holder: Some(holder.clone()),
            stands_for: None,
            pools: None,
            adopt: Adopt::No,
        }));
        for address in &device.addresses {
            match address {
                Ok((address, _)) => holdings.push(Holding {
                    address: *address,
                    seen_on: seen_on.clone(),
                    holder: Some(holder.clone()),
                    stands_for: None,
                    pools: Some(pools.clone()),
                    adopt,
                }),
                Err(why) => problems.push(format!(
                    "device {}: {why}; mipam leaves the machine alone until it is mended by hand",
                    device.index
                )),
            }
        }
    }
    // Host names stand beside addresses in a status.
    let reported = object.array("/status/addresses").iter().filter_map(|a| a.get("address")?.as_str());
    // What comes from claims is theirs, and the machine only repeats it.
    let claimed = devices.iter().any(|d| d.from_pools);
    let own = |address: IpAddr| {
        let mut on_devices = devices.iter().flat_map(|d| &d.addresses).flatten();
        !claimed || on_devices.any(|(a, _)| *a == address)
    };
    for address in reported.filter_map(|a| parse_address(a).ok()) {
        let holder = Holder { owner: owner.clone(), device: "".into() };
        holdings.push(Holding {
            address,
            seen_on: seen_on.clone(),
            holder: own(address).then_some(holder),
            stands_for: claimed.then(|| object.name().into()),
            pools: None,
            adopt: Adopt::No,
        });
    }
    problems
}

/// Why the machine must be left alone.
pub(super) fn paused(object: &Object) -> Option<String> {
    if let Some(why) = crate::systems::paused(object) {
        return Some(why);
    }
    let authority = object.text("/status/authoritativeAPI").or_else(|| object.text("/spec/authoritativeAPI"));
    authority.filter(|a| !matches!(*a, "" | "MachineAPI")).map(|a| format!("its authoritative API is {a}"))
}
