//! What went wrong in other address managers, each as a test that fails if mipam is built their way. The numbers
//! are those of the list that the project was designed against; each test names the peer's issue and what in mipam
//! stands against it. Where mipam does not serve the peer's kinds yet, the same failure is played on what it has:
//! OpenShift machines and the ledger.

mod capi;
mod kubevirt;
mod leaks;
mod metal3;
mod nodes;
mod one_address;
mod stuck;

use crate::sim::bent::{Bent, pass};
use crate::sim::stage::World;
use mipam::pass::Outcome;
use mipam::plan::Scope;
use serde_json::Value;

pub(crate) fn clean(world: &World) -> Outcome {
    pass(world, &Bent::default(), Scope::default())
}

/// The ledger's entries by key, read without mipam's own code.
fn entries(world: &World) -> Vec<(String, Value)> {
    let pages = world.sim.all().into_iter().filter(|(_, o)| o.name().starts_with("mipam-v"));
    let data = pages.flat_map(|(_, o)| o.0["data"].as_object().cloned().into_iter().flatten());
    data.map(|(key, text)| (key, serde_json::from_str(text.as_str().unwrap()).unwrap())).collect()
}

fn holder<'e>(entries: &'e [(String, Value)], key: &str) -> Option<&'e Value> {
    entries.iter().find(|(k, _)| k == key).map(|(_, entry)| &entry["holders"][0])
}
