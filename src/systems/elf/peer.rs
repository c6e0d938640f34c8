//! Who serves metal3's pools: mipam, or a metal3 controller that is visible in the cluster.

use super::{CONTROLLER, ITS_LEASE};
use crate::config::{Config, Metal3};
use crate::model::Observed;
use crate::systems::peer::{DEPLOYMENT, deployed, leased};

/// Who serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::systems) enum Mode {
    /// mipam does.
    Serve,
    /// A metal3 controller does, for this reason where nobody has configured it.
    Defer(Option<String>),
}

/// What the config says; without a word there, whether a metal3 controller is at work. Who cannot see whether
/// one is must not serve beside it.
pub(in crate::systems) fn mode(observed: &Observed, config: &Config) -> Mode {
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
    if let Some(name) = deployed(observed, CONTROLLER) {
        return Mode::Defer(Some(format!("{name} serves metal3's pools, so mipam waits for it; {say}")));
    }
    if let Some(name) = leased(observed, ITS_LEASE) {
        return Mode::Defer(Some(format!(
            "{name} is held by a metal3 controller, so mipam waits for it; {say}"
        )));
    }
    Mode::Serve
}
