//! A cluster whose lists are at hand: watches keep them up to date. What is written, and every look at one object,
//! goes to the server as ever.
//!
//! A list is what the server had at one moment: it is never put together from what was written and what was told,
//! and it is never older than what this process has written itself, nor than what others have written to the list that
//! is read first, the ledger: a record or an owner that is older than the ledger would speak for somebody who has gone since.
//! Where a watch is in trouble, or that far behind, the server is asked. A watch whose connection has died without a word
//! looks like one that has nothing to tell: before anything is given out, lists of which nothing was heard for a while are
//! compared with the server's.

mod shelf;

use super::{Answer, Cluster, ClusterError, News, Traffic};
use crate::model::{Feed, Kind, Listed, Object, ObjectRef};
use futures_util::stream::{LocalBoxStream, SelectAll};
use futures_util::{StreamExt, stream};
use shelf::{Shelf, Standing, place};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a list waits for a watch to tell what this process has written.
const CATCH_UP: Duration = Duration::from_secs(1);

/// How many Events are remembered, so that none is made twice.
const REMEMBERED: usize = 20_000;

/// What is read, and how often is asked whether more can be read by now.
pub struct Reads {
    /// The kinds that may be asked for.
    pub kinds: Vec<Kind>,
    /// The lists.
    pub feeds: Vec<Feed>,
    /// Those of them that can be done without.
    pub optional: Vec<Feed>,
    /// The one of them that is read first, and that all others must not be older than.
    pub first: Feed,
    /// Single objects that hardly ever change.
    pub hints: Vec<ObjectRef>,
    /// How often the server is asked what it serves.
    pub every: Duration,
}

/// Wraps another cluster.
pub struct Cached<'c> {
    live: &'c dyn Cluster,
    reads: Reads,
    served: RefCell<Option<Vec<Kind>>>,
    /// Why that is not known yet.
    unasked: RefCell<String>,
    shelves: RefCell<BTreeMap<Feed, Shelf>>,
    /// The version of what others have written last to the first of the lists: all others must be as new. Versions of one
    /// server are counted together, whatever the kind.
    since: Cell<u64>,
    /// What is served has changed.
    stirred: Cell<bool>,
    hints: RefCell<BTreeMap<ObjectRef, Result<Object, ClusterError>>>,
    /// The names of Events that are there.
    announced: RefCell<BTreeSet<String>>,
    /// Woken by everything that is told.
    told: Notify,
}

enum Heard {
    Served(Result<Vec<Kind>, ClusterError>),
    News(Feed, Result<News, ClusterError>),
}

impl<'c> Cached<'c> {
    /// Nothing is read before [`Cached::keep`] is awaited.
    pub fn new(live: &'c dyn Cluster, reads: Reads) -> Self {
        Self {
            live,
            reads,
            served: RefCell::default(),
            unasked: RefCell::new("the server was not asked yet what it serves".to_owned()),
            shelves: RefCell::default(),
            since: Cell::new(0),
            stirred: Cell::new(false),
            hints: RefCell::default(),
            announced: RefCell::default(),
            told: Notify::new(),
        }
    }

    /// Keeps all lists up to date, for as long as it is awaited; kinds that are served later join them.
    pub async fn keep(&self) {
        let ask = stream::unfold(Duration::ZERO, |pause| async move {
            tokio::time::sleep(pause).await;
            let served = self.live.served(&self.reads.kinds).await;
            let next = if served.is_ok() { self.reads.every } else { self.reads.every.min(CATCH_UP) };
            Some((Heard::Served(served), next))
        });
        let mut all: SelectAll<LocalBoxStream<'_, Heard>> = SelectAll::new();
        all.push(ask.boxed_local());
        while let Some(heard) = all.next().await {
            match heard {
                Heard::Served(Ok(served)) => {
                    for feed in self.begin(&served) {
                        let news = self.live.watch(feed).map(move |news| Heard::News(feed, news));
                        all.push(news.boxed_local());
                    }
                    self.serves(served);
                }
                // It is asked again soon; once there are watches, they say what is wrong with the server.
                Heard::Served(Err(error)) => *self.unasked.borrow_mut() = error.to_string(),
                Heard::News(feed, news) => {
                    if let Some(shelf) = self.shelves.borrow_mut().get_mut(&feed) {
                        shelf.tell(news);
                    }
                }
            }
            self.told.notify_waiters();
        }
    }

    /// Makes room for the feeds that can be watched from now on.
    fn begin(&self, served: &[Kind]) -> Vec<Feed> {
        let mut shelves = self.shelves.borrow_mut();
        let mut begun = self.reads.feeds.clone();
        begun.retain(|feed| served.contains(&feed.kind) && !shelves.contains_key(feed));
        shelves.extend(begun.iter().map(|feed| (*feed, Shelf::new(*feed))));
        begun
    }

    fn serves(&self, served: Vec<Kind>) {
        let mut known = self.served.borrow_mut();
        if known.as_ref() != Some(&served) {
            *known = Some(served);
            self.hints.borrow_mut().clear();
            // Objects of a kind that was not served are looked at for the first time.
            self.stirred.set(true);
        }
    }

    /// Has something changed since [`Cached::seen`] that this process has not done itself?
    pub fn is_stirred(&self) -> bool {
        self.stirred.get() || self.shelves.borrow().values().any(Shelf::is_stirred)
    }

    /// Waits until something has changed that this process has not done itself.
    pub async fn stirred(&self) {
        loop {
            let told = self.told.notified();
            if self.is_stirred() {
                return;
            }
            told.await;
        }
    }

    /// Takes note of all changes up to now.
    pub fn seen(&self) {
        self.stirred.set(false);
        self.shelves.borrow_mut().values_mut().for_each(Shelf::seen);
    }

    /// Was every list read once, or found not to be readable?
    pub fn is_begun(&self) -> bool {
        self.served.borrow().is_some() && self.shelves.borrow().values().all(Shelf::is_begun)
    }

    /// Waits until every list was read once, or found not to be readable.
    pub async fn begun(&self) {
        loop {
            let told = self.told.notified();
            if self.is_begun() {
                return;
            }
            told.await;
        }
    }

    /// Why a list is not at hand, if one is not.
    pub fn trouble(&self) -> Option<String> {
        if self.served.borrow().is_none() {
            return Some(self.unasked.borrow().clone());
        }
        let served = |kind| self.served.borrow().as_ref().is_some_and(|s| s.contains(&kind));
        let counts = |feed: &Feed| served(feed.kind) && !self.reads.optional.contains(feed);
        let shelves = self.shelves.borrow();
        shelves.iter().filter(|(feed, _)| counts(feed)).find_map(|(_, shelf)| shelf.trouble().err())
    }

    /// Looks anew at what hardly ever changes.
    pub fn forget(&self) {
        self.hints.borrow_mut().clear();
    }

    /// As the server has it; which may be what is at hand, too.
    async fn list_live(&self, feed: Feed) -> Result<Vec<Listed>, ClusterError> {
        let (asked, since) = (Instant::now(), self.since.get());
        let objects = self.live.list(feed).await?;
        if let Some(shelf) = self.shelves.borrow_mut().get_mut(&feed) {
            // Where nobody knows who wrote what, nobody knows how far the server was either.
            shelf.compare(&objects, asked, if since == u64::MAX { 0 } else { since });
        }
        Ok(objects)
    }

    fn note<T>(
        &self,
        kind: Kind,
        object: &Object,
        answer: Result<T, ClusterError>,
        done: impl Fn(&mut Shelf, &T),
    ) -> Result<T, ClusterError> {
        let mut shelves = self.shelves.borrow_mut();
        let of = shelves.iter_mut().filter(|(feed, _)| feed.kind == kind && feed.has(object));
        for (_, shelf) in of {
            match &answer {
                Ok(now) => done(shelf, now),
                Err(why) => shelf.refused(object, why),
            }
        }
        answer
    }
}

impl Cluster for Cached<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(async move {
            let known = self.served.borrow().clone();
            match known {
                Some(known) => {
                    let known: BTreeSet<Kind> = known.into_iter().collect();
                    Ok(kinds.iter().copied().filter(|kind| known.contains(kind)).collect())
                }
                None => self.live.served(kinds).await,
            }
        })
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(async move {
            let latest = Instant::now() + CATCH_UP;
            let leads = feed == self.reads.first;
            loop {
                let told = self.told.notified();
                let since = if leads { 0 } else { self.since.get() };
                let standing =
                    self.shelves.borrow().get(&feed).map_or(Standing::Unknown, |shelf| shelf.standing(since));
                match standing {
                    Standing::Current(objects) => {
                        if leads {
                            self.since.set(self.shelves.borrow().get(&feed).map_or(0, Shelf::strangers));
                        }
                        return Ok(objects);
                    }
                    Standing::Refused(error) => return Err(error),
                    Standing::Behind if tokio::time::timeout_at(latest, told).await.is_ok() => {}
                    Standing::Behind | Standing::Unknown => break,
                }
            }
            if leads {
                // Who wrote what is not known then: all that is read after it is read from the server, too.
                self.since.set(u64::MAX);
            }
            self.list_live(feed).await
        })
    }

    fn list_anew(&self, feed: Feed, age: Duration) -> Option<Answer<'_, Vec<Listed>>> {
        let heard = self.shelves.borrow().get(&feed).is_some_and(|shelf| shelf.heard_within(age));
        if heard {
            return None;
        }
        Some(Box::pin(self.list_live(feed)))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            if !self.reads.hints.contains(target) {
                return self.live.get(target).await;
            }
            let known = self.hints.borrow().get(target).cloned();
            if let Some(known) = known {
                return known;
            }
            let found = self.live.get(target).await;
            if !matches!(found, Err(ClusterError::Transient { .. })) {
                self.hints.borrow_mut().insert(target.clone(), found.clone());
            }
            found
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let made = self.live.create(kind, object).await;
            self.note(kind, object, made, Shelf::wrote)
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let now = self.live.replace(kind, object).await;
            self.note(kind, object, now, Shelf::wrote)
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let now = self.live.replace_status(kind, object).await;
            self.note(kind, object, now, Shelf::wrote)
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(async move {
            let kept = self.live.delete(target, uid).await;
            let named = Object(serde_json::json!({
                "metadata": { "namespace": target.namespace, "name": target.name },
            }));
            self.note(target.kind, &named, kept, |shelf, kept| match kept {
                Some(object) => shelf.wrote(object),
                None => shelf.deleted(place(&named), uid),
            })
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.live.settle()
    }

    fn announce<'a>(&'a self, event: &'a Object) -> Answer<'a, ()> {
        Box::pin(async move {
            if self.announced.borrow().contains(event.name()) {
                return Ok(());
            }
            self.live.announce(event).await?;
            let mut announced = self.announced.borrow_mut();
            if announced.len() >= REMEMBERED {
                announced.clear();
            }
            announced.insert(event.name().to_owned());
            Ok(())
        })
    }

    fn traffic(&self) -> &Traffic {
        self.live.traffic()
    }
}
