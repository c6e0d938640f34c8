//! KubeVirt: persistent addresses of virtual machines. The CNI chooses them and keeps them for an IPAMClaim; this system
//! sees to the claims: each network of a machine whose addresses persist has one, as long as the machine lives.
//!
//! | file | what is in it |
//! |---|---|
//! | `nad` | which networks there are |
//! | `network` | which of them a machine names |
//! | `name` | what claims are called |
//! | `machine` | which network of a machine has which claim |
//! | `claim` | how a claim is made and mended |
//! | `clean` | when it may go |
//! | `survey` | what is to be done |
//! | `leave` | how claims are let go when mipam leaves |

pub mod claim;
mod clean;
mod leave;
pub mod machine;
pub mod nad;
pub mod name;
pub mod network;
mod survey;

use super::peer::deployed;
use super::{Scene, System};
use crate::config::Config;
use crate::model::{
    Chain, Claim, ClaimChange, DEPLOYMENT, Departure, Given, Kind, Object, Observed, Role, Sign, Source,
    Survey,
};

/// The system.
pub struct KubeVirt;

/// Its name.
pub const NAME: &str = "kubevirt";

/// Virtual machines.
pub const VM: Kind = Kind::namespaced("kubevirt.io", &["v1"], "VirtualMachine", "virtualmachines");

/// Virtual machines that run.
pub const VMI: Kind =
    Kind::namespaced("kubevirt.io", &["v1"], "VirtualMachineInstance", "virtualmachineinstances");

/// Networks.
pub const NAD: Kind = Kind::namespaced(
    "k8s.cni.cncf.io",
    &["v1"],
    "NetworkAttachmentDefinition",
    "network-attachment-definitions",
);

/// Claims to addresses that the CNI gives and keeps.
pub const CLAIM: Kind = Kind::namespaced("k8s.cni.cncf.io", &["v1alpha1"], "IPAMClaim", "ipamclaims");

/// What keeps a claim until nothing of its machine can use it.
pub const FINALIZER: &str = "kubevirt.io/persistent-ipam";

/// The label that names the machine of a claim.
pub const VM_LABEL: &str = "kubevirt.io/vm";

/// The annotation with its whole name, where the label has no room for it.
pub const VM_NAME: &str = "mipam.io/vm";

/// What the controller that this replaces is known by.
const PEER: Sign = Sign::Label("app", "ipam-virt-workloads");

const SOURCES: &[Source] = &[
    Source { kind: CLAIM, role: Role::Record },
    Source { kind: VM, role: Role::Owner },
    Source { kind: VMI, role: Role::Owner },
    Source { kind: NAD, role: Role::Owner },
    Source { kind: DEPLOYMENT, role: Role::Peer(PEER) },
];

impl System for KubeVirt {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[]
    }

    fn survey(&self, observed: &Observed, config: &Config) -> Survey {
        let mut survey = survey::survey(observed);
        if let Some(why) = peer(observed, config) {
            survey.warnings.extend(Some(why).filter(|_| !survey.chores.is_empty()));
            (survey.chores, survey.pending, survey.notices) = Default::default();
        }
        survey
    }

    fn write(&self, _: &Claim, _: &[Given], _: &Scene<'_>) -> Chain {
        Chain::new()
    }

    fn changed(&self, before: Option<&Object>, after: Option<&Object>) -> Option<ClaimChange> {
        claim::changed(before, after)
    }

    fn departures(&self, observed: &Observed, config: &Config) -> Vec<Departure> {
        if peer(observed, config).is_some() { Vec::new() } else { leave::departures(observed) }
    }
}

/// Why claims are left to another controller.
fn peer(observed: &Observed, config: &Config) -> Option<String> {
    if config.beside_peer.iter().any(|system| system == NAME) {
        return None;
    }
    if let Some(name) = deployed(observed, PEER) {
        return Some(format!(
            "{name} makes IPAMClaims for virtual machines, so mipam leaves them to it; scale it to 0 to hand them over, or set `beside-peer: [{NAME}]`"
        ));
    }
    (!observed.serves(DEPLOYMENT)).then(|| {
        format!(
            "whether another controller makes IPAMClaims for virtual machines cannot be seen (list deployments.apps), so they are left to it; to serve them all the same, set `beside-peer: [{NAME}]`"
        )
    })
}
