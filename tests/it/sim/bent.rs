//! A cluster that lies in one way, for tests that need one thing to go wrong at one place.

use super::stage::{World, runtime};
use futures_util::FutureExt;
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Feed, Kind, Listed, Object, ObjectRef};
use mipam::pass::{Outcome, Pass, Silent};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use std::cell::{Cell, RefCell};

/// Four addresses, two in each of two ledger objects.
pub const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: a, ranges: [10.0.0.254-10.0.1.1], prefix: 16, gateway: 10.0.9.1}
";

/// A machine that waits.
pub fn machine(name: &str) -> String {
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

/// What somebody does in the middle of a pass.
pub type Act = Box<dyn FnOnce()>;

/// A cluster that lies in one way, and remembers what it was asked.
#[derive(Default)]
pub struct Bent {
    pub asked: RefCell<Vec<String>>,
    /// Lists leave this machine out, as a stale cache would.
    pub hidden: Option<&'static str>,
    /// Lists show this machine as it was, as a stale cache would.
    pub old: Option<Object>,
    /// Looking for an object answers this.
    pub no_answer: Option<ClusterError>,
    /// Writes to this object are refused.
    pub refused: Option<String>,
    /// Called before the first replacement of a machine.
    pub before_write: RefCell<Option<Act>>,
    /// Called before the first write to the ledger.
    pub before_record: RefCell<Option<Act>>,
    /// The first list of a namespace answers this, as a stale cache would.
    pub stale: RefCell<Option<Vec<Listed>>>,
    /// Called before the request of this number.
    pub before: RefCell<Option<(usize, Act)>>,
    /// Writes take their time, so that several are under way at once.
    pub slow: bool,
    /// The next replacement is never answered.
    pub unanswered: Cell<bool>,
}

/// A world as it is reached.
pub struct Through<'a>(pub &'a World, pub &'a Bent);

impl Through<'_> {
    fn note(&self, verb: &str, kind: Kind) {
        let number = self.1.asked.borrow().len();
        let act = self.1.before.borrow_mut().take_if(|(at, _)| *at == number);
        act.into_iter().for_each(|(_, act)| act());
        self.1.asked.borrow_mut().push(format!("{verb} {}", kind.resource()));
    }

    fn seen(&self, objects: Vec<Listed>) -> Vec<Listed> {
        let as_shown = |object: Listed| match &self.1.old {
            Some(old) if old.uid() == object.uid() => Listed::from(old.clone()),
            _ => object,
        };
        objects.into_iter().filter(|o| Some(o.name()) != self.1.hidden).map(as_shown).collect()
    }

    fn record(&self, kind: Kind) {
        if kind == CONFIG_MAP {
            let before = self.1.before_record.borrow_mut().take();
            before.into_iter().for_each(|act| act());
        }
    }

    async fn dawdle(&self) {
        if self.1.slow {
            tokio::task::yield_now().await;
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

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        if feed.sign.is_some() {
            return self.0.sim.list(feed);
        }
        self.note("list", feed.kind);
        let stale = self.1.stale.borrow_mut().take_if(|_| !feed.namespace.is_empty());
        match stale {
            Some(stale) => Box::pin(async { Ok(stale) }),
            None if feed.namespace.is_empty() => {
                Box::pin(async move { self.0.sim.list(feed).await.map(|all| self.seen(all)) })
            }
            None => self.0.sim.list(feed),
        }
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
        self.note("create", kind);
        Box::pin(async move {
            self.dawdle().await;
            self.refuses(object)?;
            self.record(kind);
            self.0.sim.create(kind, object).await
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.note("replace", kind);
        Box::pin(async move {
            self.dawdle().await;
            if self.1.unanswered.take() {
                std::future::pending::<()>().await;
            }
            self.refuses(object)?;
            self.record(kind);
            let before = self.1.before_write.borrow_mut().take().filter(|_| kind == MACHINE);
            before.into_iter().for_each(|act| act());
            self.0.sim.replace(kind, object).await
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.dawdle().await;
            Cluster::replace_status(&self.0.sim, kind, object).await
        })
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

/// A pass on the bent cluster.
pub fn pass(world: &World, bent: &Bent, scope: Scope) -> Outcome {
    let runtime = runtime();
    let cluster = Through(world, bent);
    let pass = Pass {
        cluster: &cluster,
        config: &world.config,
        scope,
        now: world.now,
        in_flight: 4,
        dry_run: false,
        progress: &Silent,
        memory: None,
    };
    runtime.block_on(pass.run(&|_| ())).unwrap()
}

/// The first address of a machine's first device.
pub fn address(world: &World, name: &str) -> Option<String> {
    let all = world.sim.all();
    let (_, machine) = all.iter().find(|(k, o)| *k == MACHINE && o.name() == name)?;
    let first = machine.0.pointer("/spec/providerSpec/value/network/devices/0/ipAddrs/0")?;
    first.as_str().map(str::to_owned)
}

/// A world with these machines, all of which wait.
pub fn world(machines: &[&str]) -> World {
    let world = World::new(CONFIG);
    machines.iter().for_each(|m| world.create(&machine(m)));
    world
}

/// A whole pass within another one: nothing makes it wait.
pub fn at_once(world: &World) -> Outcome {
    let scope = Scope::default();
    let pass = world.settings(&world.sim, &scope);
    pass.run(&|_| ()).now_or_never().expect("nothing to wait for").unwrap()
}
