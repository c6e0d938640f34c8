//! SmartX ElfMachines and metal3's pools: a device without an address gets an `IPClaim`, the claim an
//! `IPAddress`, and the device what the `IPAddress` says. Claims that others make are served as metal3 would.

mod address;
mod claim;
mod index;
mod leave;
mod machine;
mod opening;
pub(super) mod peer;
pub(super) mod pool;
mod select;
mod status;
mod withdraw;

use super::{Scene, System};
use crate::config::Config;
use crate::model::{
    Chain, Claim, DEPLOYMENT, Departure, Given, Kind, LEASE, Object, Observed, PendingLine, Role, Sign,
    Source, Survey,
};
pub(super) use claim::asked;
use index::Index;
use peer::Mode;

/// The system.
pub struct Elf;

/// Its name.
pub const NAME: &str = "elf";

/// SmartX's machines.
pub const ELF_MACHINE: Kind =
    Kind::namespaced("infrastructure.cluster.x-k8s.io", &["v1beta1"], "ElfMachine", "elfmachines");
const TEMPLATE: Kind = Kind { kind: "ElfMachineTemplate", plural: "elfmachinetemplates", ..ELF_MACHINE };
/// metal3's pools.
pub const IP_POOL: Kind = Kind::namespaced("ipam.metal3.io", &["v1alpha1"], "IPPool", "ippools");
/// metal3's claims.
pub const IP_CLAIM: Kind = Kind { kind: "IPClaim", plural: "ipclaims", ..IP_POOL };
/// metal3's records of addresses.
pub const IP_ADDRESS: Kind = Kind { kind: "IPAddress", plural: "ipaddresses", ..IP_POOL };
const CAPI_VERSIONS: &[&str] = &["v1beta2", "v1beta1"];
pub(super) const MACHINE: Kind = Kind::namespaced("cluster.x-k8s.io", CAPI_VERSIONS, "Machine", "machines");
pub(super) const CLUSTER: Kind = Kind::namespaced("cluster.x-k8s.io", CAPI_VERSIONS, "Cluster", "clusters");
pub(super) const MACHINE_DEPLOYMENT: Kind =
    Kind { kind: "MachineDeployment", plural: "machinedeployments", ..MACHINE };

/// What metal3's controller is known by.
const CONTROLLER: Sign = Sign::Label("cluster.x-k8s.io/provider", "ipam-metal3");
/// What SmartX's own controller for static addresses is known by.
const SMARTX: Sign = Sign::Label("cluster.x-k8s.io/provider", "infrastructure-cape-static-ip");
const ITS_LEASE: Sign = Sign::Name("controller-leader-election-ipam-capm3");

const SOURCES: &[Source] = &[
    Source { kind: IP_POOL, role: Role::Record },
    Source { kind: IP_CLAIM, role: Role::Record },
    Source { kind: IP_ADDRESS, role: Role::Record },
    Source { kind: ELF_MACHINE, role: Role::Owner },
    Source { kind: TEMPLATE, role: Role::Owner },
    Source { kind: MACHINE, role: Role::Owner },
    Source { kind: CLUSTER, role: Role::Owner },
    Source { kind: DEPLOYMENT, role: Role::Peer(CONTROLLER) },
    Source { kind: DEPLOYMENT, role: Role::Peer(SMARTX) },
    Source { kind: LEASE, role: Role::Peer(ITS_LEASE) },
];

impl System for Elf {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[IP_CLAIM, ELF_MACHINE]
    }

    fn survey(&self, observed: &Observed, config: &Config) -> Survey {
        let mut survey = Survey::default();
        let own = [IP_POOL, IP_CLAIM, IP_ADDRESS, ELF_MACHINE];
        if own.iter().all(|kind| !observed.any(*kind)) {
            return survey;
        }
        let mode = peer::mode(observed, config);
        if let Mode::Defer(Some(why)) = &mode {
            survey.warnings.push(why.clone());
        }
        let index = Index::new(observed, mode == Mode::Serve, peer::of_machines(observed, config));
        survey.warnings.extend(index.left_to.clone().filter(|_| observed.any(ELF_MACHINE)));
        for object in observed.all(IP_POOL) {
            pool::survey(object, &index, &mut survey);
        }
        for object in observed.all(IP_ADDRESS) {
            address::survey(object, &index, &mut survey);
        }
        for object in observed.all(IP_CLAIM) {
            claim::survey(object, &index, &mut survey);
        }
        for object in observed.all(ELF_MACHINE) {
            machine::survey(object, &index, &mut survey);
        }
        survey
    }

    fn write(&self, claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
        address::give(claim, given, scene)
    }

    fn pending(&self, claim: &Claim, line: &PendingLine, _: &Scene<'_>) -> Chain {
        vec![claim::failed(&claim.owner, &line.message)]
    }

    fn closing(&self, scene: &Scene<'_>) -> Vec<Chain> {
        if peer::mode(scene.observed, scene.config) != Mode::Serve {
            return Vec::new();
        }
        status::closing(scene)
    }

    fn departures(&self, observed: &Observed, config: &Config) -> Vec<Departure> {
        let serves = peer::mode(observed, config) == Mode::Serve;
        leave::departures(&Index::new(observed, serves, peer::of_machines(observed, config)))
    }

    fn ask(&self, kind: Kind, object: &Object, scene: &Scene<'_>) -> Option<Result<Claim, String>> {
        let index = || Index::new(scene.observed, true, peer::of_machines(scene.observed, scene.config));
        match kind {
            k if k == IP_CLAIM => Some(claim::ask(object, &index())),
            k if k == ELF_MACHINE => Some(machine::ask(object, &index())),
            _ => None,
        }
    }

    fn by_claims(&self, kind: Kind) -> bool {
        kind == ELF_MACHINE
    }

    fn parents(&self) -> &'static [Kind] {
        &[TEMPLATE, MACHINE_DEPLOYMENT]
    }

    fn scaled(
        &self,
        observed: &Observed,
        parent: (Kind, &Object),
        replicas: usize,
    ) -> Option<Vec<(Kind, Object)>> {
        let (kind, object) = parent;
        if kind == TEMPLATE {
            let cloned = |m: &Object| m.annotation(select::CLONED_FROM) == Some(object.name());
            return Some(machine::scaled(observed, object, cloned, replicas));
        }
        let infrastructure = "/spec/template/spec/infrastructureRef";
        let of_elf = object.text(&format!("{infrastructure}/kind")) == Some(TEMPLATE.kind);
        let name = object
            .text(&format!("{infrastructure}/name"))
            .filter(|_| kind == MACHINE_DEPLOYMENT && of_elf)?;
        let template = observed.find(&TEMPLATE.at(object.namespace(), name))?;
        let deployed = |m: &Object| m.label("cluster.x-k8s.io/deployment-name") == Some(object.name());
        Some(machine::scaled(observed, template, deployed, replicas))
    }
}
