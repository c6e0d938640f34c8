//! A cluster that waits and tries again when the one behind it is busy, slow or restarting. Every write of
//! mipam is guarded, so sending it twice is safe: if the first one arrived after all, the second is a
//! conflict, and conflicts are looked into.

use super::{Answer, Cluster, ClusterError, Traffic};
use crate::model::{Kind, Object, ObjectRef, Sign};
use std::time::Duration;

const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Wraps another cluster.
pub struct Patient<'c>(pub &'c dyn Cluster);

impl Patient<'_> {
    async fn insist<'a, T>(&'a self, call: impl Fn() -> Answer<'a, T>) -> Result<T, ClusterError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match call().await {
                Err(ClusterError::Transient { after, .. }) => {
                    let asked = after.map_or(pause, Duration::from_secs).min(LONGEST_PAUSE);
                    tokio::time::sleep(asked + jitter(pause)).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
        call().await
    }
}

/// A random pause up to `most`, so that several runs do not try again in step.
pub fn jitter(most: Duration) -> Duration {
    let fraction = super::random() % 1000;
    most.mul_f64(f64::from(u32::try_from(fraction).unwrap_or(0)) / 1000.0)
}

impl Cluster for Patient<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(self.insist(move || self.0.served(kinds)))
    }

    fn list(&self, kind: Kind) -> Answer<'_, Vec<Object>> {
        Box::pin(self.insist(move || self.0.list(kind)))
    }

    fn list_in<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.insist(move || self.0.list_in(kind, namespace)))
    }

    fn list_signed(&self, kind: Kind, sign: Sign) -> Answer<'_, Vec<Object>> {
        Box::pin(self.insist(move || self.0.list_signed(kind, sign)))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(self.insist(move || self.0.get(target)))
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.insist(move || self.0.create(kind, object)))
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.insist(move || self.0.replace(kind, object)))
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.insist(move || self.0.replace_status(kind, object)))
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(self.insist(move || self.0.delete(target, uid)))
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.0.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.0.traffic()
    }
}
