//! Takes, renews and lets go of the Lease, and tells whether this process may write.

use super::lease::{self, Sighting, Terms, Verdict};
use crate::apply;
use crate::cluster::{Cluster, ClusterError, jitter};
use crate::model::{LEASE, Object};
use futures_util::future::{Either, select};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

/// One candidate.
pub struct Election<'c> {
    cluster: &'c dyn Cluster,
    name: String,
    me: String,
    terms: Terms,
    /// Tells the time that is written into the Lease.
    clock: &'c dyn Fn() -> String,
    born: Instant,
    /// Up to then this process may write.
    until: Cell<Option<Instant>>,
    known: RefCell<Option<Object>>,
    sighting: RefCell<Option<Sighting>>,
    /// When another process's Lease runs out, unless that renews it.
    runs_out: Cell<Option<Instant>>,
    trouble: RefCell<Option<String>>,
    /// Woken whenever it was tried.
    tried: Notify,
}

impl<'c> Election<'c> {
    /// A candidate that has not tried yet.
    pub fn new(
        cluster: &'c dyn Cluster,
        name: &str,
        me: &str,
        terms: Terms,
        clock: &'c dyn Fn() -> String,
    ) -> Self {
        Self {
            cluster,
            name: name.to_owned(),
            me: me.to_owned(),
            terms,
            clock,
            born: Instant::now(),
            until: Cell::new(None),
            known: RefCell::new(None),
            sighting: RefCell::new(None),
            runs_out: Cell::new(None),
            trouble: RefCell::new(None),
            tried: Notify::new(),
        }
    }

    /// May this process write at this moment?
    pub fn leads(&self) -> bool {
        self.until.get().is_some_and(|until| Instant::now() < until)
    }

    /// Who holds the Lease, as far as is known; empty: nobody.
    pub fn holder(&self) -> String {
        let known = self.known.borrow();
        known.as_ref().and_then(|l| l.text("/spec/holderIdentity")).unwrap_or_default().to_owned()
    }

    /// Why the Lease could not be read or written.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Waits until this process may write.
    pub async fn led(&self) {
        loop {
            let tried = self.tried.notified();
            if self.leads() {
                return;
            }
            tried.await;
        }
    }

    /// Tries for as long as it is awaited.
    pub async fn run(&self) {
        loop {
            self.attempt().await;
            sleep(self.pause()).await;
        }
    }

    /// How long to wait for the next try. Whoever stands by is there when the Lease of another one runs out.
    fn pause(&self) -> Duration {
        let every = self.terms.every;
        if self.leads() {
            return every;
        }
        // Several that wait do not all ask in step.
        let pause = every * 4 / 5 + jitter(every / 5);
        let left = self.runs_out.get().map(|at| at.saturating_duration_since(Instant::now()));
        left.filter(|left| !left.is_zero()).map_or(pause, |left| pause.min(left))
    }

    /// Tries once.
    pub async fn attempt(&self) {
        let began = Instant::now();
        // An answer that comes later than that is of no use to a holder.
        let latest = began + self.terms.renew_within;
        let outcome = match timeout_at(latest, self.grasp_twice()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ClusterError::Transient {
                what: format!("renew {}", lease::target(&self.name)),
                why: "no answer in time".to_owned(),
                after: None,
            }),
        };
        let trouble = match outcome {
            Ok(true) => {
                self.until.set(Some(began + self.terms.renew_within));
                None
            }
            Ok(false) => {
                self.until.set(None);
                None
            }
            Err(error) => Some(error.to_string()),
        };
        *self.trouble.borrow_mut() = trouble;
        self.tried.notify_waiters();
    }

    /// The same as [`Election::grasp`]; where that takes its time, it is done once more beside it: a connection may have
    /// died without a word.
    async fn grasp_twice(&self) -> Result<bool, ClusterError> {
        let late = async {
            sleep(self.terms.patience()).await;
            self.grasp().await
        };
        match select(pin!(self.grasp()), pin!(late)).await {
            Either::Left((answer, _)) => answer,
            Either::Right((Ok(ours), _)) => Ok(ours),
            Either::Right((Err(_), first)) => first.await,
        }
    }

    /// Is the Lease ours after this?
    async fn grasp(&self) -> Result<bool, ClusterError> {
        // Whoever holds it renews what it wrote last; a conflict means that it was taken.
        let own = self.known.borrow().clone().filter(|_| self.leads());
        if let Some(lease) = own {
            match self.write(Some(&lease)).await {
                Err(ClusterError::Conflict(_) | ClusterError::NotFound(_)) => {}
                other => return other.map(|()| true),
            }
        }
        let found = match self.cluster.get(&lease::target(&self.name)).await {
            Ok(lease) => Some(lease),
            Err(ClusterError::NotFound(_)) => None,
            Err(error) => return Err(error),
        };
        let now = Instant::now().duration_since(self.born);
        let verdict = lease::evaluate(found.as_ref(), &self.me, &mut self.sighting.borrow_mut(), now);
        self.known.borrow_mut().clone_from(&found);
        self.runs_out.set(None);
        if let Verdict::Wait(left) = verdict {
            // At that very moment it is still the other's.
            let left = left.saturating_add(Duration::from_millis(1));
            self.runs_out.set(Instant::now().checked_add(left));
            return Ok(false);
        }
        match self.write(found.as_ref()).await {
            Ok(()) => Ok(true),
            // Another one was faster.
            Err(ClusterError::Conflict(_) | ClusterError::Exists(_) | ClusterError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, before: Option<&Object>) -> Result<(), ClusterError> {
        let lease = lease::held(before, &self.name, &self.me, self.terms, &(self.clock)());
        let now = match before {
            Some(_) => self.cluster.replace(LEASE, &lease).await?,
            None => apply::create_in_namespace(self.cluster, LEASE, &lease).await?,
        };
        *self.known.borrow_mut() = Some(now);
        Ok(())
    }

    /// Lets go of the Lease, if it is ours, so that the next one need not wait.
    pub async fn resign(&self) -> Result<(), ClusterError> {
        self.until.set(None);
        let mut known = self.known.borrow().clone();
        loop {
            let own = known.filter(|lease| lease.text("/spec/holderIdentity") == Some(&*self.me));
            let Some(lease) = own else { return Ok(()) };
            let left = lease::let_go(&lease, &(self.clock)());
            match self.cluster.replace(LEASE, &left).await {
                // A renewal whose answer was not waited for may have come first: it is still ours then.
                Err(ClusterError::Conflict(_)) => {}
                Ok(_) | Err(ClusterError::NotFound(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
            known = match self.cluster.get(&lease::target(&self.name)).await {
                Ok(lease) => Some(lease),
                Err(ClusterError::NotFound(_)) => None,
                Err(error) => return Err(error),
            };
        }
    }
}
