//! The simulation: an API server in memory, with resourceVersion, uids, finalizers and deletion as the real one
//! has them. Tests put faults and interleavings around it; a conformance test holds it to the real server.
//!
//! | file | what is in it |
//! |---|---|
//! | `state` | what a write makes of an object |
//! | `history` | earlier versions: stale lists, pages, watches |
//! | `user` | what people and other controllers do |
//! | `garbage` | what the garbage collector does |

mod garbage;
mod history;
mod state;
mod user;

pub use history::{Delivery, Event, Page, Verb};
pub use state::Part;
pub use user::{Deletion, merge};

use super::{Answer, Cluster, Traffic, Watch};
use crate::model::{Feed, Kind, Listed, Object, ObjectRef};
use state::State;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// How long a watch waits that has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// A server in memory. Copies of what it holds are handed out, as over a wire.
#[derive(Debug, Default)]
pub struct SimCluster {
    state: RefCell<State>,
    traffic: Traffic,
}

/// A copy of the server as it is, on which nobody has made a request yet.
impl Clone for SimCluster {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), traffic: Traffic::default() }
    }
}

impl SimCluster {
    /// A server that serves these kinds.
    pub fn new(kinds: &[Kind]) -> Self {
        Self { state: RefCell::new(State::new(kinds)), traffic: Traffic::default() }
    }

    /// Everything there is, for checks.
    pub fn all(&self) -> Vec<(Kind, Arc<Object>)> {
        self.state.borrow().all().map(|(kind, object)| (kind, object.clone())).collect()
    }
}

impl Cluster for SimCluster {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(async move {
            self.traffic.read();
            Ok(kinds.iter().copied().filter(|k| self.state.borrow().serves(*k)).collect())
        })
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(async move {
            self.traffic.read();
            let state = self.state.borrow();
            let all = state.of(feed.kind, feed.namespace)?.map(|(_, object)| object);
            Ok(all.filter(|object| feed.has(object)).map(|object| feed.listed(object.clone())).collect())
        })
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        Box::pin(futures_util::stream::unfold(None, move |since| async move {
            let (news, version) = self.news(feed, since).await;
            let since = news.is_ok().then_some(version);
            if since.is_none() {
                // The kind is not served: it may be, later.
                tokio::time::sleep(PAUSE).await;
            }
            Some((news, since))
        }))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.read();
            self.state.borrow().find(target).map(|object| (**object).clone())
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().make(kind, object)
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().update(kind, object, Part::Main)
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().update(kind, object, Part::Status)
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(async move {
            self.traffic.write();
            let uid = (!uid.is_empty()).then(|| uid.to_owned());
            self.delete_if(target, &Deletion { uid, ..Deletion::default() })?;
            Ok(self.state.borrow().find(target).ok().map(|object| (**object).clone()))
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
