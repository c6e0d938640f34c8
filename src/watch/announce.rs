//! Says on objects what was done, when there is nothing better to do: Events are for people, and can wait.

use crate::cluster::Cluster;
use crate::model::{Notice, Seconds};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tokio::sync::Notify;

/// More than this are not kept waiting: the oldest are left out.
const LONGEST: usize = 5_000;

/// What is yet to be said.
#[derive(Default)]
pub(super) struct Announcer {
    /// With the times at which they came up.
    waiting: RefCell<VecDeque<(Notice, Seconds)>>,
    busy: Cell<bool>,
    moved: Notify,
}

impl Announcer {
    /// These are to be said.
    pub(super) fn add(&self, notices: Vec<Notice>, now: Seconds) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.extend(notices.into_iter().map(|notice| (notice, now)));
        let surplus = waiting.len().saturating_sub(LONGEST);
        waiting.drain(..surplus);
        self.moved.notify_waiters();
    }

    /// There is something better to do, or not any more.
    pub(super) fn busy(&self, busy: bool) {
        self.busy.set(busy);
        self.moved.notify_waiters();
    }

    /// Says what is to be said, for as long as it is awaited.
    pub(super) async fn run(&self, cluster: &dyn Cluster) {
        loop {
            let moved = self.moved.notified();
            let next = if self.busy.get() { None } else { self.waiting.borrow_mut().pop_front() };
            match next {
                // It changes nothing, so failing to say it is no failure.
                Some((notice, at)) => drop(cluster.announce(&notice.event(at)).await),
                None => moved.await,
            }
        }
    }
}
