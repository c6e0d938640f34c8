//! Who serves metal3's pools: mipam, or a metal3 controller that is visible in the cluster.

use super::{DEPLOYMENT, LEASE};
use crate::config::{Config, Metal3};
use crate::model::{Object, Observed, parse_timestamp};
use serde_json::Value;

/// Who serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// mipam does.
    Serve,
    /// A metal3 controller does, for this reason where nobody has configured it.
    Defer(Option<String>),
}

/// What the config says; without a word there, whether a metal3 controller is at work. Who cannot see whether
/// one is must not serve beside it.
pub(super) fn mode(observed: &Observed, config: &Config) -> Mode {
    match config.metal3 {
        Metal3::Serve => return Mode::Serve,
        Metal3::Defer => return Mode::Defer(None),
        Metal3::Auto => {}
    }
    let say = "to serve metal3's pools all the same, set `metal3: serve`";
    if !observed.serves(DEPLOYMENT) {
        return Mode::Defer(Some(format!(
            "whether a metal3 controller runs cannot be seen (list deployments.apps), so its pools are left to it; {say}"
        )));
    }
    let running = |d: &&Object| d.at("/spec/replicas").and_then(Value::as_u64).unwrap_or(1) > 0;
    if let Some(peer) = observed.all(DEPLOYMENT).iter().find(running) {
        let name = DEPLOYMENT.at(peer.namespace(), peer.name());
        return Mode::Defer(Some(format!("{name} serves metal3's pools, so mipam waits for it; {say}")));
    }
    if let Some(lease) = observed.all(LEASE).iter().find(|l| fresh(l, observed)) {
        let name = LEASE.at(lease.namespace(), lease.name());
        return Mode::Defer(Some(format!(
            "{name} is held by a metal3 controller, so mipam waits for it; {say}"
        )));
    }
    Mode::Serve
}

fn fresh(lease: &Object, observed: &Observed) -> bool {
    let held = lease.text("/spec/holderIdentity").is_some_and(|h| !h.is_empty());
    let renewed = lease.text("/spec/renewTime").and_then(parse_timestamp);
    let lasts = lease.at("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(60);
    held && renewed.is_some_and(|r| r.saturating_add(lasts.max(60)) > observed.now())
}
