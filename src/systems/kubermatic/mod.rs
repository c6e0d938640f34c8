//! Kubermatic Machines, of `cluster.k8s.io` and of the older `machine.k8s.io`: an annotation holds a machine back
//! until it has its network. A machine without that annotation is left alone; the address it has is recorded.

mod fault;
mod gate;
mod leave;
mod machine;
#[cfg(test)]
mod tests;
mod write;

use super::seen::nodes_of;
use super::{Scene, System, paused, scale};
use crate::config::Config;
use crate::model::{
    Adopt, Chain, Chore, Claim, Departure, Gate, Given, Kind, Object, Observed, Owner, PendingLine, Pool,
    PoolChoice, Preset, Problem, Reason, Role, Source, Survey, When, Wish,
};
use machine::Network;
use serde_json::Value;
use std::sync::Arc;

/// The system.
pub struct Kubermatic;

/// `cluster.k8s.io` Machines.
pub const MACHINE: Kind = Kind {
    group: "cluster.k8s.io",
    versions: &["v1alpha1"],
    kind: "Machine",
    plural: "machines",
    namespaced: true,
};

/// `machine.k8s.io` Machines, as the first versions of machine-controller had them.
pub const OLD_MACHINE: Kind = Kind { group: "machine.k8s.io", ..MACHINE };

const MACHINE_SET: Kind = Kind { kind: "MachineSet", plural: "machinesets", ..MACHINE };
const MACHINE_DEPLOYMENT: Kind = Kind { kind: "MachineDeployment", plural: "machinedeployments", ..MACHINE };

const KINDS: [Kind; 2] = [MACHINE, OLD_MACHINE];

const SOURCES: &[Source] =
    &[Source { kind: MACHINE, role: Role::Alone }, Source { kind: OLD_MACHINE, role: Role::Alone }];

/// Its name.
pub const NAME: &str = "kubermatic";

impl System for Kubermatic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &KINDS
    }

    fn survey(&self, _: &Observed, _: &Config) -> Survey {
        Survey::default()
    }

    fn survey_one(&self, kind: Kind, object: &Object, config: &Config) -> Survey {
        let mut survey = Survey { nodes: nodes_of(object), ..Survey::default() };
        survey_machine(kind, object, config, &mut survey);
        survey
    }

    fn write(&self, claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
        write::give(claim, given, scene.pools).into_iter().collect()
    }

    fn pending(&self, claim: &Claim, line: &PendingLine, _: &Scene<'_>) -> Chain {
        write::explain(claim, line).into_iter().collect()
    }

    fn departures(&self, observed: &Observed, _: &Config) -> Vec<Departure> {
        leave::departures(observed)
    }

    fn nmstate(&self, kind: Kind, object: &Object, pools: &[Pool]) -> Option<Value> {
        KINDS.contains(&kind).then(|| write::nmstate_of(kind, object, pools)).flatten()
    }

    fn ask(&self, kind: Kind, object: &Object, scene: &Scene<'_>) -> Option<Result<Claim, String>> {
        KINDS.contains(&kind).then(|| {
            if object.deleting() {
                return Err("it is being deleted".to_owned());
            }
            if let Some(why) = paused(object) {
                return Err(why);
            }
            let network = Network::read(kind, object);
            match network.problems.first() {
                Some(problem) => Err(problem.clone()),
                None => Ok(claim(Owner::of(NAME, kind, object), object, &network, scene.config, Gate::Asked)),
            }
        })
    }

    fn parents(&self) -> &'static [Kind] {
        &[MACHINE_SET, MACHINE_DEPLOYMENT]
    }

    fn scaled(
        &self,
        observed: &Observed,
        parent: (Kind, &Object),
        replicas: usize,
    ) -> Option<Vec<(Kind, Object)>> {
        self.parents().contains(&parent.0).then(|| scale::scaled(observed, MACHINE, parent, replicas))
    }
}

/// The kind of an owner of this system.
fn kind_of(owner: &Owner) -> Option<Kind> {
    KINDS.into_iter().find(|k| *k.group == *owner.group && *k.kind == *owner.kind)
}

fn survey_machine(kind: Kind, object: &Object, config: &Config, survey: &mut Survey) {
    let owner = Owner::of(NAME, kind, object);
    let network = Network::read(kind, object);
    let gated = gate::closed(object);
    // What waits runs nothing yet; all others use the address that they have.
    let adopt = if gated && !object.deleting() { Adopt::IfFree } else { Adopt::Always };
    survey.holdings.extend(machine::holdings(kind, object, &owner, &network, adopt));
    let reference = kind.at(object.namespace(), object.name());
    for why in &network.problems {
        let message = format!("{why}; mipam leaves the machine alone until it is mended by hand");
        survey.problems.push(Problem::new("Unreadable", &reference, message));
    }
    let chore = |write| Chore { owner: owner.clone(), writes: vec![write], when: When::After };
    if let (Some(why), true) = (paused(object), gated) {
        survey.pending.push(PendingLine::of(&owner, "", "", Reason::Paused, why));
    } else if object.deleting() {
        // The VM may still run until the object is gone: the ledger keeps the address.
        survey.chores.extend(gated.then(|| chore(write::ungate(kind, &owner))));
    } else if !network.problems.is_empty() {
        // With a network that nobody understands it would be made without an address: it waits for a person.
    } else if gated {
        survey.claims.push(claim(owner, object, &network, config, Gate::Closed));
    } else {
        if fault::ours(object) {
            survey.chores.push(chore(write::forgive(kind, &owner)));
        }
        if !network.cidrs.is_empty() {
            survey.settled.push(owner);
        }
    }
}

/// The claim of a machine: for an address, or only to be let go with the one that a person has given it.
fn claim(owner: Arc<Owner>, object: &Object, network: &Network, config: &Config, gate: Gate) -> Claim {
    let pools = PoolChoice::Matching(Arc::new(machine::subject(object)));
    let preset = |c: &machine::Cidr| Preset { device: "".into(), address: c.address, pools: pools.clone() };
    let wish = || {
        let pools = PoolChoice::Matching(Arc::new(machine::wanted(object, network.families, config)));
        Wish { device: "".into(), pools, asks: None, one: false }
    };
    let wishes = if network.cidrs.is_empty() { vec![wish()] } else { Vec::new() };
    Claim { owner, wishes, presets: network.cidrs.iter().map(preset).collect(), gate, stands_for: None }
}
