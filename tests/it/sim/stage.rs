//! A world on the simulation: objects as users make them, and passes over them.

use super::check::{Checker, Rules};
use super::fault::{Fault, Faulty};
use crate::bed::documents;
use mipam::cluster::sim::SimCluster;
use mipam::cluster::{Answer, Cluster};
use mipam::config::{self, Config};
use mipam::ledger::{CONFIG_MAP, NAMESPACE_KIND};
use mipam::model::{CRON_JOB, JOB, Kind, Object, ObjectRef};
use mipam::observe::ObserveError;
use mipam::pass::{Outcome, Pass, Silent};
use mipam::plan::Scope;
use mipam::systems;
use serde_json::Value;
use std::cell::RefCell;
use std::sync::Arc;
use std::task::Poll;
use tokio::runtime::Runtime;

pub const NOW: i64 = 1_800_000_000;

pub fn kinds() -> Vec<Kind> {
    let mut kinds = systems::kinds();
    kinds.extend([CONFIG_MAP, NAMESPACE_KIND, JOB, CRON_JOB]);
    kinds
}

pub fn kind_of(object: &Object) -> Kind {
    let found = kinds().into_iter().find(|k| k.kind == object.kind() && k.group == object.group());
    found.unwrap_or_else(|| panic!("no kind for {} {}", object.group(), object.kind()))
}

/// Time passes at once where everybody waits for it.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

pub struct World {
    pub sim: SimCluster,
    pub config: Arc<Config>,
    pub checker: RefCell<Checker>,
    pub now: i64,
    /// A person has said `--force`.
    pub forced: bool,
    /// A person has said `detach`.
    pub leaving: bool,
}

impl World {
    pub fn new(config: &str) -> Self {
        Self::with(config::parse("config.yaml", config).unwrap())
    }

    pub fn with(config: Config) -> Self {
        let sim = SimCluster::new(&kinds());
        let config = Arc::new(config);
        Self { sim, config, checker: RefCell::default(), now: NOW, forced: false, leaving: false }
    }

    /// The same world once more, on which something else can happen.
    pub fn copy(&self) -> Self {
        let (sim, config) = (self.sim.clone(), self.config.clone());
        let checker = self.checker.clone();
        Self { sim, config, checker, now: self.now, forced: self.forced, leaving: self.leaving }
    }

    pub fn create(&self, yaml: &str) {
        for value in documents(yaml) {
            let mut object = Object(value);
            let kind = kind_of(&object);
            let terminating = object.deleting();
            let metadata = object.ensure_object(&["metadata"]);
            metadata.shift_remove("deletionTimestamp");
            if kind.namespaced {
                metadata.entry("namespace").or_insert("default".into());
            }
            self.sim.put(kind, &object).unwrap();
            if terminating {
                self.sim.delete(&kind.at(object.namespace(), object.name())).unwrap();
            }
        }
        self.checker.borrow_mut().accept(&self.sim);
    }

    pub fn delete(&self, target: &ObjectRef, hold: bool) {
        if hold {
            let finalizers = serde_json::json!(["test.mipam.io/hold"]);
            let set =
                |o: &mut Object| drop(o.ensure_object(&["metadata"]).insert("finalizers".into(), finalizers));
            self.sim.edit(target, set).unwrap();
        }
        self.sim.delete(target).unwrap();
        self.checker.borrow_mut().accept(&self.sim);
    }

    pub fn edit(&self, target: &ObjectRef, change: impl FnOnce(&mut Object)) {
        self.sim.edit(target, change).unwrap();
        self.checker.borrow_mut().accept(&self.sim);
    }

    /// Takes what somebody else did for granted.
    pub fn accept(&self) {
        self.checker.borrow_mut().accept(&self.sim);
    }

    /// The rules of a run that begins now.
    fn rules(&self) -> Rules {
        let mut rules = Rules::begin(&self.config, self.sim.version(), self.now);
        (rules.forced, rules.leaving) = (self.forced, self.leaving);
        rules
    }

    /// A pass with a fault at one request; `None` where the process died. Also how many requests it made.
    pub async fn pass(
        &self,
        scope: &Scope,
        fault: Option<(usize, Fault)>,
    ) -> (Option<Result<Outcome, ObserveError>>, usize) {
        self.under(fault, async |cluster| self.settings(cluster, scope).run(&|_| ()).await).await
    }

    /// Whatever a process does, with a fault at one request; `None` where it died. Also how many requests it made.
    /// A second process in between does the same.
    pub async fn under<T>(
        &self,
        fault: Option<(usize, Fault)>,
        process: impl AsyncFn(&dyn Cluster) -> T,
    ) -> (Option<T>, usize) {
        let other = || -> Answer<'_, ()> {
            Box::pin(async {
                self.alone(&process).await;
                Ok(())
            })
        };
        let rules = self.rules();
        let wrote = || self.checker.borrow_mut().check(&self.sim, &rules);
        let (at, fault) = fault.map_or((usize::MAX, None), |(at, fault)| (at, Some(fault)));
        let faulty = Faulty::new(&self.sim, at, fault, &other, &wrote);
        let outcome = {
            let mut running = std::pin::pin!(process(&faulty));
            std::future::poll_fn(|context| match running.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending if faulty.crashed.get() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            })
            .await
        };
        (outcome, faulty.requests.get())
    }

    /// A pass without faults, checked after every write.
    pub async fn clean(&self, scope: &Scope) -> Result<Outcome, ObserveError> {
        self.alone(async |cluster| self.settings(cluster, scope).run(&|_| ()).await).await
    }

    /// Whatever a process does, without faults, checked after every write.
    async fn alone<T>(&self, process: impl AsyncFn(&dyn Cluster) -> T) -> T {
        let other = || -> Answer<'_, ()> { Box::pin(async { Ok(()) }) };
        let rules = self.rules();
        let wrote = || self.checker.borrow_mut().check(&self.sim, &rules);
        process(&Faulty::new(&self.sim, usize::MAX, None, &other, &wrote)).await
    }

    pub fn settings<'a>(&'a self, cluster: &'a dyn Cluster, scope: &Scope) -> Pass<'a> {
        Pass {
            cluster,
            config: &self.config,
            scope: scope.clone(),
            now: self.now,
            in_flight: 4,
            dry_run: false,
            progress: &Silent,
            memory: None,
        }
    }

    /// Machines and ledger, as the scenarios compare them.
    pub fn objects(&self) -> Vec<Value> {
        let all = self.sim.all().into_iter().map(|(_, o)| o.0.clone());
        all.filter(|o| {
            let is = |(version, kind): &(&str, &str)| o["apiVersion"] == *version && o["kind"] == *kind;
            crate::scenario::COMPARED.iter().any(is) || o["kind"] == "ConfigMap"
        })
        .collect()
    }
}
