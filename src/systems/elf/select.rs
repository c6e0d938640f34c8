//! Which `IPPools` a device of a machine can use: those of the first of four steps that finds any.

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

/// The pools that a device can use, the best first, or why there is none.
pub(super) fn pools_of<'a>(
    machine: &Object,
    device: &Value,
    index: &Index<'a>,
) -> Result<Vec<&'a Object>, String> {
    let namespace = machine.namespace();
    if let Some(name) = asked(device) {
        return named(index, &[namespace, COMMON], name)
            .map_err(|why| format!("addressesFromPools names {why}"));
    }
    let template = machine.annotation(CLONED_FROM).map(|name| TEMPLATE.at(namespace, name));
    // What a template that is gone said is not known: the default pool may be another network's.
    let template =
        template.map(|t| index.observed.find(&t).ok_or_else(|| format!("{t} does not exist"))).transpose();
    let template = template.map_err(|why| format!("{why}, so which IPPool it meant cannot be told"))?;
    let label = |key: &str| template.and_then(|t| t.label(key)).filter(|v| !v.is_empty());
    if let Some(name) = label(NAME) {
        let places = [label(NAMESPACE).unwrap_or(namespace), COMMON];
        return named(index, &places, name).map_err(|why| format!("its template names {why}"));
    }
    let labels: Vec<(&str, &str)> =
        [GROUP, NETWORK].into_iter().filter_map(|k| Some((k, label(k)?))).collect();
    if !labels.is_empty() {
        let bears = |p: &Object| labels.iter().all(|(k, v)| p.label(k) == Some(v));
        return labelled(index, &[namespace, COMMON], bears).ok_or_else(|| {
            let wanted: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!(
                "no IPPool in namespace {namespace} or {COMMON} has the labels of its template ({})",
                wanted.join(", ")
            )
        });
    }
    let seed = labelled(index, &[CAPE], |p| p.label(DEFAULT).is_some());
    let later = || labelled(index, &[namespace, COMMON], |p| p.label(IS_DEFAULT) == Some("true"));
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

/// The pool of that name in the first of these namespaces that has one.
fn named<'a>(index: &Index<'a>, namespaces: &[&str], name: &str) -> Result<Vec<&'a Object>, String> {
    let found: Vec<_> = namespaces.iter().filter_map(|n| index.observed.find(&IP_POOL.at(n, name))).collect();
    match (found.iter().find(|p| !p.deleting()), found.first()) {
        (Some(pool), _) => Ok(vec![pool]),
        (None, Some(pool)) => Err(format!("{}, which is being deleted", title(pool))),
        (None, None) => {
            Err(format!("IPPool {name:?}, which is neither in namespace {} nor in {COMMON}", namespaces[0]))
        }
    }
}

/// The pools that fit, in the first of these namespaces that has any.
fn labelled<'a>(
    index: &Index<'a>,
    namespaces: &[&str],
    fits: impl Fn(&Object) -> bool,
) -> Option<Vec<&'a Object>> {
    let of = |namespace: &&str| -> Vec<&'a Object> {
        let all = index.observed.all(IP_POOL);
        all.filter(|p| p.namespace() == *namespace && !p.deleting() && fits(p)).collect()
    };
    namespaces.iter().map(of).find(|hits| !hits.is_empty())
}

/// As people call a pool.
pub(super) fn title(pool: &Object) -> String {
    format!("IPPool {}/{}", pool.namespace(), pool.name())
}
