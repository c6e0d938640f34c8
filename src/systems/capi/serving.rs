//! Which kinds of pools mipam serves: those that a person lists, else all that no other controller serves.

use super::{CONFIG_POOL, GLOBAL, IN_CLUSTER, METAL3_POOL, NAME, OPENSHIFT_POOL, POOLS};
use crate::config::Config;
use crate::model::{DEPLOYMENT, Kind, Observed, Sign};
use crate::systems::elf::peer::{self as metal3, Mode};
use crate::systems::peer::deployed;
use std::collections::BTreeSet;

/// What the in-cluster provider is known by.
pub(super) const IN_CLUSTER_PROVIDER: Sign = Sign::Label("cluster.x-k8s.io/provider", "ipam-in-cluster");

/// What OpenShift's machine-ipam-controller is known by: its manifests have it in the plural.
pub(super) const OPENSHIFT_PROVIDERS: [Sign; 2] =
    [Sign::Name("machine-ipam-controllers"), Sign::Name("machine-ipam-controller")];

/// The kinds that mipam serves.
pub(super) struct Serving {
    served: BTreeSet<Kind>,
    /// Why others are left alone although nobody has said so.
    pub(super) warnings: Vec<String>,
}

impl Serving {
    pub(super) fn of(observed: &Observed, config: &Config) -> Self {
        let mut serving = Self { served: BTreeSet::new(), warnings: Vec::new() };
        for kind in POOLS.into_iter().filter(|kind| listed(*kind, config)) {
            match mode(kind, observed, config) {
                Mode::Serve => drop(serving.served.insert(kind)),
                // Where there are no such pools, nobody misses anything.
                Mode::Defer(why) if observed.any(kind) => serving.warnings.extend(why),
                Mode::Defer(_) => {}
            }
        }
        serving
    }

    /// Does mipam serve pools of this kind?
    pub(super) fn serves(&self, kind: Kind) -> bool {
        self.served.contains(&kind)
    }
}

/// Is it among those that a person wants served?
fn listed(kind: Kind, config: &Config) -> bool {
    let Some(list) = &config.serve_pools else { return true };
    let full = format!("{}.{}", kind.kind, kind.group);
    list.iter().any(|word| *word == kind.kind || *word == full)
}

/// Who serves this kind. Who cannot see whether somebody does must not serve
/// beside it, unless a person has listed it.
fn mode(kind: Kind, observed: &Observed, config: &Config) -> Mode {
    let signs: &[Sign] = match kind {
        k if k == CONFIG_POOL => return Mode::Serve,
        k if k == METAL3_POOL => {
            return match metal3::mode(observed, config) {
                Mode::Serve => Mode::Serve,
                // The system that reads them says why.
                Mode::Defer(_) => Mode::Defer(None),
            };
        }
        k if k == IN_CLUSTER || k == GLOBAL => &[IN_CLUSTER_PROVIDER],
        k if k == OPENSHIFT_POOL => &OPENSHIFT_PROVIDERS,
        _ => &[],
    };
    if config.beside_peer.iter().any(|system| system == NAME) {
        return Mode::Serve;
    }
    let plural = kind.resource();
    if let Some(name) = signs.iter().find_map(|sign| deployed(observed, *sign)) {
        return Mode::Defer(Some(format!(
            "{name} serves {plural}, so mipam leaves them to it; scale it to 0 to hand them over, or set `beside-peer: [{NAME}]`"
        )));
    }
    if !observed.serves(DEPLOYMENT) && config.serve_pools.is_none() {
        return Mode::Defer(Some(format!(
            "whether another controller serves {plural} cannot be seen (list deployments.apps), so they are left to it; to serve them all the same, list their kind under `serve-pools`"
        )));
    }
    Mode::Serve
}
