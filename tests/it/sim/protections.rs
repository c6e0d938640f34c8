//! One test per protection that no scenario can show: each fails when the protection is taken out.

use super::stage::{World, kinds};
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::ledger::{CONFIG_MAP, object_name};
use mipam::model::{Kind, Object, ObjectRef, Reason, Sign};
use mipam::pass::{Outcome, Pass, Silent};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::cell::RefCell;

pub(super) const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: a, ranges: [10.0.0.254-10.0.1.1], prefix: 16, gateway: 10.0.9.1}
";

pub(super) fn machine(name: &str) -> String {
    format!(
        "apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {{name: {name}, namespace: ns}}
spec:
  lifecycleHooks: {{preCreate: [{{name: ipamController, owner: network-admin}}]}}
  providerSpec: {{value: {{network: {{devices: [{{networkName: lab}}]}}}}}}
"
    )
}

/// A cluster that lies in one way, and remembers what it was asked.
#[derive(Default)]
pub(super) struct Bent {
    pub(super) asked: RefCell<Vec<String>>,
    /// Lists leave this machine out, as a stale cache would.
    pub(super) hidden: Option<&'static str>,
    /// Looking for an object answers this.
    pub(super) no_answer: Option<ClusterError>,
    /// Writes to this object are refused.
    pub(super) refused: Option<String>,
    /// Called before the first replacement of a machine.
    pub(super) before_write: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Called before the first write to the ledger.
    pub(super) before_record: RefCell<Option<Box<dyn FnOnce()>>>,
}

struct Through<'a>(&'a World, &'a Bent);

impl Through<'_> {
    fn note(&self, verb: &str, kind: Kind) {
        self.1.asked.borrow_mut().push(format!("{verb} {}", kind.resource()));
    }

    fn seen(&self, objects: Vec<Object>) -> Vec<Object> {
        objects.into_iter().filter(|o| Some(o.name()) != self.1.hidden).collect()
    }

    fn record(&self, kind: Kind) {
        if kind == CONFIG_MAP {
            let before = self.1.before_record.borrow_mut().take();
            before.into_iter().for_each(|act| act());
        }
    }

    fn refuses(&self, object: &Object) -> Result<(), ClusterError> {
        match &self.1.refused {
            Some(name) if name == object.name() => {
                Err(ClusterError::Refused { what: name.clone(), why: "no".into() })
            }
            _ => Ok(()),
        }
    }
}

impl Cluster for Through<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.0.sim.served(kinds)
    }

    fn list(&self, kind: Kind) -> Answer<'_, Vec<Object>> {
        self.note("list", kind);
        Box::pin(async move { self.0.sim.list(kind).await.map(|all| self.seen(all)) })
    }

    fn list_in<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        self.note("list", kind);
        self.0.sim.list_in(kind, namespace)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.note("get", target.kind);
        Box::pin(async move {
            match &self.1.no_answer {
                Some(error) if target.kind == MACHINE => Err(error.clone()),
                _ => self.0.sim.get(target).await,
            }
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.refuses(object)?;
            self.record(kind);
            self.0.sim.create(kind, object).await
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.refuses(object)?;
            self.record(kind);
            let before = self.1.before_write.borrow_mut().take().filter(|_| kind == MACHINE);
            before.into_iter().for_each(|act| act());
            self.0.sim.replace(kind, object).await
        })
    }

    fn list_signed(&self, kind: Kind, sign: Sign) -> Answer<'_, Vec<Object>> {
        self.0.sim.list_signed(kind, sign)
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Cluster::replace_status(&self.0.sim, kind, object)
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Cluster::delete(&self.0.sim, target, uid)
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn traffic(&self) -> &Traffic {
        self.0.sim.traffic()
    }
}

pub(super) fn pass(world: &World, bent: &Bent, scope: Scope) -> Outcome {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let cluster = Through(world, bent);
    let pass = Pass {
        cluster: &cluster,
        config: &world.config,
        scope,
        now: world.now,
        in_flight: 4,
        dry_run: false,
        progress: &Silent,
    };
    runtime.block_on(pass.run(&|_| ())).unwrap()
}

pub(super) fn address(world: &World, name: &str) -> Option<String> {
    let all = world.sim.all();
    let (_, machine) = all.iter().find(|(k, o)| *k == MACHINE && o.name() == name)?;
    let first = machine.0.pointer("/spec/providerSpec/value/network/devices/0/ipAddrs/0")?;
    first.as_str().map(str::to_owned)
}

pub(super) fn world(machines: &[&str]) -> World {
    let world = World::new(CONFIG);
    machines.iter().for_each(|m| world.create(&machine(m)));
    world
}

#[test]
fn records_are_read_before_owners() {
    let (world, bent) = (world(&["a"]), Bent::default());
    pass(&world, &bent, Scope::default());
    let asked = bent.asked.borrow();
    let first =
        |what: &str| asked.iter().position(|a| a == what).unwrap_or_else(|| panic!("{what}: {asked:?}"));
    for record in
        ["list configmaps", "list ipaddresses.ipam.metal3.io", "list ipaddresses.ipam.cluster.x-k8s.io"]
    {
        for owner in ["list machines.machine.openshift.io", "list nodes", "list machines.cluster.x-k8s.io"] {
            assert!(first(record) < first(owner), "{record} after {owner}");
        }
    }
}

#[test]
fn an_owner_that_only_a_stale_list_lacks_keeps_its_address() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.create(&machine("b"));
    let outcome = pass(&world, &Bent { hidden: Some("a"), ..Bent::default() }, Scope::default());
    assert!(outcome.report.released.is_empty(), "{:?}", outcome.report.released);
    assert_ne!(address(&world, "a"), address(&world, "b"));
}

#[test]
fn a_404_for_the_kind_frees_nothing() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.delete(&MACHINE.at("ns", "a"), false);
    let unserved = ClusterError::NotServed("machines".into());
    let outcome = pass(&world, &Bent { no_answer: Some(unserved), ..Bent::default() }, Scope::default());
    assert!(outcome.report.released.is_empty());
    let outcome = pass(&world, &Bent::default(), Scope::default());
    assert_eq!(outcome.report.released.len(), 1, "for the object itself it does");
}

#[test]
fn an_owner_whose_record_failed_is_not_written() {
    // Four machines in two ledger objects, one of which cannot be written.
    let world = world(&["a", "b", "c", "d"]);
    let refused = object_name("10.0.1.0".parse().unwrap());
    let outcome = pass(&world, &Bent { refused: Some(refused), ..Bent::default() }, Scope::default());
    assert_eq!(outcome.report.allocated.len(), 2);
    assert_eq!((address(&world, "c"), address(&world, "d")), (None, None));
    assert_eq!(outcome.failures.len(), 1);
    let waiting = outcome.report.pending.iter().filter(|p| p.reason == Reason::WriteFailed).count();
    assert_eq!(waiting, 2);
}

#[test]
fn a_set_is_not_recorded_where_its_home_could_not_be() {
    let world = world(&[]);
    let two = machine("a")
        .replace("[{networkName: lab}]", "[{networkName: lab}, {networkName: lab}, {networkName: lab}]");
    world.create(&two);
    let refused = object_name("10.0.0.254".parse().unwrap());
    pass(&world, &Bent { refused: Some(refused), ..Bent::default() }, Scope::default());
    let pages =
        world.sim.all().into_iter().filter(|(k, o)| *k == CONFIG_MAP && o.name().starts_with("mipam-v"));
    let entries: usize = pages.map(|(_, o)| o.0["data"].as_object().map_or(0, |d| d.len())).sum();
    assert_eq!((entries, address(&world, "a")), (0, None));
}

/// What a person does between the plan and the write is respected.
fn meanwhile(change: impl Fn(&mut Object) + 'static) -> (std::rc::Rc<World>, Outcome) {
    let world = std::rc::Rc::new(world(&["a"]));
    let inside = world.clone();
    let act = move || {
        inside.sim.edit(&MACHINE.at("ns", "a"), |o| change(o)).unwrap();
    };
    let bent = Bent { before_write: RefCell::new(Some(Box::new(act))), ..Bent::default() };
    let outcome = pass(&world, &bent, Scope::default());
    (world, outcome)
}

#[test]
fn a_machine_that_changed_in_the_meantime_is_looked_at_again() {
    let device = "/spec/providerSpec/value/network/devices/0";
    let (world, outcome) = meanwhile(|o| o.annotate("note", "harmless"));
    assert_eq!(outcome.report.allocated.len(), 1, "a harmless change is written over");
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
    let (world, _) = meanwhile(move |o| o.0.pointer_mut(device).unwrap()["ipAddrs"] = json!(["10.0.1.1/16"]));
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.1.1/16"), "an address set by hand stays");
    let (world, outcome) = meanwhile(|o| drop(o.ensure_object(&["spec"]).shift_remove("lifecycleHooks")));
    assert_eq!((address(&world, "a"), outcome.report.pending.len()), (None, 1), "it does not wait any more");
    let (world, _) = meanwhile(|o| o.annotate("cluster.x-k8s.io/paused", ""));
    assert_eq!(address(&world, "a"), None, "it was paused");
}

#[test]
fn a_machine_replaced_in_the_meantime_is_not_its_predecessor() {
    let world = std::rc::Rc::new(world(&["a"]));
    let inside = world.clone();
    let act = move || {
        inside.sim.delete(&MACHINE.at("ns", "a")).unwrap();
        inside.create(&machine("a"));
    };
    let bent = Bent { before_write: RefCell::new(Some(Box::new(act))), ..Bent::default() };
    pass(&world, &bent, Scope::default());
    assert_eq!(address(&world, "a"), None, "the address was recorded for another uid");
    pass(&world, &Bent::default(), Scope::default());
    assert!(address(&world, "a").is_some());
}

#[test]
fn what_is_out_of_scope_is_neither_freed_nor_adopted() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.delete(&MACHINE.at("ns", "a"), false);
    let elsewhere = || Scope { namespace: Some("elsewhere".into()), ..Scope::default() };
    assert!(pass(&world, &Bent::default(), elsewhere()).changed.is_empty());
    let served = machine("b")
        .replace("preCreate", "preTerminate")
        .replace("networkName: lab", "ipAddrs: [10.0.1.1/16]");
    world.create(&served);
    assert!(pass(&world, &Bent::default(), elsewhere()).changed.is_empty());
    assert_eq!(pass(&world, &Bent::default(), Scope::default()).report.released.len(), 1);
    assert!(kinds().len() > 5);
}

#[test]
fn an_address_that_somebody_else_came_to_have_is_not_given() {
    // It is recorded for a, which could not be written; then a person puts it on b, which runs.
    let world = world(&["a"]);
    pass(&world, &Bent { refused: Some("a".into()), ..Bent::default() }, Scope::default());
    assert_eq!(address(&world, "a"), None);
    let runs = machine("b")
        .replace("preCreate", "preTerminate")
        .replace("networkName: lab", "ipAddrs: [10.0.0.254/16]");
    world.create(&runs);
    let outcome = pass(&world, &Bent::default(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.255/16"), "{:?}", outcome.report);
    assert_eq!(outcome.report.problems.len(), 1, "both have it in the ledger: {:?}", outcome.report.problems);
}
