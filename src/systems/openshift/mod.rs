//! OpenShift Machines (`machine.openshift.io`): a `preCreate` lifecycle hook of ours holds a machine back until
//! it has its addresses; a `preTerminate` hook marks it as ours from then on.

mod crd;
mod hooks;
mod leave;
mod machine;
mod write;

use super::seen::nodes_of;
use super::{Scene, System, scale};
use crate::config::Config;
use crate::model::{
    Adopt, Chain, Chore, Claim, Departure, Gate, Given, Kind, Object, Observed, Owner, PendingLine, Pool,
    PoolChoice, Preset, Problem, Reason, Role, Source, Survey, When, Wish,
};
use hooks::Marks;
pub use hooks::is_hooked;
use machine::{Device, devices};
use serde_json::Value;
use std::sync::Arc;

/// The system.
pub struct OpenShift;

/// `machine.openshift.io` Machines.
pub const MACHINE: Kind = Kind {
    group: "machine.openshift.io",
    versions: &["v1beta1"],
    kind: "Machine",
    plural: "machines",
    namespaced: true,
};

const MACHINE_SET: Kind = Kind { kind: "MachineSet", plural: "machinesets", ..MACHINE };

const SOURCES: &[Source] = &[
    Source { kind: MACHINE, role: Role::Alone },
    Source { kind: crd::CRD, role: Role::Hint(crd::MACHINES) },
];

/// Its name.
pub const NAME: &str = "openshift";

impl System for OpenShift {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[MACHINE]
    }

    fn survey(&self, observed: &Observed, config: &Config) -> Survey {
        let mut survey = Survey::default();
        survey.problems.extend(crd::pruned(observed, config));
        survey
    }

    fn survey_one(&self, _: Kind, object: &Object, config: &Config) -> Survey {
        let mut survey = Survey { nodes: nodes_of(object), ..Survey::default() };
        survey_machine(object, config, &mut survey);
        survey.warnings.extend(hooks::unserved(object, config.lifecycle_hook.as_ref()));
        survey
    }

    fn write(&self, claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
        write::give(claim, given, scene.pools, scene.config).into_iter().collect()
    }

    fn departures(&self, observed: &Observed, config: &Config) -> Vec<Departure> {
        leave::departures(observed, config)
    }

    fn nmstate(&self, kind: Kind, object: &Object, pools: &[Pool]) -> Option<Value> {
        (kind == MACHINE).then(|| write::nmstate_of(object, pools)).flatten()
    }

    fn ask(&self, kind: Kind, object: &Object, _: &Scene<'_>) -> Option<Result<Claim, String>> {
        (kind == MACHINE).then(|| {
            if object.deleting() {
                return Err("it is being deleted".to_owned());
            }
            if let Some(why) = machine::paused(object) {
                return Err(why);
            }
            let devices = devices(object);
            if devices.is_empty() {
                return Err("it has no network device".to_owned());
            }
            let wishes = devices.iter().filter(|d| d.wants()).map(|d| wish(object, d)).collect();
            let presets = presets(object, &devices);
            Ok(Claim {
                owner: Owner::of(NAME, MACHINE, object),
                wishes,
                presets,
                gate: Gate::Asked,
                stands_for: None,
            })
        })
    }

    fn parents(&self) -> &'static [Kind] {
        &[MACHINE_SET]
    }

    fn scaled(
        &self,
        observed: &Observed,
        parent: (Kind, &Object),
        replicas: usize,
    ) -> Option<Vec<(Kind, Object)>> {
        (parent.0 == MACHINE_SET).then(|| {
            let machines = scale::scaled(observed, MACHINE, parent, replicas);
            let claims: Vec<_> = machines.iter().flat_map(|(_, m)| machine::claims(m)).collect();
            machines.into_iter().chain(claims).collect()
        })
    }
}

fn survey_machine(object: &Object, config: &Config, survey: &mut Survey) {
    let reference = MACHINE.at(object.namespace(), object.name());
    let marks = Marks::of(object, config.lifecycle_hook.as_ref());
    let devices = devices(object);
    let owner = Owner::of(NAME, MACHINE, object);
    let adopt = match (marks.gate && !object.deleting(), marks.ours()) {
        (true, _) => Adopt::IfFree,
        (false, true) => Adopt::Always,
        (false, false) => Adopt::No,
    };
    let unreadable = machine::holdings(object, &owner, &devices, adopt, &mut survey.holdings);
    let readable = unreadable.is_empty();
    for problem in unreadable {
        survey.problems.push(Problem::new("Unreadable", &reference, problem));
    }
    if !marks.ours() {
        return;
    }
    if let Some(why) = machine::paused(object) {
        survey.pending.push(pending(&owner, "", Reason::Paused, why));
        return;
    }
    if object.deleting() {
        // The VM still runs until the object is gone: the ledger keeps the address, only our hooks go. Without
        // them nobody could tell that the address is ours to record, so that comes first.
        survey.chores.extend(write::unhook(&owner, config).map(|write| Chore {
            owner,
            writes: vec![write],
            when: When::After,
        }));
        return;
    }
    let wishes: Vec<Wish> = devices.iter().filter(|d| d.wants()).map(|d| wish(object, d)).collect();
    if !marks.gate {
        if wishes.is_empty() {
            survey.settled.push(owner);
        } else {
            survey.claims.push(Claim {
                owner,
                wishes,
                presets: Vec::new(),
                gate: Gate::Open,
                stands_for: None,
            });
        }
        return;
    }
    if devices.is_empty() {
        let why = "spec.providerSpec.value.network.devices is empty: there is nothing to give an address to";
        survey.pending.push(pending(&owner, "", Reason::NoDevices, why.to_owned()));
        return;
    }
    if !readable {
        // It would be made with an address that nobody understands: it waits for a person.
        return;
    }
    if let Some((device, why)) = unnamed(&wishes, &devices, config) {
        survey.pending.push(pending(&owner, &device, Reason::NoInterfaceName, why));
        return;
    }
    survey.claims.push(Claim {
        owner,
        wishes,
        presets: presets(object, &devices),
        gate: Gate::Closed,
        stands_for: None,
    });
}

fn wish(object: &Object, device: &Device) -> Wish {
    let pools = PoolChoice::Matching(Arc::new(device.subject(object)));
    Wish { device: device.index.to_string().into(), pools, asks: None, one: false }
}

/// The addresses that a person has put on the devices.
fn presets(object: &Object, devices: &[Device]) -> Vec<Preset> {
    let of = |device: &Device| {
        let pools = PoolChoice::Matching(Arc::new(device.subject(object)));
        let name: Arc<str> = device.index.to_string().into();
        let addresses: Vec<_> = device.addresses.iter().flatten().map(|(address, _)| *address).collect();
        addresses.into_iter().map(move |address| Preset {
            device: name.clone(),
            address,
            pools: pools.clone(),
        })
    };
    devices.iter().flat_map(of).collect()
}

/// A device past the end of a pool's interface names: nmstate needs a name for it.
fn unnamed(wishes: &[Wish], devices: &[Device], config: &Config) -> Option<(String, String)> {
    for (wish, device) in wishes.iter().zip(devices.iter().filter(|d| d.wants())) {
        let PoolChoice::Matching(subject) = &wish.pools else { continue };
        let mut pools = config.pools.iter().filter(|p| subject.fits(p));
        if let Some(pool) = pools.find(|p| p.interface(device.index).is_none()) {
            let names = pool.interfaces.len();
            return Some((
                wish.device.to_string(),
                format!(
                    "pool {} has {names} interface names, and this is device {}: list more under `interface`",
                    pool.name, device.index
                ),
            ));
        }
    }
    None
}

fn pending(owner: &Owner, device: &str, reason: Reason, message: String) -> PendingLine {
    PendingLine::of(owner, device, "", reason, message)
}
