//! What is written to a Machine: its network, the gate and the error fields, in one replacement.

use super::machine::{self, Cidr, Families, Network};
use super::{fault, gate, kind_of};
use crate::addr::Family;
use crate::model::{
    Action, Claim, Edit, Edited, Gate, Given, Kind, Object, Owner, PendingLine, Pool, Reason, Write,
};
use crate::systems::nmstate::{self, Interface, distinct};
use crate::systems::paused;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::Arc;

/// machine-controller's webhook refuses a changed spec without this, and takes it off again.
const BYPASS: &str = "kubermatic.io/bypass-no-spec-mutation-requirement";

fn update(kind: Kind, owner: &Owner, edit: impl Fn(&Object) -> Edited + Send + Sync + 'static) -> Write {
    let action = Action::Update(Edit::new(edit));
    Write { target: owner.reference(kind), uid: owner.uid.to_string(), action }
}

/// Gives a machine its network, or completes the one that a person has begun, and opens the gate.
pub(super) fn give(claim: &Claim, given: &[Given], pools: &Arc<[Pool]>) -> Option<Write> {
    let kind = kind_of(&claim.owner)?;
    let pool = |one: &Given| pools.iter().position(|p| p.name == one.pool);
    let given: Vec<(IpAddr, usize)> =
        given.iter().map(|one| Some((one.address, pool(one)?))).collect::<Option<_>>()?;
    let (gate, pools) = (claim.gate, pools.clone());
    Some(update(kind, &claim.owner, move |object| decorate(kind, object, &given, gate, &pools)))
}

fn decorate(kind: Kind, object: &Object, given: &[(IpAddr, usize)], gate: Gate, pools: &[Pool]) -> Edited {
    let network = Network::read(kind, object);
    if object.deleting() || paused(object).is_some() || !network.problems.is_empty() {
        return Edited::Moot;
    }
    let closed = gate::closed(object);
    let has = |ip: &IpAddr| network.cidrs.iter().any(|c| c.address == *ip);
    let empty = network.cidrs.is_empty();
    // Somebody has put another address on it in the meantime, or taken away the one that it had.
    if (empty && given.is_empty()) || (!empty && !given.iter().all(|(ip, _)| has(ip))) {
        return Edited::Moot;
    }
    if !empty && !closed {
        return Edited::Already;
    }
    if gate != Gate::Asked && !closed {
        return Edited::Moot;
    }
    let mut edited = object.clone();
    if empty {
        fill(&mut edited, kind, given, network.families, pools);
    } else {
        let own: Vec<&Pool> = network.cidrs.iter().filter_map(|c| home(object, *c, pools)).collect();
        complete(edited.ensure_object(machine::place(kind)), &own);
    }
    if edited != *object {
        edited.annotate(BYPASS, "true");
    }
    gate::open(&mut edited);
    fault::clear(&mut edited);
    Edited::To(Box::new(edited))
}

/// The first address goes into `cidr`, the one of the other family beside it.
fn fill(object: &mut Object, kind: Kind, given: &[(IpAddr, usize)], families: Families, pools: &[Pool]) {
    let mut given: Vec<(IpAddr, &Pool)> = given.iter().map(|(ip, pool)| (*ip, &pools[*pool])).collect();
    if families == Families::Both(Family::V6) {
        given.reverse();
    }
    let own: Vec<&Pool> = given.iter().map(|(_, pool)| *pool).collect();
    let mut cidrs = given.iter().map(|(ip, pool)| format!("{ip}/{}", pool.prefix));
    let network = object.ensure_object(machine::place(kind));
    network.insert("cidr".to_owned(), cidrs.next().into());
    complete(network, &own);
    if let Some(second) = cidrs.next() {
        object.annotate(machine::SECOND, &second);
    }
}

/// Gateway and name servers, where a person has not set them.
fn complete(network: &mut Map<String, Value>, own: &[&Pool]) {
    let blank = |v: Option<&Value>| v.is_none_or(|v| v.is_null() || *v == json!("") || *v == json!([]));
    if let (true, Some(gateway)) = (blank(network.get("gateway")), own.first().and_then(|p| p.gateway)) {
        network.insert("gateway".to_owned(), gateway.to_string().into());
    }
    let servers = distinct(own.iter().flat_map(|p| &p.nameservers).map(ToString::to_string));
    let dns = network.get("dns").filter(|d| !d.is_null());
    let unset = dns.is_none_or(|d| d.is_object() && blank(d.get("servers")));
    if !servers.is_empty() && unset {
        let mut dns = dns.and_then(Value::as_object).cloned().unwrap_or_default();
        dns.insert("servers".to_owned(), servers.into());
        network.insert("dns".to_owned(), dns.into());
    }
}

/// The pool that an address of a machine is from.
fn home<'p>(object: &Object, cidr: Cidr, pools: &'p [Pool]) -> Option<&'p Pool> {
    let subject = machine::subject(object);
    pools.iter().find(|p| p.contains(cidr.address) && subject.fits(p))
}

/// Opens the gate of a machine that is being deleted: machine-controller waits for that, too.
pub(super) fn ungate(kind: Kind, owner: &Owner) -> Write {
    update(kind, owner, |object| {
        if !object.deleting() || paused(object).is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        gate::open(&mut edited);
        Edited::To(Box::new(edited))
    })
}

/// Takes our error off a machine that needs us no more.
pub(super) fn forgive(kind: Kind, owner: &Owner) -> Write {
    update(kind, owner, |object| {
        if object.deleting() || paused(object).is_some() || gate::closed(object) {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        fault::clear(&mut edited);
        Edited::To(Box::new(edited))
    })
}

/// Says on a machine that waits for room why it waits; what is said there stays until there is room.
pub(super) fn explain(claim: &Claim, line: &PendingLine) -> Option<Write> {
    let kind = kind_of(&claim.owner).filter(|_| claim.gate == Gate::Closed)?;
    let message = (line.reason == Reason::PoolExhausted).then(|| line.message.clone());
    Some(update(kind, &claim.owner, move |object| {
        if object.deleting() || paused(object).is_some() || !gate::closed(object) {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        match &message {
            Some(message) if Network::read(kind, object).cidrs.is_empty() => fault::set(&mut edited, message),
            _ => fault::clear(&mut edited),
        }
        Edited::To(Box::new(edited))
    }))
}

/// The nmstate document of a machine as it is; `None` where it has no address.
pub(super) fn nmstate_of(kind: Kind, object: &Object, pools: &[Pool]) -> Option<Value> {
    let network = Network::read(kind, object);
    let raw = machine::place(kind).iter().try_fold(&object.0, |at, key| at.get(key))?;
    let own: Vec<&Pool> = network.cidrs.iter().filter_map(|c| home(object, *c, pools)).collect();
    let addresses: Vec<(IpAddr, u8)> =
        network.cidrs.iter().map(|c| Some((c.address, c.prefix?))).collect::<Option<_>>()?;
    let parse = |v: &Value| v.as_str().and_then(|t| t.parse::<IpAddr>().ok());
    let written = raw.get("gateway").and_then(parse);
    let mut gateways: Vec<IpAddr> = Vec::new();
    for gateway in written.into_iter().chain(own.iter().filter_map(|p| p.gateway)) {
        let fits = addresses.iter().any(|(a, _)| a.is_ipv4() == gateway.is_ipv4());
        if fits && !gateways.iter().any(|g| g.is_ipv4() == gateway.is_ipv4()) {
            gateways.push(gateway);
        }
    }
    let servers = raw.pointer("/dns/servers").and_then(Value::as_array).into_iter().flatten();
    let interface = Interface {
        name: own
            .iter()
            .find_map(|p| p.interface(0))
            .unwrap_or(crate::model::DEFAULT_INTERFACES[0])
            .to_owned(),
        gateways,
        nameservers: distinct(servers.filter_map(parse)),
        search_domains: distinct(own.iter().flat_map(|p| &p.search_domains).cloned()),
        addresses,
    };
    (!interface.addresses.is_empty()).then(|| nmstate::document(&[interface]))
}
