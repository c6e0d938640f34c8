//! One list that a watch keeps up to date: what was told, what this process has written and is yet to be told of, and
//! whether anything has changed that somebody else did.

use crate::cluster::{ClusterError, News};
use crate::model::{Feed, Kind, LEASE, Listed, NODE, Object};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

type Place = (String, String);

/// What is known of the objects of one feed.
#[derive(Debug)]
pub(super) struct Shelf {
    feed: Feed,
    objects: BTreeMap<Place, Listed>,
    /// The version up to which everything was told; `None` before the first list.
    at: Option<u64>,
    /// Why nothing can be told at the moment.
    trouble: Option<ClusterError>,
    /// Versions that this process has written and that were not told yet.
    owed: BTreeSet<u64>,
    /// Objects that this process has deleted, by their uid, and that were not told to be gone.
    leaving: BTreeMap<Place, String>,
    /// A write has met something newer than what was told up to here.
    doubted: Option<u64>,
    /// What was told that this process has not written, as far as it knows.
    strange: BTreeSet<u64>,
    /// Something has changed, whoever did it.
    stirred: bool,
    /// When something was last told, or when the server had the very same objects.
    heard: Option<Instant>,
    /// The server had the very same objects when it was at this version at least, however far the watch has told.
    same_at: u64,
    /// The last version of each object that this process has written.
    own: BTreeMap<Place, u64>,
}

/// How much a shelf can be relied on.
pub(super) enum Standing {
    /// It is what the server had at a moment after all that this process wrote.
    Current(Vec<Listed>),
    /// It will be, as soon as its watch has told a little more.
    Behind,
    /// The server has refused it.
    Refused(ClusterError),
    /// Only the server knows.
    Unknown,
}

impl Shelf {
    pub(super) fn new(feed: Feed) -> Self {
        Self {
            feed,
            objects: BTreeMap::new(),
            at: None,
            trouble: None,
            owed: BTreeSet::new(),
            leaving: BTreeMap::new(),
            doubted: None,
            strange: BTreeSet::new(),
            stirred: false,
            heard: None,
            same_at: 0,
            own: BTreeMap::new(),
        }
    }

    /// The latest version of what somebody else has written last.
    pub(super) fn strangers(&self) -> u64 {
        let by_others = self.objects.iter().filter_map(|(at, object)| {
            let version = version(object)?;
            (self.own.get(at) != Some(&version)).then_some(version)
        });
        by_others.max().unwrap_or(0)
    }

    /// Was all of it told once, or can it not be told?
    pub(super) fn is_begun(&self) -> bool {
        self.at.is_some() || self.trouble.is_some()
    }

    /// Was all of it told at least once, and can more be told?
    pub(super) fn trouble(&self) -> Result<(), String> {
        match (&self.trouble, self.at) {
            (Some(error), _) => Err(error.to_string()),
            (None, None) => Err(format!("{} are not read yet", self.feed.kind.resource())),
            (None, Some(_)) => Ok(()),
        }
    }

    /// Whether it can be relied on by whoever has to know all up to the version `since`.
    pub(super) fn standing(&self, since: u64) -> Standing {
        match (&self.trouble, self.at) {
            (Some(error @ ClusterError::Forbidden { .. }), _) => return Standing::Refused(error.clone()),
            (None, Some(at)) if at.max(self.same_at) >= since => {}
            _ => return Standing::Unknown,
        }
        if self.owed.is_empty() && self.leaving.is_empty() && self.doubted.is_none() {
            return Standing::Current(self.objects.values().cloned().collect());
        }
        Standing::Behind
    }

    /// Takes note of what a watch tells.
    pub(super) fn tell(&mut self, news: Result<News, ClusterError>) {
        let news = match news {
            Ok(news) => news,
            Err(error) => {
                self.trouble = Some(error);
                return;
            }
        };
        self.trouble = None;
        // A watch that was taken up again says how far it had come before: what has happened since is yet to be told.
        if !matches!(&news, News::UpTo(version) if version.parse().ok() == self.at) {
            self.heard = Some(Instant::now());
        }
        match news {
            News::All(objects, version) => {
                let fresh: BTreeMap<Place, Listed> =
                    objects.into_iter().map(|o| (at(&o), self.feed.listed(o))).collect();
                let same = fresh.len() == self.objects.len()
                    && fresh.iter().all(|(at, now)| {
                        self.objects.get(at).is_some_and(|old| !matters(self.feed.kind, old, now))
                    });
                self.stirred |= !same || self.at.is_none();
                self.objects = fresh;
                // A server that was set back counts anew.
                self.same_at = 0;
                self.reached(version.parse().ok());
                self.leaving.retain(|at, uid| self.objects.get(at).is_some_and(|o| o.uid() == uid));
                self.own.retain(|at, _| self.objects.contains_key(at));
            }
            News::Now(object) => {
                let (version, object) = (version(&object), self.feed.listed(object));
                let old = self.objects.insert(at(&object), object.clone());
                let ours = version.is_some_and(|v| self.owed.contains(&v));
                if !ours && old.is_none_or(|old| matters(self.feed.kind, &old, &object)) {
                    match version {
                        Some(version) => drop(self.strange.insert(version)),
                        None => self.stirred = true,
                    }
                }
                self.reached(version);
            }
            News::Gone(object) => {
                let at = at(&object);
                self.objects.remove(&at);
                self.own.remove(&at);
                self.stirred |= self.leaving.remove(&at).is_none();
                self.reached(version(&object));
            }
            News::UpTo(version) => self.reached(version.parse().ok()),
        }
    }

    /// Was it as the server had it at some moment of the last `age`?
    pub(super) fn heard_within(&self, age: Duration) -> bool {
        self.heard.is_some_and(|heard| heard.elapsed() < age)
    }

    /// Takes note of what the server has answered to whom asked for all objects at this moment, when it was at the version
    /// `since` at least.
    pub(super) fn compare(&mut self, answer: &[Listed], asked: Instant, since: u64) {
        let same = |o: &Listed| self.objects.get(&at(o)).is_some_and(|own| own.is_same_version(o));
        if answer.len() == self.objects.len() && answer.iter().all(same) {
            self.heard = self.heard.max(Some(asked));
            self.same_at = self.same_at.max(since);
        }
    }

    fn reached(&mut self, version: Option<u64>) {
        self.at = version;
        if let Some(version) = version {
            self.owed.retain(|owed| *owed > version);
            self.doubted.take_if(|doubted| *doubted < version);
        }
    }

    /// Takes note of what this process has made of an object.
    pub(super) fn wrote(&mut self, object: &Object) {
        let Some(version) = object.resource_version().parse().ok() else { return };
        let place_of = place(object);
        // One that was told to be gone before this answer came is not told to be gone again.
        if self.at.is_none_or(|at| at < version) || self.objects.contains_key(&place_of) {
            self.own.insert(place_of, version);
        }
        if object.deleting() && object.array("/metadata/finalizers").is_empty() {
            self.deleted(place(object), object.uid());
        } else if self.at.is_some_and(|at| at >= version) {
            self.strange.remove(&version);
        } else {
            self.owed.insert(version);
        }
    }

    /// Takes note that this process has deleted an object.
    pub(super) fn deleted(&mut self, at: Place, uid: &str) {
        if self.objects.get(&at).is_some_and(|o| uid.is_empty() || o.uid() == uid) {
            self.leaving.insert(at, uid.to_owned());
        }
    }

    /// A write was refused because of something newer, which may have been told by now.
    pub(super) fn refused(&mut self, written: &Object, why: &ClusterError) {
        let known = self.objects.get(&place(written)).and_then(version);
        let told = match (why, written.resource_version().parse::<u64>()) {
            (ClusterError::Exists(_), _) => known.is_some(),
            (ClusterError::Conflict(_), Ok(sent)) => known.is_some_and(|known| known > sent),
            (ClusterError::Conflict(_), Err(_)) => false,
            _ => true,
        };
        if !told {
            self.doubted = self.at;
        }
    }

    /// All changes up to now are known to whoever asks.
    pub(super) fn seen(&mut self) {
        self.strange.clear();
        self.stirred = false;
    }

    /// Has anything changed since [`Shelf::seen`], that this process has not done itself?
    pub(super) fn is_stirred(&self) -> bool {
        self.stirred || !self.strange.is_empty()
    }
}

pub(super) fn place(object: &Object) -> Place {
    (object.namespace().to_owned(), object.name().to_owned())
}

fn at(object: &Listed) -> Place {
    (object.namespace().to_owned(), object.name().to_owned())
}

fn version(object: &Listed) -> Option<u64> {
    object.resource_version().parse().ok()
}

/// Could a pass decide otherwise because of this change? Signs of life could not.
fn matters(kind: Kind, old: &Listed, now: &Listed) -> bool {
    if old.resource_version() == now.resource_version() && old.uid() == now.uid() {
        return false;
    }
    let (old, now) = (&*old.glance(), &*now.glance());
    let differs = |part: &str| old.0.get(part) != now.0.get(part);
    if kind == LEASE {
        return old.text("/spec/holderIdentity") != now.text("/spec/holderIdentity");
    }
    let rest = |object: &Object| -> Vec<(String, Value)> {
        let map = object.0.as_object().into_iter().flatten();
        let other = map
            .filter(|(key, _)| !["metadata", "spec", "status", "kind", "apiVersion"].contains(&key.as_str()));
        other.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let status = |object: &Object| match kind {
        NODE => object.at("/status/addresses").cloned(),
        _ => object.at("/status").cloned(),
    };
    differs("spec") || status(old) != status(now) || meta(old) != meta(now) || rest(old) != rest(now)
}

/// What of the metadata can matter.
fn meta(object: &Object) -> Option<Vec<(&String, &Value)>> {
    let map = object.0.get("metadata")?.as_object()?;
    let idle = ["resourceVersion", "managedFields", "generation"];
    Some(map.iter().filter(|(key, _)| !idle.contains(&key.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::borrow::Cow;

    const THING: Kind = Kind::namespaced("", &["v1"], "Thing", "things");

    fn thing(name: &str, version: u64, size: u64) -> Listed {
        let meta = json!({ "namespace": "n", "name": name, "resourceVersion": version.to_string() });
        Object(json!({ "metadata": meta, "spec": { "size": size } })).into()
    }

    fn unfolded(shelf: &Shelf) -> usize {
        shelf.objects.values().filter(|o| !o.is_folded() || matches!(o.glance(), Cow::Borrowed(_))).count()
    }

    #[test]
    fn what_went_before_the_answer_to_its_last_write_came_is_forgotten() {
        let mut shelf = Shelf::new(Feed::all(THING));
        shelf.tell(Ok(News::All(vec![thing("a", 1, 1)], "2".to_owned())));
        shelf.tell(Ok(News::Now(thing("a", 5, 2))));
        shelf.tell(Ok(News::Gone(thing("a", 6, 2))));
        shelf.wrote(&thing("a", 5, 2));
        assert!(shelf.own.is_empty() && shelf.owed.is_empty());
        shelf.wrote(&thing("b", 7, 2));
        assert_eq!(shelf.own.len(), 1);
    }

    #[test]
    fn a_refused_write_is_no_reason_to_doubt_what_is_newer_by_now() {
        let current = |shelf: &Shelf| matches!(shelf.standing(0), Standing::Current(_));
        let (newer, there) = (ClusterError::Conflict("a".to_owned()), ClusterError::Exists("a".to_owned()));
        let named = |name| Object(json!({ "metadata": { "namespace": "n", "name": name } }));
        let mut shelf = Shelf::new(Feed::all(THING));
        shelf.tell(Ok(News::All(vec![thing("a", 5, 1)], "6".to_owned())));
        shelf.refused(&thing("a", 3, 1), &newer);
        shelf.refused(&named("a"), &there);
        assert!(current(&shelf), "what is newer is here");
        for (version, (object, why)) in [
            (8, ((*thing("a", 5, 1)).clone(), &newer)),
            (9, ((*thing("c", 5, 1)).clone(), &newer)),
            (10, (named("a"), &newer)),
            (11, (named("b"), &there)),
        ] {
            shelf.refused(&object, why);
            assert!(!current(&shelf), "there is something that nobody has told of: {version}");
            shelf.tell(Ok(News::Now(thing("a", version, 1))));
            assert!(current(&shelf));
        }
    }

    #[test]
    fn a_watch_that_is_taken_up_again_has_told_nothing_yet() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let second = Duration::from_secs(1);
            let mut shelf = Shelf::new(Feed::all(THING));
            shelf.tell(Ok(News::All(vec![thing("a", 1, 1)], "2".to_owned())));
            tokio::time::advance(second).await;
            shelf.tell(Err(ClusterError::Other("cut".to_owned())));
            shelf.tell(Ok(News::UpTo("2".to_owned())));
            assert!(!shelf.heard_within(second));
            shelf.tell(Ok(News::UpTo("3".to_owned())));
            assert!(shelf.heard_within(second));
        });
    }

    #[test]
    fn lists_are_as_new_as_what_was_heard_or_found_to_be_the_same() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let second = Duration::from_secs(1);
            let mut shelf = Shelf::new(Feed::all(THING));
            assert!(!shelf.heard_within(second));
            shelf.tell(Ok(News::All(vec![thing("a", 1, 1)], "2".to_owned())));
            assert!(shelf.heard_within(second) && !shelf.heard_within(Duration::ZERO));
            tokio::time::advance(second).await;
            assert!(!shelf.heard_within(second));
            for other in [vec![], vec![thing("a", 3, 1)], vec![thing("a", 1, 1), thing("b", 3, 1)]] {
                shelf.compare(&other, Instant::now(), 0);
                assert!(!shelf.heard_within(second), "{other:?}");
            }
            shelf.compare(&[thing("a", 1, 1)], Instant::now(), 0);
            assert!(shelf.heard_within(second));
        });
    }

    #[test]
    fn what_the_server_has_too_is_as_new_as_the_server() {
        let current = |shelf: &Shelf, since| matches!(shelf.standing(since), Standing::Current(_));
        let mut shelf = Shelf::new(Feed::all(THING));
        shelf.tell(Ok(News::All(vec![thing("a", 1, 1)], "2".to_owned())));
        assert!(current(&shelf, 2) && !current(&shelf, 7));
        shelf.compare(&[thing("a", 6, 1)], Instant::now(), 7);
        assert!(!current(&shelf, 7), "the server has a newer one");
        shelf.compare(&[thing("a", 1, 1)], Instant::now(), 7);
        assert!(current(&shelf, 7) && !current(&shelf, 8));
        // A server that was set back to an earlier state has something else.
        shelf.tell(Ok(News::All(vec![thing("a", 1, 2)], "2".to_owned())));
        assert!(!current(&shelf, 7));
    }

    #[test]
    fn what_is_looked_at_one_by_one_stays_folded() {
        let mut shelf = Shelf::new(Feed { folded: true, ..Feed::all(THING) });
        shelf.tell(Ok(News::All(vec![thing("a", 1, 1), thing("b", 2, 1)], "2".to_owned())));
        assert!(shelf.is_stirred());
        shelf.seen();
        // Nothing that matters has changed, and then something has.
        shelf.tell(Ok(News::Now(thing("a", 3, 1))));
        assert!(!shelf.is_stirred());
        shelf.tell(Ok(News::Now(thing("a", 4, 2))));
        assert!(shelf.is_stirred());
        shelf.seen();
        shelf.tell(Ok(News::All(vec![thing("a", 5, 2), thing("b", 2, 1)], "5".to_owned())));
        assert!(!shelf.is_stirred());
        assert_eq!(unfolded(&shelf), 0);
        let Standing::Current(listed) = shelf.standing(0) else { panic!("it is current") };
        assert_eq!(listed[0].at("/spec/size"), Some(&json!(2)));
        assert_eq!(unfolded(&shelf), 0, "who looks at a list unfolds nothing here");
    }
}
