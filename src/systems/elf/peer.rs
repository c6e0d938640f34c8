//! Who serves metal3's pools and the machines: mipam, or a controller that is visible in the cluster.

use super::{CONTROLLER, ITS_LEASE, NAME, SMARTX};
use crate::config::{Config, Metal3};
use crate::model::{DEPLOYMENT, Observed};
use crate::systems::peer::{deployed, leased};

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

/// Why machines are left alone: SmartX's own controller serves them, and would make a second claim for each device.
pub(super) fn of_machines(observed: &Observed, config: &Config) -> Option<String> {
    let name =
        deployed(observed, SMARTX).filter(|_| !config.beside_peer.iter().any(|system| system == NAME))?;
    Some(format!(
        "{name} serves ElfMachines, so mipam leaves them to it; scale it to 0 to hand them over, or set `beside-peer: [{NAME}]`"
    ))
}
