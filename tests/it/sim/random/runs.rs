//! Runs of mipam, of which each request waits until the story lets it go.

use super::act::{Random, Trouble};
use crate::sim::check::{Checker, Rules};
use mipam::cluster::sim::{Delivery, SimCluster};
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::config::Config;
use mipam::model::{Feed, Kind, Listed, Object, ObjectRef};
use mipam::observe::ObserveError;
use mipam::pass::{Memory, Outcome, Pass, Silent};
use mipam::plan::Scope;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// The objects, and who watches over them.
pub struct World {
    pub sim: SimCluster,
    pub checker: RefCell<Checker>,
}

/// What the driver tells a run, and the other way round.
#[derive(Default)]
struct Ticket {
    granted: Cell<Option<Trouble>>,
    used: Cell<bool>,
    dead: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

/// A cluster whose every request waits until the driver lets it go.
struct Stepped {
    world: Rc<World>,
    ticket: Rc<Ticket>,
    rules: RefCell<Rules>,
}

impl Stepped {
    async fn request<'a, T>(
        &'a self,
        writes: bool,
        call: Answer<'a, T>,
        stale: impl Fn(u64, Option<u8>) -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        let ticket = &self.ticket;
        let trouble = std::future::poll_fn(|context| match ticket.granted.take() {
            Some(trouble) => Poll::Ready(trouble),
            None => {
                ticket.wakers.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        ticket.used.set(true);
        let lost = || ClusterError::Transient { what: "request".into(), why: "lost".into(), after: None };
        match trouble {
            Trouble::LostRequest => return Err(lost()),
            Trouble::Busy => {
                let (what, why) = ("request".into(), "429".into());
                return Err(ClusterError::Transient { what, why, after: Some(1) });
            }
            Trouble::Broken => return Err(ClusterError::Other("500".into())),
            Trouble::Conflict if writes => return Err(ClusterError::Conflict("it".into())),
            Trouble::Stale { by } | Trouble::Cached { by, .. } if !writes => {
                let seed = if let Trouble::Cached { seed, .. } = trouble { Some(seed) } else { None };
                if let Ok(old) = stale(self.world.sim.version().saturating_sub(by.into()), seed) {
                    self.rules.borrow_mut().shown_stale();
                    return Ok(old);
                }
            }
            _ => {}
        }
        let answer = call.await;
        if writes {
            self.world.checker.borrow_mut().check(&self.world.sim, &self.rules.borrow());
        }
        match trouble {
            Trouble::LostAnswer => Err(lost()),
            Trouble::CrashAfter => {
                ticket.dead.set(true);
                std::future::pending().await
            }
            _ => answer,
        }
    }

    /// As it was at a version; with a seed, as a cache has it that was filled then.
    fn as_of(&self, feed: Feed, version: u64, seed: Option<u8>) -> Result<Vec<Listed>, ClusterError> {
        let (sim, kind, namespace) = (&self.world.sim, feed.kind, feed.namespace);
        let listed = |all: Vec<Arc<Object>>| all.into_iter().map(|object| feed.listed(object)).collect();
        match seed {
            None => sim.list_as_of(kind, namespace, version).map(listed),
            Some(seed) => {
                let mut random = Random(seed.into());
                sim.cached(kind, namespace, version, || match random.below(4) {
                    0 => Delivery::Dropped,
                    1 => Delivery::Repeated,
                    _ => Delivery::Once,
                })
                .map(listed)
            }
        }
    }
}

/// Only lists come from caches.
fn never<T>(_: u64, _: Option<u8>) -> Result<T, ClusterError> {
    Err(ClusterError::Other("this is never stale".into()))
}

impl Cluster for Stepped {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(self.request(false, self.world.sim.served(kinds), never))
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        let stale = move |version, seed: Option<u8>| match (feed.sign, seed) {
            (Some(_), _) => never(version, seed),
            // The ledger: an old one is noticed by its version, and nobody keeps a part of it longer than another.
            (None, Some(_)) if !feed.namespace.is_empty() => never(version, seed),
            (None, _) => self.as_of(feed, version, seed),
        };
        Box::pin(self.request(false, self.world.sim.list(feed), stale))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(self.request(false, self.world.sim.get(target), never))
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, self.world.sim.create(kind, object), never))
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, self.world.sim.replace(kind, object), never))
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, Cluster::replace_status(&self.world.sim, kind, object), never))
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(self.request(true, Cluster::delete(&self.world.sim, target, uid), never))
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn traffic(&self) -> &Traffic {
        self.world.sim.traffic()
    }
}

/// A process that is under way.
pub struct Run {
    ticket: Rc<Ticket>,
    future: Pin<Box<dyn Future<Output = Result<Outcome, ObserveError>>>>,
}

/// What became of a step.
pub enum Stepping {
    /// There is more to come.
    On,
    /// The process died.
    Dead,
    /// The pass is over.
    Over(Box<Result<Outcome, ObserveError>>),
}

impl Run {
    /// A pass of a process that may remember the one before.
    pub fn begin(
        world: &Rc<World>,
        config: &Arc<Config>,
        now: i64,
        memory: Option<Rc<RefCell<Memory>>>,
    ) -> Self {
        let ticket = Rc::new(Ticket::default());
        let rules = Rules::begin(config, world.sim.version(), now);
        let cluster = Stepped { world: world.clone(), ticket: ticket.clone(), rules: RefCell::new(rules) };
        let config = config.clone();
        let future = Box::pin(async move {
            let pass = Pass {
                cluster: &cluster,
                config: &config,
                scope: Scope::default(),
                now,
                in_flight: 3,
                dry_run: false,
                progress: &Silent,
                memory: memory.as_deref(),
            };
            pass.run(&|_| ()).await
        });
        Self { ticket, future }
    }

    /// Lets one request go.
    pub async fn step(&mut self, trouble: Trouble) -> Stepping {
        self.ticket.granted.set(Some(trouble));
        self.ticket.used.set(false);
        self.ticket.wakers.borrow_mut().drain(..).for_each(Waker::wake);
        let polled = std::future::poll_fn(|context| Poll::Ready(self.future.as_mut().poll(context))).await;
        self.ticket.granted.set(None);
        match polled {
            Poll::Ready(outcome) => Stepping::Over(Box::new(outcome)),
            Poll::Pending if self.ticket.dead.get() => Stepping::Dead,
            Poll::Pending => {
                if !self.ticket.used.get() {
                    // It sleeps before it tries again.
                    tokio::time::advance(Duration::from_secs(25)).await;
                }
                Stepping::On
            }
        }
    }

    /// A whole pass without faults.
    pub async fn whole(world: &Rc<World>, config: &Arc<Config>, now: i64) -> Result<Outcome, ObserveError> {
        let mut run = Self::begin(world, config, now, None);
        loop {
            if let Stepping::Over(outcome) = run.step(Trouble::None).await {
                return *outcome;
            }
        }
    }
}
