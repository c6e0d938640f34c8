//! Cluster API's `IPAddressClaims`: a claim names a pool and gets an `IPAddress` of its own name from it. The
//! claims are made by others: OpenShift's Machine API, CAPV, CAPO and the like.

mod address;
mod claim;
mod condition;
mod index;
mod leave;
mod marks;
mod pool;
mod scale;
mod serving;
mod status;

use super::elf::{CLUSTER, IP_POOL as METAL3_POOL};
use super::{Scene, System};
use crate::config::Config;
use crate::model::{
    Chain, Claim, DEPLOYMENT, Departure, Given, Kind, Object, ObjectRef, Observed, PendingLine, Role, Source,
    Survey,
};
use index::Index;
use marks::Marks;
use serving::{IN_CLUSTER_PROVIDER, OPENSHIFT_PROVIDERS};

/// The system.
pub struct Capi;

/// As `--systems` and the configuration have it.
pub const NAME: &str = "capi";

/// Cluster API's claims.
pub const CLAIM: Kind = Kind::namespaced(
    "ipam.cluster.x-k8s.io",
    &["v1beta2", "v1beta1", "v1alpha1"],
    "IPAddressClaim",
    "ipaddressclaims",
);
/// Cluster API's records of addresses.
pub const ADDRESS: Kind = Kind { kind: "IPAddress", plural: "ipaddresses", ..CLAIM };
/// The in-cluster provider's pools.
pub const IN_CLUSTER: Kind =
    Kind { versions: &["v1alpha2"], kind: "InClusterIPPool", plural: "inclusterippools", ..CLAIM };
/// Its pools for all namespaces.
pub const GLOBAL: Kind =
    Kind { kind: "GlobalInClusterIPPool", plural: "globalinclusterippools", namespaced: false, ..IN_CLUSTER };
/// The pools of OpenShift's machine-ipam-controller.
pub const OPENSHIFT_POOL: Kind =
    Kind::namespaced("ipamcontroller.openshift.io", &["v1"], "IPPool", "ippools");
/// A pool of the configuration, as claims name it; there is no such object.
const CONFIG_POOL: Kind =
    Kind { group: "mipam.io", versions: &["v1"], kind: "Pool", plural: "pools", namespaced: false };

/// The kinds of pools that a claim can name.
const POOLS: [Kind; 5] = [IN_CLUSTER, GLOBAL, OPENSHIFT_POOL, METAL3_POOL, CONFIG_POOL];

/// The pools among them that no other system reads.
const OWN_POOLS: [Kind; 3] = [IN_CLUSTER, GLOBAL, OPENSHIFT_POOL];

/// Which Cluster an object is part of.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

const SOURCES: &[Source] = &[
    Source { kind: CLAIM, role: Role::Record },
    Source { kind: ADDRESS, role: Role::Record },
    Source { kind: IN_CLUSTER, role: Role::Record },
    Source { kind: GLOBAL, role: Role::Record },
    Source { kind: OPENSHIFT_POOL, role: Role::Record },
    Source { kind: METAL3_POOL, role: Role::Record },
    // After the claims, so that no claim is seen without the Cluster that pauses it.
    Source { kind: CLUSTER, role: Role::Owner },
    Source { kind: DEPLOYMENT, role: Role::Peer(IN_CLUSTER_PROVIDER) },
    Source { kind: DEPLOYMENT, role: Role::Peer(OPENSHIFT_PROVIDERS[0]) },
    Source { kind: DEPLOYMENT, role: Role::Peer(OPENSHIFT_PROVIDERS[1]) },
];

impl System for Capi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[CLAIM]
    }

    fn survey(&self, observed: &Observed, config: &Config) -> Survey {
        let mut survey = Survey::default();
        let mut own = OWN_POOLS.into_iter().chain([CLAIM, ADDRESS]);
        if own.all(|kind| !observed.any(kind)) {
            return survey;
        }
        let index = Index::new(observed, config);
        survey.warnings.extend(index.serving.warnings.iter().cloned());
        for kind in OWN_POOLS {
            for object in observed.all(kind) {
                pool::survey(kind, object, &index, &mut survey);
            }
        }
        for object in observed.all(ADDRESS) {
            address::survey(object, &index, &mut survey);
        }
        for object in observed.all(CLAIM) {
            claim::survey(object, &index, &mut survey);
        }
        survey
    }

    fn write(&self, claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
        address::give(claim, given, scene)
    }

    fn pending(&self, claim: &Claim, line: &PendingLine, scene: &Scene<'_>) -> Chain {
        claim::told(claim, line, scene.now)
    }

    fn closing(&self, scene: &Scene<'_>) -> Vec<Chain> {
        status::closing(scene)
    }

    fn departures(&self, observed: &Observed, config: &Config) -> Vec<Departure> {
        leave::departures(&Index::new(observed, config))
    }

    fn ask(&self, kind: Kind, object: &Object, scene: &Scene<'_>) -> Option<Result<Claim, String>> {
        (kind == CLAIM).then(|| claim::ask(object, scene))
    }

    fn template(&self, parent: (Kind, &Object)) -> Option<ObjectRef> {
        scale::template_of(parent)
    }

    fn templates(&self) -> &'static [Kind] {
        scale::TEMPLATES
    }

    fn scaled(
        &self,
        observed: &Observed,
        parent: (Kind, &Object),
        replicas: usize,
    ) -> Option<Vec<(Kind, Object)>> {
        scale::scaled(observed, parent, replicas)
    }
}
