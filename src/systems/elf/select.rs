//! Which `IPPool` a device of a machine uses: the first of four steps that finds one.

use super::index::Index;
use super::{IP_POOL, TEMPLATE};
use crate::model::Object;
use serde_json::Value;

const NAME: &str = "cluster.x-k8s.io/ip-pool-name";
const NAMESPACE: &str = "cluster.x-k8s.io/ip-pool-namespace";
const GROUP: &str = "cluster.x-k8s.io/ip-pool-group";
const NETWORK: &str = "cluster.x-k8s.io/network-name";
const DEFAULT: &str = "cluster.x-k8s.io/ip-pool-default";
const IS_DEFAULT: &str = "ippool.cluster.x-k8s.io/is-default";
pub(super) const CLONED_FROM: &str = "cluster.x-k8s.io/cloned-from-name";

/// Where pools for all clusters live.
const COMMON: &str = "default";

/// Where the default pool lives.
const CAPE: &str = "cape-system";

/// The pool of a device, and the others that were as good.
pub(super) struct Selected<'a> {
    pub(super) pool: &'a Object,
    pub(super) others: Vec<String>,
}

/// The pool, or why there is none.
pub(super) fn pool_of<'a>(
    machine: &Object,
    device: &Value,
    index: &Index<'a>,
) -> Result<Selected<'a>, String> {
    let template = machine
        .annotation(CLONED_FROM)
        .and_then(|name| index.observed.find(&TEMPLATE.at(machine.namespace(), name)));
    choose(machine.namespace(), device, template, index)
}

/// The same for a machine that only has a template so far.
pub(super) fn choose<'a>(
    namespace: &str,
    device: &Value,
    template: Option<&Object>,
    index: &Index<'a>,
) -> Result<Selected<'a>, String> {
    if let Some(name) = asked(device) {
        let found = named(index, &[namespace, COMMON], name);
        return found.ok_or_else(|| format!("addressesFromPools names IPPool {name:?}, which is neither in namespace {namespace} nor in {COMMON}"));
    }
    let label = |key: &str| template.and_then(|t| t.label(key)).filter(|v| !v.is_empty());
    if let Some(name) = label(NAME) {
        let places = [label(NAMESPACE).unwrap_or(namespace), COMMON];
        let found = named(index, &places, name);
        return found.ok_or_else(|| {
            format!(
                "its template names IPPool {name:?}, which is neither in namespace {} nor in {COMMON}",
                places[0]
            )
        });
    }
    let labels: Vec<(&str, &str)> =
        [GROUP, NETWORK].into_iter().filter_map(|k| Some((k, label(k)?))).collect();
    if !labels.is_empty() {
        let bears = |p: &Object| labels.iter().all(|(k, v)| p.label(k) == Some(v));
        let found = first(index, &[namespace, COMMON], bears);
        return found.ok_or_else(|| {
            let wanted: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!(
                "no IPPool in namespace {namespace} or {COMMON} has the labels of its template ({})",
                wanted.join(", ")
            )
        });
    }
    let seed = first(index, &[CAPE], |p| p.label(DEFAULT).is_some());
    let later = || first(index, &[namespace, COMMON], |p| p.label(IS_DEFAULT) == Some("true"));
    seed.or_else(later).ok_or_else(|| {
        format!(
            "its template names no IPPool, and there is no default one (label {DEFAULT} in namespace {CAPE})"
        )
    })
}

/// The pool that a device names itself.
fn asked(device: &Value) -> Option<&str> {
    let reference = device.get("addressesFromPools")?.as_array()?.first()?;
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
    let metal3 = text("apiGroup") == IP_POOL.group || text("apiGroup").is_empty();
    let kind = text("kind").is_empty() || text("kind") == IP_POOL.kind;
    (metal3 && kind).then(|| text("name")).filter(|n| !n.is_empty())
}

fn named<'a>(index: &Index<'a>, namespaces: &[&str], name: &str) -> Option<Selected<'a>> {
    let pool = namespaces.iter().find_map(|n| index.observed.find(&IP_POOL.at(n, name)))?;
    Some(Selected { pool, others: Vec::new() })
}

/// The first namespace with pools that fit; in it the lowest name that has room, else the lowest.
fn first<'a>(index: &Index<'a>, namespaces: &[&str], fits: impl Fn(&Object) -> bool) -> Option<Selected<'a>> {
    let of = |namespace: &&str| -> Vec<&'a Object> {
        let all = index.observed.all(IP_POOL).iter();
        all.filter(|p| p.namespace() == *namespace && !p.deleting() && fits(p)).collect()
    };
    let hits = namespaces.iter().map(of).find(|hits| !hits.is_empty())?;
    let pool = hits.iter().find(|p| index.has_room(p)).or(hits.first()).copied()?;
    let others = hits.iter().filter(|p| p.name() != pool.name());
    Some(Selected { pool, others: others.map(|p| format!("{}/{}", p.namespace(), p.name())).collect() })
}
