//! The claim of an ElfMachine is taken away, to be made where there is room, by a run that does not know that another
//! one has found room for it by now: whatever that one does and when, nobody gets what another has.

use super::check::Checker;
use super::random::act::Trouble;
use super::random::runs::{Run, Stepping, World};
use super::stage::{NOW, kind_of, runtime};
use crate::metal3;
use mipam::cluster::sim::SimCluster;
use mipam::config::Config;
use mipam::ledger::{CONFIG_MAP, NAMESPACE_KIND};
use mipam::model::Object;
use mipam::systems::elf::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, IP_POOL};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

const GROUP: &str = "cluster.x-k8s.io/ip-pool-group";

struct Story {
    world: Rc<World>,
    config: Arc<Config>,
}

impl Story {
    /// `x` has the only address of pool `b`, `m` waits there, and pool `a` with one address has come since.
    async fn begin() -> Self {
        let template = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachineTemplate",
            "metadata": { "name": "t", "namespace": "ns", "labels": { (GROUP): "g" } },
        });
        let mut kinds = vec![CONFIG_MAP, NAMESPACE_KIND, IP_POOL, IP_CLAIM, IP_ADDRESS, ELF_MACHINE];
        kinds.push(kind_of(&Object(template.clone())));
        kinds.push(kind_of(&Object(metal3::machine("m")[0].clone())));
        let world =
            Rc::new(World { sim: SimCluster::new(&kinds), checker: RefCell::new(Checker::default()) });
        let config = mipam::config::parse("config.yaml", "ipam-config: {metal3: serve}").unwrap();
        let story = Self { world, config: Arc::new(config) };
        story.create(template);
        story.create(pool("b", 1));
        for name in ["x", "m"] {
            story.machine(name);
            story.pass().await;
        }
        story.create(pool("a", 1));
        story
    }

    fn create(&self, object: Value) {
        let object = Object(object);
        self.world.sim.put(kind_of(&object), &object).unwrap();
        self.world.checker.borrow_mut().accept(&self.world.sim);
    }

    fn machine(&self, name: &str) {
        let [owner, mut elf] = metal3::machine(name);
        elf["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/cloned-from-name": "t" });
        elf["spec"]["network"]["devices"] = json!([{ "networkType": "IPV4", "vlan": "v" }]);
        [owner, elf].into_iter().for_each(|object| self.create(object));
    }

    fn run(&self) -> Run {
        Run::begin(&self.world, &self.config, NOW, None)
    }

    async fn pass(&self) {
        Run::whole(&self.world, &self.config, NOW).await.unwrap();
    }

    /// What people and CAPE do: `b` grows.
    fn grow(&self) {
        let grown = pool("b", 2);
        self.world
            .sim
            .edit(&IP_POOL.at("ns", "b"), |o| o.0["spec"]["pools"] = grown["spec"]["pools"].clone())
            .unwrap();
        self.world.checker.borrow_mut().accept(&self.world.sim);
    }

    /// `m` fails, so that nobody makes another claim for it, and two others come.
    fn fail(&self) {
        let failed =
            |o: &mut Object| drop(o.ensure_object(&["status"]).insert("failureReason".into(), json!("no")));
        self.world.sim.edit(&ELF_MACHINE.at("ns", "m"), failed).unwrap();
        ["n", "o"].into_iter().for_each(|name| self.machine(name));
    }

    /// The addresses on machines; none of them on two.
    fn addresses(&self, when: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (_, object) in self.world.sim.all().iter().filter(|(kind, _)| *kind == ELF_MACHINE) {
            for address in object.array("/spec/network/devices/0/ipAddrs") {
                assert!(found.insert(address.to_string()), "{when}: two machines have {address}");
            }
        }
        found
    }
}

fn pool(name: &str, room: u8) -> Value {
    let net = if name == "a" { "10.0.2" } else { "10.0.1" };
    json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool",
        "metadata": { "name": name, "namespace": "ns", "labels": { (GROUP): "g" } },
        "spec": {
            "namePrefix": name, "prefix": 16, "gateway": "10.0.0.1",
            "pools": [{ "start": format!("{net}.10"), "end": format!("{net}.{}", 9 + room) }],
        },
    })
}

/// Lets so many requests go; whether there are more.
async fn steps(run: &mut Run, count: usize) -> bool {
    for _ in 0..count {
        if !matches!(run.step(Trouble::None).await, Stepping::On) {
            return false;
        }
    }
    true
}

/// How many requests a run makes before the first write, which tells the machine that its claim is taken.
async fn looks() -> usize {
    let story = Story::begin().await;
    let (mut run, before) = (story.run(), story.world.sim.version());
    let mut made = 0;
    while story.world.sim.version() == before {
        assert!(steps(&mut run, 1).await, "it moves the claim");
        made += 1;
    }
    made - 1
}

/// Plays all stories in which the one run makes `told` writes before the other begins, and up to `writes` while that is
/// under way; then it dies.
async fn play(told: usize, writes: usize) {
    let looks = looks().await;
    let (mut played, mut served) = (0, BTreeSet::new());
    for writes in 0..=writes {
        for requests in 0.. {
            let story = Story::begin().await;
            let mut first = story.run();
            steps(&mut first, looks + told).await;
            let mut second = story.run();
            story.grow();
            let more = steps(&mut second, requests).await;
            steps(&mut first, writes).await;
            drop(first);
            story.fail();
            story.pass().await;
            story.pass().await;
            let when = format!("{writes} writes of the one after {requests} requests of the other");
            story.addresses(&when);
            if more {
                steps(&mut second, usize::MAX).await;
            }
            served.extend(story.addresses(&when));
            story.pass().await;
            served.extend(story.addresses(&when));
            played += 1;
            if !more {
                break;
            }
        }
    }
    assert!(played > 100, "{played}");
    assert_eq!(served.len(), 3, "all addresses are used: {served:?}");
}

#[test]
fn a_claim_is_made_elsewhere_while_another_run_finds_room_for_it() {
    runtime().block_on(play(0, 8));
}

#[test]
fn room_is_found_for_a_claim_of_which_its_machine_knows_that_it_is_taken() {
    runtime().block_on(play(1, 6));
}
