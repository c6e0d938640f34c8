//! Objects that show addresses in use although mipam does not serve them: Nodes, other IPAMs' records, other
//! machines. A table of where each kind keeps them; one unreadable address is a problem of that object alone.

use super::elf::{CLUSTER as CAPI_CLUSTER, MACHINE as CAPI_MACHINE};
use super::kubevirt::{CLAIM as IPAM_CLAIM, VMI};
use super::{Scene, System};
use crate::addr::parse_address;
use crate::config::Config;
use crate::model::{
    Adopt, Chain, Claim, Given, Holding, Kind, NODE, Object, Observed, Problem, Role, Source, Survey,
};
use serde_json::Value;
use std::sync::Arc;

/// Addresses that others use.
pub(super) struct Seen;

const INFRASTRUCTURE: Kind = Kind {
    group: "config.openshift.io",
    versions: &["v1"],
    kind: "Infrastructure",
    plural: "infrastructures",
    namespaced: false,
};

const SOURCES: &[Source] = &[
    Source { kind: IPAM_CLAIM, role: Role::Record },
    Source { kind: CAPI_CLUSTER, role: Role::Owner },
    Source { kind: INFRASTRUCTURE, role: Role::Owner },
    Source { kind: NODE, role: Role::Owner },
    Source { kind: CAPI_MACHINE, role: Role::Owner },
    Source { kind: VMI, role: Role::Owner },
];

/// Where a kind keeps addresses: a path whose `*` steps over every element of a list or map.
const PLACES: &[(Kind, &[&[&str]])] = &[
    (IPAM_CLAIM, &[&["status", "ips", "*"]]),
    // Addresses of API servers and ingress belong to nobody else, and may be host names.
    (CAPI_CLUSTER, &[&["spec", "controlPlaneEndpoint", "host"]]),
    (
        INFRASTRUCTURE,
        &[
            &["status", "platformStatus", "*", "apiServerInternalIP"],
            &["status", "platformStatus", "*", "apiServerInternalIPs", "*"],
            &["status", "platformStatus", "*", "ingressIP"],
            &["status", "platformStatus", "*", "ingressIPs", "*"],
        ],
    ),
    (NODE, &[&["status", "addresses", "*", "address"]]),
    (CAPI_MACHINE, &[&["status", "addresses", "*", "address"]]),
    (VMI, &[&["status", "interfaces", "*", "ipAddress"], &["status", "interfaces", "*", "ipAddresses", "*"]]),
];

impl System for Seen {
    fn name(&self) -> &'static str {
        "seen"
    }

    fn serves(&self) -> bool {
        false
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[]
    }

    fn survey(&self, observed: &Observed, _: &Config) -> Survey {
        let mut survey = Survey::default();
        for (kind, places) in PLACES {
            for object in observed.all(*kind) {
                let stands_for = match *kind {
                    NODE => annotated_machine(object),
                    // The claims for its addresses are those of what it runs on.
                    CAPI_MACHINE => object.text("/spec/infrastructureRef/name").map(str::to_owned),
                    _ => None,
                };
                for place in *places {
                    let mut values = Vec::new();
                    collect(&object.0, place, &mut values);
                    // A status lists host names beside addresses; a spec has no reason to.
                    let names_allowed = place.first() == Some(&"status") || place.last() == Some(&"host");
                    for text in values {
                        note((*kind, object), stands_for.as_deref(), text, names_allowed, &mut survey);
                    }
                }
            }
        }
        survey
    }

    fn write(&self, _: &Claim, _: &[Given], _: &Scene<'_>) -> Chain {
        Chain::new()
    }
}

fn note(
    (kind, object): (Kind, &Object),
    stands_for: Option<&str>,
    text: &str,
    names_allowed: bool,
    survey: &mut Survey,
) {
    let seen_on = Arc::new(kind.at(object.namespace(), object.name()));
    match parse_address(text.split('/').next().unwrap_or_default()) {
        Ok(address) => survey.holdings.push(Holding {
            address,
            stands_for: stands_for.map(Into::into),
            seen_on,
            holder: None,
            pools: None,
            adopt: if kind == CAPI_CLUSTER || kind == INFRASTRUCTURE { Adopt::Never } else { Adopt::No },
        }),
        Err(_) if names_allowed => {}
        Err(error) => survey.problems.push(Problem::new(
            "Unreadable",
            &*seen_on,
            format!("{error}; mipam cannot tell which address it uses, so mend it by hand"),
        )),
    }
}

/// The machine that a Node says it is.
fn annotated_machine(node: &Object) -> Option<String> {
    let mut annotated = ["machine.openshift.io/machine", "cluster.k8s.io/machine"].into_iter();
    annotated.find_map(|key| node.annotation(key)?.split('/').next_back()).map(str::to_owned)
}

/// The Nodes that a machine says it is, with its name.
pub(super) fn nodes_of(machine: &Object) -> Vec<(Arc<str>, Arc<str>)> {
    let nodes = ["/spec/metadata/name", "/status/nodeRef/name"].into_iter();
    nodes.filter_map(|at| machine.text(at)).map(|node| (node.into(), machine.name().into())).collect()
}

fn collect<'a>(value: &'a Value, path: &[&str], found: &mut Vec<&'a str>) {
    match path.split_first() {
        None => found.extend(value.as_str().filter(|t| !t.is_empty())),
        Some((&"*", rest)) => {
            value.as_array().into_iter().flatten().for_each(|item| collect(item, rest, found));
            value.as_object().into_iter().flatten().for_each(|(_, item)| collect(item, rest, found));
        }
        Some((key, rest)) => {
            if let Some(inner) = value.get(key) {
                collect(inner, rest, found);
            }
        }
    }
}
