//! A watch: a list, and what becomes of its objects from then on, whatever happens to the connection.

use super::KubeCluster;
use super::call::Call;
use super::list::Whole;
use crate::cluster::{ClusterError, EXPIRED, News, Watch, jitter};
use crate::model::Feed;
use futures_util::{Stream, StreamExt};
use http::Request;
use kube::core::WatchEvent;
use serde_json::Value;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// The server ends a watch after this long, so that no server has all of them for ever.
const LASTS: u64 = 300;

/// A server that serves says at least once a minute how far it is; one that is silent for longer is gone, whatever
/// the connection says.
const SILENCE: Duration = Duration::from_secs(100);

/// A watch that ends sooner did not end because its time was up.
const SHORT: Duration = Duration::from_secs(1);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Value>, kube::Error>>>>;

/// Goes on for ever: what fails is said, and tried again.
pub(super) fn follow(cluster: &KubeCluster, feed: Feed) -> Watch<'_> {
    let follower = Follower { cluster, feed, at: None, open: None, pause: None };
    Box::pin(futures_util::stream::unfold(follower, |mut follower| async move {
        let news = follower.next().await;
        Some((news, follower))
    }))
}

struct Follower<'c> {
    cluster: &'c KubeCluster,
    feed: Feed,
    /// The version up to which everything was told; `None`: a list has to come first.
    at: Option<String>,
    open: Option<(Instant, Events)>,
    /// How long to wait before the next try, after one that failed.
    pause: Option<Duration>,
}

impl Follower<'_> {
    async fn next(&mut self) -> Result<News, ClusterError> {
        let news = self.step().await;
        if news.is_ok() {
            self.pause = None;
        } else {
            self.open = None;
            self.pause = Some(self.pause.map_or(FIRST_PAUSE, |p| (p * 2).min(LONGEST_PAUSE)));
        }
        news
    }

    async fn step(&mut self) -> Result<News, ClusterError> {
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause + jitter(pause)).await;
        }
        let Feed { kind, namespace, .. } = self.feed;
        let call = Call { verb: "watch", kind, namespace, name: "" };
        loop {
            let Some(at) = self.at.clone() else {
                let (objects, version): Whole = self.cluster.list_all(self.feed, namespace).await?;
                self.at = Some(version.clone());
                return Ok(News::All(objects, version));
            };
            let Some((since, events)) = &mut self.open else {
                let events = self.begin(&call, &at).await?;
                self.open = Some((Instant::now(), events));
                return Ok(News::UpTo(at));
            };
            let event = match tokio::time::timeout(SILENCE, events.next()).await {
                Err(_) => {
                    // A server that was set back to an earlier state would say nothing of what it has now.
                    self.at = None;
                    return Err(call.late(SILENCE));
                }
                // Asked again at once, it would only end again: that is no way to treat a server in trouble.
                Ok(None) if since.elapsed() < SHORT => {
                    return Err(call.transient("the server ended it at once", None));
                }
                // Its time was up.
                Ok(None) => {
                    self.open = None;
                    continue;
                }
                Ok(Some(event)) => event.map_err(|e| call.lost(e))?,
            };
            let (gone, value) = match event {
                WatchEvent::Added(value) | WatchEvent::Modified(value) => (false, value),
                WatchEvent::Deleted(value) => (true, value),
                WatchEvent::Bookmark(mark) => {
                    self.at = Some(mark.metadata.resource_version.clone());
                    return Ok(News::UpTo(mark.metadata.resource_version));
                }
                WatchEvent::Error(status) => match call.failed(&status) {
                    // What happened in between cannot be told any more.
                    ClusterError::Transient { why, .. } if why == EXPIRED => {
                        (self.at, self.open) = (None, None);
                        continue;
                    }
                    error => return Err(error),
                },
            };
            let object = self.cluster.read(self.feed, value);
            self.at = Some(object.resource_version().to_owned());
            return Ok(if gone { News::Gone(object) } else { News::Now(object) });
        }
    }

    async fn begin(&mut self, call: &Call<'_>, at: &str) -> Result<Events, ClusterError> {
        let lasts = LASTS + jitter(Duration::from_secs(LASTS)).as_secs();
        let Feed { kind, namespace, sign, .. } = self.feed;
        let query = self.cluster.query(kind, namespace, sign);
        let path =
            format!("{query}watch=true&allowWatchBookmarks=true&timeoutSeconds={lasts}&resourceVersion={at}");
        let request = Request::get(path).body(Vec::new()).map_err(|e| ClusterError::Other(e.to_string()))?;
        let begun = self.cluster.watcher.request_events::<Value>(request);
        match tokio::time::timeout(self.cluster.timeout, begun).await {
            Err(_) => Err(call.late(self.cluster.timeout)),
            Ok(Ok(events)) => Ok(Box::pin(events)),
            Ok(Err(error)) => {
                let error = call.lost(error);
                if matches!(&error, ClusterError::Transient { why, .. } if why == EXPIRED) {
                    self.at = None;
                }
                Err(error)
            }
        }
    }
}
