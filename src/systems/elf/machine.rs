//! ElfMachines: who waits for an address, and how one comes and goes. The finalizer comes before any claim, so
//! that no claim is left behind.

use super::claim;
use super::index::Index;
use super::select::CLONED_FROM;
use super::withdraw::{is_withdrawn, unless_withdrawn};
use super::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, MACHINE, NAME, opening};
use crate::addr::parse_address;
use crate::model::{
    Action, Adopt, Chain, Chore, Claim, Edit, Edited, Gate, Holder, Holding, Kind, Object, Observed, Owner,
    PendingLine, Pool, Problem, Reason, Survey, When, Wish, Write,
};
use crate::systems::{cluster_paused, paused};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Ours: as long as it is there, the machine has claims to be taken away.
pub(super) const FINALIZER: &str = "elfmachinestaticip.infrastructure.cluster.x-k8s.io";

/// CAPE's: as long as it is there, the virtual machine may run.
const CAPE: &str = "elfmachine.infrastructure.cluster.x-k8s.io";

pub(super) const DEVICES: &str = "/spec/network/devices";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

pub(super) fn survey(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let owner = Owner::of(NAME, ELF_MACHINE, object);
    let claims = index.claims_for(object);
    holdings(object, index, survey);
    if object.deleting() {
        let ours = object.held_by(FINALIZER) && index.left_to.is_none();
        if ours && !object.held_by(CAPE) && pause(object, index).is_none() {
            let writes = leave(object, index);
            survey.chores.push(Chore { owner, writes, when: When::Before });
        }
        return;
    }
    let waiting: Vec<usize> = (0..object.array(DEVICES).len()).filter(|d| wants(object, *d)).collect();
    if waiting.is_empty() {
        return;
    }
    let wait = |device: Option<usize>, reason, message: String| {
        let device = device.map(|d| d.to_string()).unwrap_or_default();
        PendingLine::of(&owner, &device, "", reason, message)
    };
    if let Some((reason, why)) = not_yet(object, index) {
        survey.pending.push(wait(None, reason, why));
        return;
    }
    for device in waiting {
        let stays = |c: &Object| !c.deleting() && !is_withdrawn(object, c.uid());
        if let Some((_, claim)) = claims.iter().find(|(d, c)| *d == device && stays(c)) {
            match index.addresses_of(claim).first() {
                Some(address) => match from_record(object, device, claim, address) {
                    Ok(write) => {
                        let writes = vec![hold(object), claim::still_there(claim), write];
                        survey.chores.push(Chore { owner: owner.clone(), writes, when: When::After });
                    }
                    Err(why) => survey.pending.push(wait(Some(device), Reason::AddressUnavailable, why)),
                },
                None if !index.serves => {
                    let why = match claim.text("/status/errorMessage") {
                        Some(error) => format!("metal3 cannot serve IPClaim/{}: {error}", claim.name()),
                        None => format!("IPClaim/{} waits for metal3", claim.name()),
                    };
                    survey.pending.push(wait(Some(device), Reason::Unreconciled, why));
                }
                // The claim itself is served, or says why not, unless it can be made where there is room.
                None => survey.openings.extend(opening::elsewhere(object, device, claim, index)),
            }
            continue;
        }
        if let Some((_, claim)) = claims.iter().find(|(d, _)| *d == device) {
            survey.pending.push(wait(Some(device), Reason::Unreconciled, going(claim)));
            continue;
        }
        match opening::fresh(object, device, index) {
            Ok(opening) => survey.openings.push(opening),
            Err(why) => survey.pending.push(wait(Some(device), Reason::NoMatchingPool, why)),
        }
    }
}

/// Does this device wait for an address?
pub(super) fn wants(object: &Object, device: usize) -> bool {
    let device = &object.array(DEVICES)[device];
    device.get("networkType").and_then(Value::as_str) == Some("IPV4") && is_empty(device.get("ipAddrs"))
}

/// Has nobody put anything there? What is no list was put there by somebody, too.
fn is_empty(addresses: Option<&Value>) -> bool {
    addresses.is_none_or(|a| a.is_null() || a.as_array().is_some_and(Vec::is_empty))
}

fn owner_machine(object: &Object) -> Option<&str> {
    let mut owners = object.array("/metadata/ownerReferences").iter().filter(|o| o["kind"] == MACHINE.kind);
    owners.find_map(|o| o["name"].as_str())
}

/// Why a machine must be left alone, also where it is being deleted.
pub(super) fn pause(object: &Object, index: &Index<'_>) -> Option<String> {
    let machine =
        owner_machine(object).and_then(|name| index.observed.find(&MACHINE.at(object.namespace(), name)));
    let cluster = object.label(CLUSTER_NAME).or_else(|| machine.and_then(|m| m.text("/spec/clusterName")));
    paused(object).or_else(|| cluster_paused(index.observed, object.namespace(), cluster.unwrap_or_default()))
}

/// Why a machine is not served yet.
pub(super) fn not_yet(object: &Object, index: &Index<'_>) -> Option<(Reason, String)> {
    if let Some(why) = pause(object, index) {
        return Some((Reason::Paused, why));
    }
    if index.left_to.is_some() {
        return Some((Reason::Unreconciled, "another controller serves it".to_owned()));
    }
    if owner_machine(object).is_none() {
        return Some((Reason::Unreconciled, "it has no owner Machine yet".to_owned()));
    }
    for key in ["failureReason", "failureMessage"] {
        if let Some(text) = object.text(&format!("/status/{key}")).filter(|t| !t.is_empty()) {
            return Some((
                Reason::Unreconciled,
                format!("it has failed ({key}: {text}), so it gets no address"),
            ));
        }
    }
    if !object.held_by(CAPE) {
        return Some((
            Reason::Unreconciled,
            "CAPE has not taken it up yet (its finalizer is missing)".to_owned(),
        ));
    }
    None
}

/// What the devices of a machine would claim that a person names.
pub(super) fn ask(object: &Object, index: &Index<'_>) -> Result<Claim, String> {
    if object.deleting() {
        return Err("it is being deleted".to_owned());
    }
    if let Some((_, why)) = not_yet(object, index) {
        return Err(why);
    }
    let devices = object.array(DEVICES);
    if !devices.iter().any(|d| d.get("networkType").and_then(Value::as_str) == Some("IPV4")) {
        return Err("it has no network device of networkType IPV4".to_owned());
    }
    let (mut wishes, mut problem) = (Vec::new(), None);
    for at in (0..devices.len()).filter(|at| wants(object, *at)) {
        let pools = match index.claims_for(object).iter().find(|(d, _)| *d == at) {
            Some((_, claim)) if claim.deleting() => Err(going(claim)),
            Some((_, claim)) => {
                let pool = index.pool_of(claim).ok_or("the IPPool of its claim does not exist");
                pool.map(|pool| index.parsed(pool).choice_for_device()).map_err(str::to_owned)
            }
            None => opening::fresh(object, at, index).map(|opening| opening.pools()),
        };
        match pools {
            Ok(pools) => wishes.push(Wish { device: at.to_string().into(), pools, asks: None, one: true }),
            Err(why) => drop(problem.get_or_insert(why)),
        }
    }
    if let (Some(why), true) = (problem, wishes.is_empty()) {
        return Err(why);
    }
    let owner = Owner::of(NAME, ELF_MACHINE, object);
    Ok(Claim { owner, wishes, presets: Vec::new(), gate: Gate::Asked, stands_for: None })
}

/// Why a device waits whose claim goes.
fn going(claim: &Object) -> String {
    format!("IPClaim/{} is being deleted; a new one is made when it is gone", claim.name())
}

/// Our finalizer on the machine.
pub(super) fn hold(object: &Object) -> Write {
    Write {
        target: ELF_MACHINE.at(object.namespace(), object.name()),
        uid: object.uid().to_owned(),
        action: Action::Update(Edit::hold(FINALIZER, |object| paused(object).is_some())),
    }
}

/// Takes all claims of a machine away, then our finalizer. They are found by whom they name: the pool and the
/// template may be gone.
fn leave(object: &Object, index: &Index<'_>) -> Chain {
    let claims = index.claims_for(object).iter().map(|(_, claim)| *claim);
    let mut chain = Chain::new();
    for claim in claims.clone() {
        chain.push(claim::delete(claim));
        if index.serves && claim::only_ours(claim) {
            chain.extend(claim::go(claim, &index.addresses_of(claim)));
        }
    }
    // A metal3 controller and whoever else holds a claim take their time: the finalizer stays until all are gone.
    if claims.clone().all(|c| index.serves && claim::only_ours(c)) {
        let target = ELF_MACHINE.at(object.namespace(), object.name());
        chain.push(Write { target, uid: object.uid().to_owned(), action: Action::Free(FINALIZER) });
    }
    chain
}

/// What a device gets.
struct Setting {
    address: String,
    netmask: String,
    gateway: Option<String>,
    nameservers: Vec<String>,
}

/// The edit of this very machine.
pub(super) fn update(object: &Object, edit: impl Fn(&Object) -> Edited + Send + Sync + 'static) -> Write {
    Write {
        target: ELF_MACHINE.at(object.namespace(), object.name()),
        uid: object.uid().to_owned(),
        action: Action::Update(Edit::new(edit)),
    }
}

/// The device of a machine, from what was just given to its claim.
pub(super) fn fill(object: &Object, device: usize, claim: &Object, address: String, pool: &Pool) -> Write {
    set(
        object,
        device,
        claim,
        Setting {
            address,
            netmask: netmask(pool.prefix),
            gateway: pool.gateway.map(|g| g.to_string()),
            nameservers: pool.nameservers.iter().map(ToString::to_string).collect(),
        },
    )
}

/// The device of a machine, from the record that a pass before this one or a metal3 controller made.
fn from_record(object: &Object, device: usize, claim: &Object, record: &Object) -> Result<Write, String> {
    let text = |key: &str| record.text(key).map(str::to_owned);
    let address = text("/spec/address").unwrap_or_default();
    let prefix = record.at("/spec/prefix").and_then(Value::as_u64).and_then(|p| u8::try_from(p).ok());
    match (address.parse::<Ipv4Addr>(), prefix.filter(|p| *p <= 32)) {
        (Ok(_), Some(prefix)) => Ok(set(
            object,
            device,
            claim,
            Setting {
                address,
                netmask: netmask(prefix),
                gateway: text("/spec/gateway"),
                nameservers: strings(record.array("/spec/dnsServers")),
            },
        )),
        _ => Err(format!(
            "{} is no IPv4 address with a prefix, which networkType IPV4 needs",
            IP_ADDRESS.at(record.namespace(), record.name())
        )),
    }
}

fn strings(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn netmask(prefix: u8) -> String {
    Ipv4Addr::from_bits(u32::MAX.checked_shl(u32::from(32 - prefix.min(32))).unwrap_or(0)).to_string()
}

fn set(decided_on: &Object, index: usize, claim: &Object, setting: Setting) -> Write {
    let may = unless_withdrawn(decided_on, claim);
    update(decided_on, move |object| {
        if object.deleting() || paused(object).is_some() || !object.held_by(FINALIZER) {
            return Edited::Moot;
        }
        if !may(object) {
            return Edited::Moot;
        }
        let Some(device) = object.array(DEVICES).get(index) else { return Edited::Moot };
        let carried = strings(device.get("ipAddrs").and_then(Value::as_array).map_or(&[], Vec::as_slice));
        if carried.contains(&setting.address) {
            return Edited::Already;
        }
        if !wants(object, index) {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        let Some(device) = edited.0.pointer_mut(&format!("{DEVICES}/{index}")).and_then(Value::as_object_mut)
        else {
            return Edited::Moot;
        };
        device.insert("ipAddrs".to_owned(), json!([setting.address]));
        device.insert("netmask".to_owned(), json!(setting.netmask));
        let blank = |v: Option<&Value>| v.and_then(Value::as_array).is_none_or(Vec::is_empty);
        if let (Some(gateway), true) = (&setting.gateway, blank(device.get("routes"))) {
            device.insert("routes".to_owned(), json!([{ "gateway": gateway }]));
        }
        if !setting.nameservers.is_empty() && blank(device.get("nameservers")) {
            device.insert("nameservers".to_owned(), json!(setting.nameservers));
        }
        Edited::To(Box::new(edited))
    })
}

/// Addresses on the machine itself: those that a record shows are known already.
fn holdings(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let seen_on = Arc::new(ELF_MACHINE.at(object.namespace(), object.name()));
    let claims = index.claims_for(object);
    let recorded: Vec<&str> = claims
        .iter()
        .flat_map(|(_, claim)| index.addresses_of(claim))
        .filter_map(|a| a.text("/spec/address"))
        .collect();
    let mut note = |text: &str, holder: Option<Holder>, names_allowed: bool| match parse_address(text) {
        Ok(address) => survey.holdings.push(Holding {
            address,
            seen_on: seen_on.clone(),
            holder,
            stands_for: Some(object.name().into()),
            pools: None,
            adopt: Adopt::No,
        }),
        Err(_) if names_allowed => {}
        Err(error) => {
            let message = format!("{error}; mipam cannot tell which address it uses, so mend it by hand");
            survey.problems.push(Problem::new("Unreadable", &*seen_on, message));
        }
    };
    for (at, device) in object.array(DEVICES).iter().enumerate() {
        let claim = claims.iter().find(|(d, _)| *d == at && index.serves).map(|(_, c)| *c);
        let holder = claim.map(|c| Holder { owner: Owner::of(NAME, IP_CLAIM, c), device: "".into() });
        let one = device.get("ipAddrs").filter(|a| !a.is_null() && !a.is_array());
        let listed = device.get("ipAddrs").and_then(Value::as_array).into_iter().flatten();
        for value in listed.chain(one) {
            // A prefix belongs into the netmask, but the address is in use all the same.
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let ip = text.split('/').next().unwrap_or_default();
            if !recorded.contains(&ip) {
                note(ip, holder.clone(), false);
            }
        }
    }
    let reported = object.array("/status/addresses").iter().filter_map(|a| a.get("address")?.as_str());
    for ip in reported.filter(|ip| !recorded.contains(ip)) {
        note(ip, None, true);
    }
}

/// The machines that a template would make.
pub(super) fn scaled(
    observed: &Observed,
    template: &Object,
    is_there: impl Fn(&Object) -> bool,
    replicas: usize,
) -> Vec<(Kind, Object)> {
    let there = observed.all(ELF_MACHINE);
    let there = there.filter(|m| m.namespace() == template.namespace() && !m.deleting() && is_there(m));
    let new = |number: usize| {
        let name = format!("{}-new-{number}", template.name());
        let object = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": ELF_MACHINE.kind,
            "metadata": {
                "name": name, "namespace": template.namespace(), "uid": format!("new-{number}"),
                "annotations": { (CLONED_FROM): template.name() }, "finalizers": [CAPE],
                "ownerReferences": [{ "kind": MACHINE.kind, "name": name }],
            },
            "spec": template.at("/spec/template/spec"),
        });
        (ELF_MACHINE, Object(object))
    };
    (there.count()..replicas).map(new).collect()
}
