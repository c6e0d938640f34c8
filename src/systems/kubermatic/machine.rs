//! Reads a Machine: where its group keeps the network, which addresses it has, which families it wants.

use super::{MACHINE, NAME};
use crate::addr::{Family, legible_address, parse_address};
use crate::config::Config;
use crate::model::{Adopt, Holder, Holding, Kind, Object, Owner, PoolChoice, Subject};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;

/// `network.cidr` has room for one address: of a machine with two families, the second one is here.
pub(super) const SECOND: &str = "mipam.io/second-cidr";

/// Where a kind keeps its network.
pub(super) fn place(kind: Kind) -> &'static [&'static str] {
    if kind == MACHINE {
        &["spec", "providerSpec", "value", "network"]
    } else {
        &["spec", "providerConfig", "network"]
    }
}

/// The network of a machine, as far as it concerns us.
#[derive(Clone, Debug)]
pub(super) struct Network {
    /// `cidr`, and the one that is kept beside it.
    pub(super) cidrs: Vec<Cidr>,
    pub(super) families: Families,
    /// Why it cannot be used.
    pub(super) problems: Vec<String>,
}

/// An address of a machine with its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) address: IpAddr,
    pub(super) prefix: Option<u8>,
}

/// What `ipFamily` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Families {
    /// Nothing is said: IPv4, as machine-controller takes it, or IPv6 where no pool has IPv4.
    Unsaid,
    One(Family),
    /// Both; the one that goes into `cidr` first.
    Both(Family),
}

impl Network {
    pub(super) fn read(kind: Kind, object: &Object) -> Self {
        let mut network = Self { cidrs: Vec::new(), families: Families::Unsaid, problems: Vec::new() };
        let path = place(kind);
        let mut raw = Some(&object.0);
        for (depth, key) in path.iter().enumerate() {
            raw = raw.and_then(|at| at.get(key)).filter(|inner| !inner.is_null());
            // What is in the way would be lost if a network were put there.
            if raw.is_some_and(|inner| !inner.is_object()) {
                let place = path[..=depth].join(".");
                network.problems.push(format!("{place} is no map of settings"));
                return network;
            }
        }
        let place = path.join(".");
        match text(raw.and_then(|n| n.get("cidr"))) {
            Ok("") => {}
            Ok(cidr) => network.add(cidr, &format!("{place}.cidr")),
            Err(value) => network.problems.push(format!("{place}.cidr is {value} and not text")),
        }
        if let Some(second) = object.annotation(SECOND).filter(|_| !network.cidrs.is_empty()) {
            network.add(second, SECOND);
        }
        network.families = match text(raw.and_then(|n| n.get("ipFamily"))) {
            Ok("") => Families::Unsaid,
            Ok("IPv4") => Families::One(Family::V4),
            Ok("IPv6") => Families::One(Family::V6),
            Ok("IPv4+IPv6") => Families::Both(Family::V4),
            Ok("IPv6+IPv4") => Families::Both(Family::V6),
            other => {
                let value = other.map_or_else(ToString::to_string, str::to_owned);
                let known = "IPv4, IPv6, IPv4+IPv6 or IPv6+IPv4";
                network.problems.push(format!("{place}.ipFamily is {value} and not one of {known}"));
                Families::Unsaid
            }
        };
        network
    }

    fn add(&mut self, text: &str, place: &str) {
        let (ip, length) = text.split_once('/').map_or((text, None), |(ip, length)| (ip, Some(length)));
        let address = match parse_address(ip) {
            Ok(address) => address,
            Err(why) => {
                self.problems.push(format!("{place}: {why}"));
                self.cidrs.extend(legible_address(ip).map(|address| Cidr { address, prefix: None }));
                return;
            }
        };
        let digits = length.filter(|l| l.bytes().all(|b| b.is_ascii_digit()));
        let prefix = digits.and_then(|l| l.parse().ok()).filter(|p| *p <= Family::of(address).bits());
        if prefix.is_none() {
            self.problems.push(format!("{place}: {text:?} has no valid prefix length"));
        }
        // Whatever is wrong with the length, the address is in use.
        self.cidrs.push(Cidr { address, prefix });
    }
}

/// Text that may be missing; empty text is no text.
fn text(value: Option<&Value>) -> Result<&str, &Value> {
    match value {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.trim()),
        Some(other) => Err(other),
    }
}

/// What pools compare their `match` with.
pub(super) fn subject(object: &Object) -> Subject {
    let labels = object.at("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
    Subject {
        system: NAME,
        namespace: object.namespace().to_owned(),
        network: None,
        labels: labels.collect(),
        family: None,
    }
}

/// The same for an address that is wanted: of the families that the machine asks for.
pub(super) fn wanted(object: &Object, families: Families, config: &Config) -> Subject {
    let subject = subject(object);
    let offers = |family| config.pools.iter().any(|p| p.family == family && subject.fits(p));
    let family = match families {
        Families::Unsaid if offers(Family::V4) || !offers(Family::V6) => Some(Family::V4),
        Families::Unsaid => Some(Family::V6),
        Families::One(family) => Some(family),
        Families::Both(_) => None,
    };
    Subject { family, ..subject }
}

/// Every address that the machine has.
pub(super) fn holdings(
    kind: Kind,
    object: &Object,
    owner: &Arc<Owner>,
    network: &Network,
    adopt: Adopt,
) -> Vec<Holding> {
    let holder = Holder { owner: owner.clone(), device: "".into() };
    let holding = |address, pools, adopt| Holding {
        address,
        seen_on: Arc::new(kind.at(object.namespace(), object.name())),
        holder: Some(holder.clone()),
        stands_for: None,
        pools,
        adopt,
    };
    let pools = PoolChoice::Matching(Arc::new(subject(object)));
    let own = network.cidrs.iter().map(|c| holding(c.address, Some(pools.clone()), adopt));
    // Host names stand beside addresses in a status.
    let reported = object.array("/status/addresses").iter().filter_map(|a| a.get("address")?.as_str());
    let reported = reported.filter_map(|a| parse_address(a).ok());
    own.chain(reported.map(|address| holding(address, None, Adopt::No))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(network: &Value) -> Network {
        Network::read(
            MACHINE,
            &Object(json!({ "spec": { "providerSpec": { "value": { "network": network } } } })),
        )
    }

    #[test]
    fn empty_fields_are_absent_ones() {
        for absent in [json!(null), json!({}), json!({ "cidr": "" }), json!({ "cidr": null, "ipFamily": "" })]
        {
            let network = read(&absent);
            assert!(network.cidrs.is_empty() && network.problems.is_empty(), "{absent}");
        }
        assert!(Network::read(MACHINE, &Object(json!({}))).problems.is_empty());
    }

    #[test]
    fn an_address_without_a_good_prefix_is_a_problem_and_in_use() {
        for bad in ["10.0.0.5", "10.0.0.5/", "10.0.0.5/33", "10.0.0.5/+8", "10.0.0.5/8/9"] {
            let network = read(&json!({ "cidr": bad }));
            assert_eq!((network.cidrs.len(), network.problems.len()), (1, 1), "{bad}");
        }
        for bad in
            [json!("10.0.0.256/24"), json!("worker"), json!("10.0.0.05/24"), json!(7), json!(["10.0.0.5/24"])]
        {
            let network = read(&json!({ "cidr": bad }));
            assert_eq!((network.cidrs.len(), network.problems.len()), (0, 1), "{bad}");
        }
        assert_eq!(read(&json!("10.0.0.5/24")).problems.len(), 1);
        assert_eq!(read(&json!({ "ipFamily": "ipv4" })).problems.len(), 1);
        for spec in [json!("x"), json!({ "providerSpec": [] }), json!({ "providerSpec": { "value": "{}" } })]
        {
            let machine = Object(json!({ "spec": spec }));
            assert_eq!(Network::read(MACHINE, &machine).problems.len(), 1, "{spec}");
        }
    }
}
