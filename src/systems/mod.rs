//! One file per machine API: objects to claims, allocations to writes. Pure: nothing here reads, writes or
//! knows the time. A new system is a new file and a line in [`ALL`].

pub mod capi;
pub mod elf;
pub mod kubermatic;
pub mod kubevirt;
pub mod nmstate;
pub mod nodes;
pub mod openshift;
mod peer;
mod scale;
mod seen;

pub(crate) use peer::runs;

use crate::config::Config;
use crate::model::{
    Chain, Claim, ClaimChange, Departure, Given, Kind, Notice, Object, ObjectRef, Observed, PendingLine,
    Pool, Problem, Seconds, Source, Survey,
};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// What a system sees when it writes.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The objects, as far as this pass knows.
    pub observed: &'a Observed,
    /// Every pool, in order.
    pub pools: &'a Arc<[Pool]>,
    /// What a person configured.
    pub config: &'a Config,
    /// The time.
    pub now: Seconds,
}

/// One machine API.
pub trait System: Sync {
    /// Its name, as `--systems` and the reports have it.
    fn name(&self) -> &'static str;

    /// Does it give addresses, or only see them?
    fn serves(&self) -> bool {
        true
    }

    /// What it reads.
    fn sources(&self) -> &'static [Source];

    /// The kinds that it gives addresses to.
    fn owners(&self) -> &'static [Kind];

    /// What the objects say: who wants addresses, which are in use, what else is to be done.
    fn survey(&self, observed: &Observed, config: &Config) -> Survey;

    /// What one object says of a kind that [`crate::model::Role::Alone`] is the role of.
    fn survey_one(&self, _kind: Kind, _object: &Object, _config: &Config) -> Survey {
        Survey::default()
    }

    /// What is written once before owners get what is decided for them.
    fn beforehand(&self, _given: &[&Given], _scene: &Scene<'_>) -> Vec<Chain> {
        Vec::new()
    }

    /// The writes that give an owner its addresses.
    fn write(&self, claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain;

    /// What an owner that waits is told on its own object. Called in every pass in which the claim waits: the
    /// writes must have nothing to do the second time.
    fn pending(&self, _claim: &Claim, _line: &PendingLine, _scene: &Scene<'_>) -> Chain {
        Chain::new()
    }

    /// What is said on the object of an owner that waits.
    fn notice(&self, _claim: &Claim, _line: &PendingLine) -> Option<Notice> {
        None
    }

    /// What a write has done with a claim whose addresses somebody else chooses; `None` where it is about another
    /// object.
    fn changed(&self, _before: Option<&Object>, _after: Option<&Object>) -> Option<ClaimChange> {
        None
    }

    /// What is written once at the end of a pass, when all else is.
    fn closing(&self, _scene: &Scene<'_>) -> Vec<Chain> {
        Vec::new()
    }

    /// What would wait for mipam if mipam were gone: hooks, gates and finalizers, to be taken off.
    fn departures(&self, _observed: &Observed, _config: &Config) -> Vec<Departure> {
        Vec::new()
    }

    /// The network configuration that an object of this kind carries; `None` where it has none.
    fn nmstate(&self, _kind: Kind, _object: &Object, _pools: &[Pool]) -> Option<Value> {
        None
    }

    /// The claim of an object that a person names, whether it waits for mipam or not; an error says why it
    /// cannot have one.
    fn ask(&self, _kind: Kind, _object: &Object, _scene: &Scene<'_>) -> Option<Result<Claim, String>> {
        None
    }

    /// Do objects of this kind get their addresses by way of claims that a pass makes for their devices? Then what
    /// [`System::ask`] says are those, as one.
    fn by_claims(&self, _kind: Kind) -> bool {
        false
    }

    /// The objects that would appear if `parent` (a MachineSet, say) were scaled to that many replicas;
    /// `None` where this system does not know such a parent.
    fn scaled(
        &self,
        _observed: &Observed,
        _parent: (Kind, &Object),
        _replicas: usize,
    ) -> Option<Vec<(Kind, Object)>> {
        None
    }

    /// What [`System::scaled`] has to know besides, and no pass reads.
    fn template(&self, _parent: (Kind, &Object)) -> Option<ObjectRef> {
        None
    }

    /// The kinds of [`System::template`].
    fn templates(&self) -> &'static [Kind] {
        &[]
    }

    /// The kinds whose replicas [`System::scaled`] understands.
    fn parents(&self) -> &'static [Kind] {
        &[]
    }
}

/// Every system, in the order in which they are served.
pub const ALL: &[&dyn System] = &[
    &openshift::OpenShift,
    &kubermatic::Kubermatic,
    &elf::Elf,
    &capi::Capi,
    &nodes::Nodes,
    &kubevirt::KubeVirt,
    &seen::Seen,
];

/// All that is read, each kind once.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let mut sources: Vec<Source> = ALL.iter().flat_map(|s| s.sources()).copied().collect();
        sources.sort();
        sources.dedup();
        sources
    });
    &SOURCES
}

/// The kinds in which there may be addresses.
pub fn whole() -> impl Iterator<Item = Kind> {
    sources().iter().filter(|s| s.is_whole()).map(|s| s.kind)
}

/// Every kind that an observation or a command may name.
pub fn kinds() -> Vec<Kind> {
    static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
        let mut kinds: Vec<Kind> = sources().iter().map(|s| s.kind).collect();
        kinds.extend(ALL.iter().flat_map(|s| s.parents().iter().chain(s.templates())));
        kinds.sort();
        kinds.dedup();
        kinds
    });
    KINDS.clone()
}

/// The kinds that addresses are given to.
pub fn owners() -> Vec<Kind> {
    ALL.iter().flat_map(|s| s.owners()).copied().collect()
}

/// The kind of an owner in the ledger, if this mipam knows it.
pub fn kind_of(group: &str, kind: &str) -> Option<Kind> {
    let sources = ALL.iter().flat_map(|s| s.sources()).map(|s| s.kind);
    let mut kinds = sources.chain(ALL.iter().flat_map(|s| s.parents()).copied());
    kinds.find(|k| k.group == group && k.kind == kind)
}

/// A record whose claim is not there.
fn orphaned(record: &ObjectRef, claim: &ObjectRef) -> Problem {
    let message =
        format!("{claim} does not exist, so nobody gives it back: delete it, and its address is free");
    Problem::new("Orphaned", record, message)
}

/// Why an object must be left alone, whatever its kind.
fn paused(object: &Object) -> Option<String> {
    const PAUSED: &str = "cluster.x-k8s.io/paused";
    object.annotation(PAUSED).map(|_| format!("it carries annotation {PAUSED}"))
}

/// Why the objects of a Cluster must be left alone; one that is not there pauses nothing.
fn cluster_paused(observed: &Observed, namespace: &str, cluster: &str) -> Option<String> {
    let target = elf::CLUSTER.at(namespace, cluster);
    let found = observed.find(&target)?;
    let says = found.at("/spec/paused").and_then(Value::as_bool) == Some(true);
    (says || paused(found).is_some()).then(|| format!("{target} is paused"))
}
