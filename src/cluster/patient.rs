//! A cluster that waits and tries again when the one behind it is busy, slow or restarting. Every write of
//! mipam is guarded, so sending it twice is safe: if the first one arrived after all, the second is a
//! conflict, and conflicts are looked into.

use super::{Answer, Cluster, ClusterError, Traffic, Watch};
use crate::model::{Feed, Kind, Listed, Object, ObjectRef};
use std::time::Duration;

const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Wraps another cluster.
pub struct Patient<'c>(pub &'c dyn Cluster);

impl Patient<'_> {
    async fn insist<'a, T>(&'a self, call: impl Fn() -> Answer<'a, T>) -> Result<T, ClusterError> {
        let mut pause = FIRST_PAUSE;
        let mut trouble = None;
        for _ in 1..TRIES {
            let asked = match call().await {
                Err(ClusterError::Transient { what, why, after }) => {
                    trouble = Some((what, why));
                    after.map_or(pause, Duration::from_secs).min(LONGEST_PAUSE)
                }
                // A server that has just come back refuses everybody until it has read who may do what.
                Err(ClusterError::Forbidden { .. }) if trouble.is_some() => pause,
                other => return other,
            };
            tokio::time::sleep(asked + jitter(pause)).await;
            pause *= 2;
        }
        match (call().await, trouble) {
            (Err(refused @ ClusterError::Forbidden { .. }), Some((what, why))) => {
                Err(ClusterError::Transient { what, why: format!("{why}; then {refused}"), after: None })
            }
            (last, _) => last,
        }
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

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(self.insist(move || self.0.list(feed)))
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        self.0.watch(feed)
    }

    fn list_anew(&self, feed: Feed, age: Duration) -> Option<Answer<'_, Vec<Listed>>> {
        let again = move || self.0.list_anew(feed, age).unwrap_or_else(|| self.0.list(feed));
        self.0.list_anew(feed, age).map(|_| -> Answer<'_, _> { Box::pin(self.insist(again)) })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::sim::SimCluster;
    use std::cell::RefCell;

    fn away() -> ClusterError {
        ClusterError::Transient { what: "list".to_owned(), why: "connection refused".to_owned(), after: None }
    }

    fn refused() -> ClusterError {
        ClusterError::Forbidden { verb: "list", resource: "machines".to_owned(), namespace: String::new() }
    }

    /// What comes of a call that is answered so, last answer first, and how many answers are left.
    async fn ask(answers: Vec<Result<u8, ClusterError>>) -> (Result<u8, ClusterError>, usize) {
        let sim = SimCluster::default();
        let answers = RefCell::new(answers);
        let patient = Patient(&sim);
        let last = patient.insist(|| Box::pin(async { answers.borrow_mut().pop().unwrap() })).await;
        (last, answers.borrow().len())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_has_just_come_back_is_asked_again_when_it_refuses() {
        let (answer, left) = ask(vec![Ok(7), Err(refused()), Err(refused()), Err(away())]).await;
        assert!(matches!((answer, left), (Ok(7), 0)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_was_away_and_keeps_refusing_is_not_taken_for_a_missing_right() {
        let mut answers: Vec<_> = (1..TRIES).map(|_| Err(refused())).collect();
        answers.push(Err(away()));
        let (answer, left) = ask(answers).await;
        let text = answer.as_ref().unwrap_err().to_string();
        assert!(matches!((answer, left), (Err(ClusterError::Transient { .. }), 0)));
        assert_eq!(text, "list: connection refused; then not allowed to list machines in all namespaces");
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_is_said_at_once() {
        let (answer, left) = ask(vec![Ok(7), Err(refused())]).await;
        assert!(matches!((answer, left), (Err(ClusterError::Forbidden { .. }), 1)));
    }
}
