//! The nmstate document of a machine: a pure function of its interfaces.

use crate::addr::Family;
use serde_json::{Value, json};
use std::net::IpAddr;

/// One network interface as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `ens192`
    pub name: String,
    /// Addresses with their prefix lengths, in order.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Gateways, at most one per family.
    pub gateways: Vec<IpAddr>,
    /// DNS servers, in order.
    pub nameservers: Vec<IpAddr>,
    /// DNS search domains.
    pub search_domains: Vec<String>,
}

/// The document for these interfaces; only the first one gets default routes.
pub fn document(interfaces: &[Interface]) -> Value {
    let links: Vec<Value> = interfaces.iter().map(link).collect();
    let mut document = json!({ "interfaces": links });
    let servers = distinct(interfaces.iter().flat_map(|i| &i.nameservers).map(ToString::to_string));
    let search = distinct(interfaces.iter().flat_map(|i| &i.search_domains).cloned());
    if !servers.is_empty() || !search.is_empty() {
        let mut config = serde_json::Map::new();
        if !servers.is_empty() {
            config.insert("server".to_owned(), json!(servers));
        }
        if !search.is_empty() {
            config.insert("search".to_owned(), json!(search));
        }
        document["dns-resolver"] = json!({ "config": config });
    }
    let routes: Vec<Value> = interfaces
        .first()
        .into_iter()
        .flat_map(|first| {
            first.gateways.iter().map(|gateway| {
                json!({
                    "destination": if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" },
                    "next-hop-address": gateway.to_string(),
                    "next-hop-interface": first.name,
                })
            })
        })
        .collect();
    if !routes.is_empty() {
        document["routes"] = json!({ "config": routes });
    }
    document
}

fn link(interface: &Interface) -> Value {
    let mut link = json!({ "name": interface.name, "type": "ethernet", "state": "up" });
    for family in Family::BOTH {
        let of_family = interface.addresses.iter().filter(|(a, _)| Family::of(*a) == family);
        let addresses: Vec<Value> =
            of_family.map(|(ip, prefix)| json!({ "ip": ip.to_string(), "prefix-length": prefix })).collect();
        if addresses.is_empty() {
            continue;
        }
        match family {
            Family::V4 => link["ipv4"] = json!({ "enabled": true, "dhcp": false, "address": addresses }),
            // Router advertisements would add addresses that nobody has recorded.
            Family::V6 => {
                link["ipv6"] =
                    json!({ "enabled": true, "dhcp": false, "autoconf": false, "address": addresses });
            }
        }
    }
    link
}

/// Each item once, in the order in which it first comes.
pub(super) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut list: Vec<T> = Vec::new();
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
    list
}
