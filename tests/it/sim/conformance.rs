//! The simulation is held to the real API server: the same random calls on both, the same answers. Where they
//! differ, the simulation is wrong.

use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use mipam::cluster::kube::KubeCluster;
use mipam::cluster::sim::SimCluster;
use mipam::cluster::{Cluster, ClusterError};
use mipam::model::{Kind, Object};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::time::Duration;

const CALLS: usize = 400;

#[derive(Clone, Copy, Debug)]
enum Call {
    Create {
        finalizer: bool,
    },
    /// Replace what was read `age` versions ago, with one change.
    Replace {
        age: usize,
        change: Change,
    },
    Delete,
    Get,
    List,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    Spec(u64),
    Annotation(u64),
    DropFinalizers,
    AddFinalizer,
    Status,
    Uid,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn call(&mut self) -> Call {
        match self.below(12) {
            0..=2 => Call::Create { finalizer: self.below(2) == 0 },
            3..=7 => {
                let change = match self.below(8) {
                    0 => Change::None,
                    1 | 2 => Change::Spec(self.below(100)),
                    3 => Change::Annotation(self.below(100)),
                    4 => Change::DropFinalizers,
                    5 => Change::AddFinalizer,
                    6 => Change::Status,
                    _ => Change::Uid,
                };
                Call::Replace { age: self.below(3) as usize, change }
            }
            8 | 9 => Call::Delete,
            10 => Call::Get,
            _ => Call::List,
        }
    }
}

/// One side of the comparison, with every version it has shown, newest last.
struct Side<'a> {
    cluster: &'a dyn Cluster,
    shown: [Vec<Object>; 3],
}

fn kind_of(error: &ClusterError) -> &'static str {
    match error {
        ClusterError::NotFound(_) => "NotFound",
        ClusterError::NotServed(_) => "NotServed",
        ClusterError::NoNamespace(_) => "NoNamespace",
        ClusterError::Conflict(_) => "Conflict",
        ClusterError::Exists(_) => "Exists",
        ClusterError::Refused { .. } => "Refused",
        _ => "other",
    }
}

fn name(at: usize) -> String {
    format!("m{at}")
}

impl Side<'_> {
    async fn do_it(&mut self, at: usize, call: Call) -> Value {
        let target = MACHINE.at("conformance", &name(at));
        let before = self.shown[at].last().map(|o| o.resource_version().to_owned());
        let answer = match call {
            Call::Create { finalizer } => {
                let finalizers = if finalizer { json!(["test.mipam.io/hold"]) } else { json!([]) };
                let object = Object(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": { "name": name(at), "namespace": "conformance", "finalizers": finalizers },
                    "spec": { "providerSpec": { "value": { "n": 0 } } },
                }));
                self.cluster.create(MACHINE, &object).await
            }
            Call::Replace { age, change } => {
                let known = &self.shown[at];
                let Some(old) = known.len().checked_sub(age + 1).map(|i| known[i].clone()) else {
                    return json!("nothing to replace");
                };
                let mut new = old;
                match change {
                    Change::None => {}
                    Change::Spec(n) => new.0["spec"]["providerSpec"]["value"]["n"] = json!(n),
                    Change::Annotation(n) => new.annotate("n", &n.to_string()),
                    Change::DropFinalizers => {
                        drop(new.ensure_object(&["metadata"]).shift_remove("finalizers"))
                    }
                    Change::AddFinalizer => {
                        new.0["metadata"]["finalizers"] = json!(["test.mipam.io/hold", "test.mipam.io/more"])
                    }
                    Change::Status => new.0["status"] = json!({ "phase": "Odd" }),
                    Change::Uid => new.0["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000"),
                }
                self.cluster.replace(MACHINE, &new).await
            }
            // Both have been deleted as a user would; what is left is what counts.
            Call::Delete | Call::Get => self.cluster.get(&target).await,
            Call::List => {
                let all = self.cluster.list_in(MACHINE, "conformance").await.unwrap();
                return json!(all.iter().map(|o| (o.name(), o.deleting())).collect::<Vec<_>>());
            }
        };
        match answer {
            Ok(object) => {
                let moved = before.as_deref() != Some(object.resource_version());
                let shown = json!({
                    "generation": object.at("/metadata/generation"),
                    "finalizers": object.array("/metadata/finalizers"),
                    "deleting": object.deleting(),
                    "n": object.at("/spec/providerSpec/value/n"),
                    "annotation": object.annotation("n"),
                    "status": object.at("/status/phase"),
                    "moved": moved,
                });
                self.shown[at].push(object);
                shown
            }
            Err(error) => json!(kind_of(&error)),
        }
    }
}

#[test]
fn the_simulation_answers_as_the_api_server_does() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("conformance");
    let sim = SimCluster::new(&[MACHINE] as &[Kind]);
    sim.namespace("conformance");
    let seed = mipam::cluster::random() | 1;
    let mut random = Random(seed);
    let calls: Vec<(usize, Call)> = (0..CALLS).map(|_| (random.below(3) as usize, random.call())).collect();
    let kube = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
    let mut real = Side { cluster: &kube, shown: Default::default() };
    let mut simulated = Side { cluster: &sim, shown: Default::default() };
    for (step, (at, call)) in calls.into_iter().enumerate() {
        if matches!(call, Call::Delete) {
            bed.delete("machine.openshift.io/v1beta1", "Machine", "conformance", &name(at));
            let _ = sim.delete(&MACHINE.at("conformance", &name(at)));
        }
        let (wanted, got) =
            bed.block_on(async { (real.do_it(at, call).await, simulated.do_it(at, call).await) });
        assert_eq!(got, wanted, "seed {seed}, step {step}: {call:?} of {}", name(at));
    }
}
