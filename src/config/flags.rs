//! `--network CIDR,GATEWAY,DNS[,DNS...]`: pools for Kubermatic machines without a file, each to a draft.

use super::draft::{Draft, Words};
use super::findings::{Finding, Findings, Path, Placed};
use super::walk::{self, Field};
use crate::model::{Match, PoolOrigin};
use serde_json::Value;

const WORDS: Words = Words { prefix: "prefix length", gateway: "gateway" };
const SHAPE: &str = "write CIDR,GATEWAY,DNS[,DNS...], such as 192.168.1.128/25,192.168.1.1,192.168.1.1";

/// A pool for each, in order.
pub(super) fn read(found: &mut Findings, networks: &[String]) -> Vec<Draft> {
    networks.iter().filter_map(|text| draft(found, text)).collect()
}

fn draft(found: &mut Findings, text: &str) -> Option<Draft> {
    let at = Path::option(&format!("--network {text}"));
    let mut parts = text.split(',').map(|part| Value::from(part.trim()));
    let (Some(cidr), Some(gateway), Some(first)) = (parts.next(), parts.next(), parts.next()) else {
        let message = "a network needs its gateway and at least one name server";
        found.error(Finding::new(&at, message).hint(SHAPE));
        return None;
    };
    let errors_before = found.errors();
    let range = walk::span(found, &at, &cidr);
    let gateway = walk::address(found, &at, &gateway);
    let servers: Vec<_> =
        std::iter::once(first).chain(parts).filter_map(|s| walk::nameserver(found, &at, &s)).collect();
    let Placed { value: (span, length), .. } = range.as_ref()?;
    let Some(length) = length else {
        let message = format!("{span} is not a network with its prefix length");
        found.error(Finding::new(&at, message).hint(SHAPE));
        return None;
    };
    let mut draft = Draft::new(&at, WORDS, &format!("{}/{length}", span.first()));
    draft.origin = PoolOrigin::Flag;
    // A flag has no way to say whom it serves, and the pools of the file may be for others.
    draft.matches = Match { systems: vec!["kubermatic".to_owned()], ..Match::default() };
    draft.ranges.extend(range);
    draft.gateway = gateway.map_or(Field::Bad, Field::Is);
    draft.nameservers = servers;
    draft.broken = found.errors() > errors_before;
    Some(draft)
}
