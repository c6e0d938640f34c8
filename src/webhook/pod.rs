//! What a launcher pod has to say so that the CNI keeps its addresses: a reference to a claim for each of its networks
//! whose addresses persist. Pure.

use super::review::{Denial, Review};
use crate::addr::{Family, parse_address, parse_span};
use crate::model::Object;
use crate::systems::kubevirt::CLAIM;
use crate::systems::kubevirt::machine::{Machine, Place, Want, assign};
use crate::systems::kubevirt::nad::{Nads, Net};
use crate::systems::kubevirt::name;
use crate::systems::kubevirt::network::{At, Entry, of_vmi};
use crate::yaml::parse_json;
use serde_json::{Map, Value, json};

/// Networks beside that of the pods.
const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
/// What takes the place of the pods' network.
const DEFAULT_NETWORK: &str = "v1.multus-cni.io/default-network";
/// The claim of the pods' network.
const PRIMARY_CLAIM: &str = "k8s.ovn.org/primary-udn-ipamclaim";
/// The addresses that a machine asks for, by network.
const ADDRESSES: &str = "network.kubevirt.io/addresses";
const REFERENCE: &str = "ipam-claim-reference";

/// A launcher pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Launcher {
    /// Its namespace.
    pub namespace: String,
    /// The name of what it runs.
    pub vmi: String,
    /// The networks that it is attached to, as its annotation has them.
    elements: Vec<Map<String, Value>>,
    create: bool,
    has_default: bool,
    has_primary: bool,
}

impl Launcher {
    /// The definitions of its networks, by namespace and name.
    pub fn nads(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.elements.iter().map(|element| self.nad(element))
    }

    fn nad(&self, element: &Map<String, Value>) -> (String, String) {
        let text = |key: &str| element.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
        let namespace = text("namespace").unwrap_or(&self.namespace);
        (namespace.to_owned(), text("name").unwrap_or_default().to_owned())
    }
}

/// The launcher pod that a review is about; `None` where it is another one, which is let through as it is.
pub fn launcher(review: &Review) -> Result<Option<Launcher>, Denial> {
    let pod = Object(review.pod.clone());
    let label = pod.label("kubevirt.io") == Some("virt-launcher");
    let Some(vmi) = pod.annotation("kubevirt.io/domain").filter(|_| label) else { return Ok(None) };
    let elements = match pod.annotation(NETWORKS) {
        Some(text) if !text.trim().is_empty() => elements(text)
            .map_err(|why| Denial::bad(format!("annotation {NETWORKS} cannot be read: {why}")))?,
        _ => Vec::new(),
    };
    Ok(Some(Launcher {
        namespace: review.namespace.clone(),
        vmi: vmi.to_owned(),
        elements,
        create: review.create,
        has_default: pod.annotation(DEFAULT_NETWORK).is_some(),
        has_primary: pod.annotation(PRIMARY_CLAIM).is_some(),
    }))
}

/// Has a pod that is there the networks that it had? Whoever changes something else about it, a label or a finalizer,
/// is not to be refused because of them.
pub fn keeps_networks(review: &Review) -> bool {
    let says = |pod: &Value| {
        let annotations = pod.pointer("/metadata/annotations").cloned().unwrap_or_default();
        [NETWORKS, DEFAULT_NETWORK, PRIMARY_CLAIM].map(|key| annotations.get(key).cloned())
    };
    !review.create && review.before.is_object() && says(&review.pod) == says(&review.before)
}

/// The networks of an annotation: a JSON list, or `namespace/name@interface` with commas between.
fn elements(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    if text.trim_start().starts_with('[') {
        let Value::Array(list) = parse_json(text).map_err(|error| error.to_string())? else {
            return Err("it is no list".to_owned());
        };
        return list.into_iter().map(element).collect();
    }
    text.split(',').map(str::trim).map(short).collect()
}

fn element(value: Value) -> Result<Map<String, Value>, String> {
    let Value::Object(map) = value else { return Err(format!("{value} is no object")) };
    for key in ["name", "namespace", "interface", REFERENCE] {
        if map.get(key).is_some_and(|v| !v.is_string()) {
            return Err(format!("{key} of {} is no text", Value::Object(map)));
        }
    }
    match map.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => Ok(map),
        _ => Err(format!("{} has no name", Value::Object(map))),
    }
}

fn short(text: &str) -> Result<Map<String, Value>, String> {
    let wrong = || format!("{text:?} is no namespace/name@interface");
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
    };
    let (place, interface) = text.split_once('@').map_or((text, None), |(place, i)| (place, Some(i)));
    let (namespace, name) = place.split_once('/').map_or((None, place), |(ns, name)| (Some(ns), name));
    if [Some(name), namespace, interface].into_iter().flatten().any(|part| !is_name(part)) {
        return Err(wrong());
    }
    let parts = [("name", Some(name)), ("namespace", namespace), ("interface", interface)];
    Ok(parts.into_iter().filter_map(|(key, part)| Some((key.to_owned(), json!(part?)))).collect())
}

/// What decides about a launcher pod.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// What it runs, and the VirtualMachine of that.
    pub machine: Machine<'a>,
    /// The definitions of networks: those of its namespace, and all that it names.
    pub nads: &'a Nads,
    /// The claim of that name in its namespace.
    pub claim: &'a dyn Fn(&str) -> Option<&'a Object>,
    /// The namespace of the definition that stands for the pods' own network.
    pub default_namespace: &'a str,
}

/// The networks of a machine in a pod.
#[derive(Debug, Default)]
pub struct Wants {
    /// Those whose addresses persist, and how they are found in the pod.
    pub persist: Vec<(Entry, Want)>,
    /// Those of which that cannot be told, and what is said where it is so.
    pub doubtful: Vec<(Entry, Denial)>,
}

/// The networks of a machine whose addresses persist.
pub fn wants(launcher: &Launcher, machine: &Machine<'_>, nads: &Nads) -> Result<Wants, Denial> {
    let entries = machine.vmi.map(of_vmi).unwrap_or_default();
    let mut wants = Wants::default();
    for entry in entries.into_iter().filter(|e| !e.leaves) {
        // A network of the machine that the pod does not have is none of the pod's business.
        let attached = match &entry.at {
            At::Pod => true,
            At::Nad { namespace, name } => launcher.nads().any(|(ns, n)| ns == *namespace && n == *name),
        };
        if !attached {
            continue;
        }
        match nads.find(&launcher.namespace, &entry) {
            Ok(net) => {
                if let Some(net) = net.filter(|net| net.persistent) {
                    let want = Want { entry: entry.name.clone(), network: net.name.clone(), make: true };
                    wants.persist.push((entry, want));
                }
            }
            Err(trouble) => {
                let (name, about, why) = (&entry.name, &trouble.about, &trouble.message);
                let denial = Denial::forbidden(format!("network {name}: {about}: {why}"));
                if !trouble.doubtful {
                    return Err(denial);
                }
                wants.doubtful.push((entry, denial));
            }
        }
    }
    Ok(wants)
}

/// The annotations that a launcher pod gets.
pub fn decide(launcher: &Launcher, facts: &Facts<'_>) -> Result<Vec<(String, String)>, Denial> {
    // Also those that the machine does not name any more: whatever is attached has to be known.
    for (namespace, name) in launcher.nads() {
        let at = Entry { name: name.clone(), at: At::Nad { namespace, name }, leaves: false };
        let told = facts.nads.find(&launcher.namespace, &at);
        told.map_err(|t| Denial::forbidden(format!("{}: {}", t.about, t.message)))?;
    }
    let Wants { persist: wants, doubtful } = wants(launcher, &facts.machine, facts.nads)?;
    // A definition that cannot be read must not keep machines from starting that never had to do with it. Who has a
    // claim had.
    let vm = facts.machine.owner().map_or("", |(_, o)| o.name());
    let had =
        |entry: &Entry| (facts.claim)(&name::plain(vm, &entry.name)).is_some_and(|c| facts.machine.owns(c));
    if let Some((_, denial)) = doubtful.into_iter().find(|(entry, _)| had(entry)) {
        return Err(denial);
    }
    let only: Vec<Want> = wants.iter().map(|(_, want)| want.clone()).collect();
    let places = assign(&facts.machine, &only, facts.claim, |_| false);
    let mut claims = Vec::new();
    for ((entry, want), place) in wants.iter().zip(places) {
        claims.push((entry, claim(&facts.machine, want, place)?));
    }
    let mut annotations = Vec::new();
    let referred = refer(launcher, &claims);
    if let Some(elements) = referred {
        annotations.push((NETWORKS.to_owned(), Value::Array(elements).to_string()));
    }
    if let Some((entry, claim)) = claims.iter().find(|(entry, _)| entry.at == At::Pod) {
        if launcher.create && launcher.has_default {
            return Err(Denial::forbidden(format!(
                "annotation {DEFAULT_NETWORK} is there already, and the network of this namespace needs it: take it out"
            )));
        }
        if launcher.create || !launcher.has_primary {
            annotations.push((PRIMARY_CLAIM.to_owned(), claim.clone()));
        }
        let net = facts.nads.find(&launcher.namespace, entry).ok().flatten();
        if let (true, Some(net)) = (launcher.create, net) {
            annotations.extend(
                default_network(entry, claim, net, facts)?.map(|value| (DEFAULT_NETWORK.to_owned(), value)),
            );
        }
    }
    Ok(annotations)
}

/// The name of the claim of a network. One that is not there yet has to be the one that will be made: where two machines
/// could have one name, only the next pass decides which of them gets it.
fn claim(machine: &Machine<'_>, want: &Want, place: Place<'_>) -> Result<String, Denial> {
    let vm = machine.owner().map_or("", |(_, o)| o.name());
    let yet = |what: &str| {
        Denial::forbidden(format!(
            "network {}: {what}; it is tried again when `mipam reconcile` has run",
            want.entry
        ))
    };
    match place {
        Place::Has(claim) if claim.deleting() => {
            Err(yet(&format!("IPAMClaim {} is being deleted", claim.name())))
        }
        Place::Has(claim) => Ok(claim.name().to_owned()),
        Place::Gets { name, plain: None, taken: None } if name::is_certain(vm, &want.entry) => Ok(name),
        Place::Gets { name, plain, taken } => Err(yet(&match plain.or(taken) {
            Some(by) => format!("{} is of somebody else", CLAIM.at(by.namespace(), by.name())),
            None => format!("IPAMClaim {name} does not exist yet"),
        })),
    }
}

/// The networks of the pod with their claims; `None` where nothing changes.
fn refer(launcher: &Launcher, claims: &[(&Entry, String)]) -> Option<Vec<Value>> {
    let mut left: Vec<&(&Entry, String)> = claims.iter().collect();
    let mut changed = false;
    let mut elements = Vec::new();
    for element in &launcher.elements {
        let mut element = element.clone();
        let (namespace, name) = launcher.nad(&element);
        // Where the machine has several networks of one definition, the pod has them in the same order.
        let place = left.iter().position(|(entry, _)| {
            matches!(&entry.at, At::Nad { namespace: ns, name: n } if *ns == namespace && *n == name)
        });
        if let Some((_, claim)) = place.map(|at| left.remove(at)) {
            let has = element.get(REFERENCE).and_then(Value::as_str).filter(|has| !has.is_empty());
            // A pod that runs has what it has.
            if has.is_none() || launcher.create && has != Some(claim) {
                element.insert(REFERENCE.to_owned(), json!(claim));
                element.entry("namespace").or_insert_with(|| json!(namespace));
                changed = true;
            }
        }
        elements.push(Value::Object(element));
    }
    changed.then_some(elements)
}

/// What takes the place of the pods' network where the machine asks for a MAC address or for addresses.
fn default_network(
    entry: &Entry,
    claim: &str,
    net: &Net,
    facts: &Facts<'_>,
) -> Result<Option<String>, Denial> {
    let Some(vmi) = facts.machine.vmi else { return Ok(None) };
    let interfaces = vmi.array("/spec/domain/devices/interfaces").iter();
    let interface =
        interfaces.into_iter().find(|i| i.get("name").and_then(Value::as_str) == Some(&entry.name));
    let mac = interface.and_then(|i| i.get("macAddress")).and_then(Value::as_str).filter(|m| !m.is_empty());
    let addresses = asked(vmi, entry, net)?;
    if mac.is_none() && addresses.is_empty() {
        return Ok(None);
    }
    let mut element = json!({ "name": "default", "namespace": facts.default_namespace });
    if !addresses.is_empty() {
        element["ips"] = json!(addresses);
    }
    if let Some(mac) = mac {
        element["mac"] = json!(mac);
    }
    element[REFERENCE] = json!(claim);
    Ok(Some(json!([element]).to_string()))
}

/// The addresses that a machine asks for on a network, with the prefixes of its subnets.
fn asked(vmi: &Object, entry: &Entry, net: &Net) -> Result<Vec<String>, Denial> {
    let Some(text) = vmi.annotation(ADDRESSES) else { return Ok(Vec::new()) };
    let bad = |why: String| {
        Denial::bad(format!("annotation {ADDRESSES} of VirtualMachineInstance {}: {why}", vmi.name()))
    };
    let all = parse_json(text).map_err(|error| bad(error.to_string()))?;
    let Value::Object(all) = all else { return Err(bad("it is no JSON object".to_owned())) };
    let list = match all.get(&entry.name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(bad(format!("{} has {other}, which is no list", entry.name))),
    };
    let subnets = || net.subnets.iter().filter_map(|text| parse_span(text).ok().zip(prefix(text)));
    let shown = |value: &Value| {
        let text = value.as_str().ok_or_else(|| bad(format!("{value} is no address")))?;
        let address = parse_address(text).map_err(|error| bad(error.to_string()))?;
        let subnet = subnets().find(|(span, _)| span.contains(address));
        let (_, prefix) = subnet.ok_or_else(|| {
            let family = if Family::of(address) == Family::V4 { "IPv4" } else { "IPv6" };
            bad(format!(
                "{text} is in no {family} subnet of network {} ({})",
                net.name,
                net.subnets.join(", ")
            ))
        })?;
        Ok(format!("{text}/{prefix}"))
    };
    list.iter().map(shown).collect()
}

fn prefix(subnet: &str) -> Option<&str> {
    subnet.split_once('/').map(|(_, prefix)| prefix)
}
