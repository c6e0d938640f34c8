//! Who is at work: what a Lease says to a process that would like to be. Pure: the caller brings the Lease and the time.
//!
//! Clocks of different machines are never compared. A process notes when it first saw the Lease as it is; only when that
//! has stayed so for as long as the holder promised to renew it may another one take it.

use crate::ledger::NAMESPACE;
use crate::model::{LEASE, Object, ObjectRef};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a Lease lasts and how it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long others wait after the last renewal before one of them takes over.
    pub lasts: Duration,
    /// How long after its last renewal the holder goes on; shorter, so that it has stopped by then.
    pub renew_within: Duration,
    /// How often it is tried.
    pub every: Duration,
}

/// The longest that a Lease may last: whoever dies without letting go of it keeps all others waiting for as long.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Terms {
    /// How long one try may take before another one is made beside it.
    pub fn patience(&self) -> Duration {
        self.renew_within.saturating_sub(self.every) / 2
    }

    /// Why these terms would let two be at work at the same time, or none.
    pub fn fault(&self) -> Option<&'static str> {
        if self.lasts <= self.renew_within {
            return Some(
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline: who cannot renew has to have stopped before another one begins",
            );
        }
        if self.lasts < Duration::from_secs(1) {
            return Some("--leader-elect-lease-duration must be at least 1s");
        }
        if self.lasts > LONGEST {
            return Some("--leader-elect-lease-duration must be at most 24h");
        }
        // On a busy machine a try may come a fifth later than it is due.
        (self.renew_within <= self.every.mul_f64(1.2)).then_some(
            "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period: one late renewal would end it",
        )
    }
}

/// What a process has seen of a Lease that another one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    version: String,
    /// When it was first seen so, on this process's own clock.
    since: Duration,
}

/// What is to be done about a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is none: make it.
    Make,
    /// It is ours: renew it.
    Renew,
    /// Nobody holds it, or whoever does has not renewed it in time: take it.
    Take,
    /// Another process holds it, for this long unless it renews it.
    Wait(Duration),
}

/// What `me` is to do about the Lease as it is at `now` on this process's own clock.
pub fn evaluate(lease: Option<&Object>, me: &str, sighting: &mut Option<Sighting>, now: Duration) -> Verdict {
    let Some(lease) = lease else { return Verdict::Make };
    match lease.text("/spec/holderIdentity").unwrap_or_default() {
        "" => return Verdict::Take,
        holder if holder == me => return Verdict::Renew,
        _ => {}
    }
    let version = lease.resource_version();
    let since = match sighting {
        Some(known) if known.version == version => known.since,
        _ => sighting.insert(Sighting { version: version.to_owned(), since: now }).since,
    };
    let promised = lease.at("/spec/leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(0);
    match Duration::from_secs(promised).checked_sub(now.saturating_sub(since)) {
        Some(left) => Verdict::Wait(left),
        None => Verdict::Take,
    }
}

/// Where the Lease is.
pub fn target(name: &str) -> ObjectRef {
    LEASE.at(NAMESPACE, name)
}

/// The Lease as `me` holds it from `time` on, an RFC 3339 text with microseconds.
pub fn held(before: Option<&Object>, name: &str, me: &str, terms: Terms, time: &str) -> Object {
    let mut lease = before.cloned().unwrap_or_else(|| {
        Object(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": LEASE.kind,
            "metadata": { "name": name, "namespace": NAMESPACE },
        }))
    });
    let changes = before.is_some_and(|b| b.text("/spec/holderIdentity") != Some(me));
    let moves = before.and_then(|b| b.at("/spec/leaseTransitions").and_then(Value::as_u64)).unwrap_or(0);
    let spec = lease.ensure_object(&["spec"]);
    if before.is_none() || changes {
        spec.insert("acquireTime".to_owned(), json!(time));
    }
    spec.insert("holderIdentity".to_owned(), json!(me));
    // Whole seconds are all that a Lease can say: the others rather wait too long than too short.
    let lasts = terms.lasts.as_secs() + u64::from(terms.lasts.subsec_nanos() > 0);
    spec.insert("leaseDurationSeconds".to_owned(), json!(lasts));
    spec.insert("renewTime".to_owned(), json!(time));
    // More than that does not fit in.
    let moves = (moves + u64::from(changes)).min(i32::MAX.unsigned_abs().into());
    spec.insert("leaseTransitions".to_owned(), json!(moves));
    lease
}

/// The Lease as it is left behind: the next one need not wait.
pub fn let_go(lease: &Object, time: &str) -> Object {
    let mut lease = lease.clone();
    let spec = lease.ensure_object(&["spec"]);
    spec.insert("holderIdentity".to_owned(), json!(""));
    spec.insert("leaseDurationSeconds".to_owned(), json!(1));
    spec.insert("renewTime".to_owned(), json!(time));
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        lasts: Duration::from_secs(15),
        renew_within: Duration::from_secs(10),
        every: Duration::from_secs(2),
    };

    fn lease(holder: &str, version: &str) -> Object {
        let mut lease = held(None, "mipam", holder, TERMS, "2026-01-01T00:00:00.000000Z");
        lease.ensure_object(&["metadata"]).insert("resourceVersion".to_owned(), json!(version));
        lease
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lease_that_is_not_there_or_nobodys_or_ours_is_ours() {
        let mut seen = None;
        assert_eq!(evaluate(None, "a", &mut seen, at(0)), Verdict::Make);
        assert_eq!(evaluate(Some(&lease("", "1")), "a", &mut seen, at(0)), Verdict::Take);
        assert_eq!(evaluate(Some(&lease("a", "1")), "a", &mut seen, at(0)), Verdict::Renew);
        assert_eq!(seen, None);
    }

    #[test]
    fn anothers_is_taken_only_when_it_has_not_moved_for_as_long_as_it_lasts() {
        let mut seen = None;
        let wait = |seconds| Verdict::Wait(at(seconds));
        assert_eq!(evaluate(Some(&lease("b", "1")), "a", &mut seen, at(100)), wait(15));
        assert_eq!(evaluate(Some(&lease("b", "1")), "a", &mut seen, at(114)), wait(1));
        assert_eq!(evaluate(Some(&lease("b", "2")), "a", &mut seen, at(115)), wait(15), "it was renewed");
        assert_eq!(evaluate(Some(&lease("b", "2")), "a", &mut seen, at(130)), wait(0), "just in time");
        assert_eq!(evaluate(Some(&lease("b", "2")), "a", &mut seen, at(131)), Verdict::Take);
    }

    #[test]
    fn the_others_wait_longer_than_the_holder_goes_on_whatever_the_terms() {
        let lasts = Duration::from_millis(1_900);
        let terms =
            Terms { lasts, renew_within: Duration::from_millis(1_500), every: Duration::from_millis(500) };
        assert_eq!(terms.fault(), None);
        let lease = held(None, "mipam", "b", terms, "2026-01-01T00:00:00.000000Z");
        let mut seen = None;
        let wait = |milliseconds| Verdict::Wait(Duration::from_millis(milliseconds));
        assert_eq!(evaluate(Some(&lease), "a", &mut seen, Duration::ZERO), wait(2_000));
        assert_eq!(evaluate(Some(&lease), "a", &mut seen, terms.renew_within), wait(500));
        assert_eq!(evaluate(Some(&lease), "a", &mut seen, lasts), wait(100));
        assert_eq!(evaluate(Some(&lease), "a", &mut seen, at(3)), Verdict::Take);
    }

    #[test]
    fn what_the_holders_clock_says_is_never_believed() {
        let mut old = lease("b", "1");
        old.ensure_object(&["spec"]).insert("renewTime".to_owned(), json!("1999-01-01T00:00:00.000000Z"));
        assert_eq!(evaluate(Some(&old), "a", &mut None, at(5)), Verdict::Wait(at(15)));
    }

    #[test]
    fn transitions_count_changes_of_the_holder() {
        let first = held(None, "mipam", "a", TERMS, "t1");
        let renewed = held(Some(&first), "mipam", "a", TERMS, "t2");
        let taken = held(Some(&renewed), "mipam", "b", TERMS, "t3");
        let facts = |o: &Object| {
            let text = |at| o.text(at).unwrap_or_default().to_owned();
            (text("/spec/acquireTime"), text("/spec/renewTime"), o.at("/spec/leaseTransitions").cloned())
        };
        assert_eq!(facts(&first), ("t1".into(), "t1".into(), Some(json!(0))));
        assert_eq!(facts(&renewed), ("t1".into(), "t2".into(), Some(json!(0))));
        assert_eq!(facts(&taken), ("t3".into(), "t3".into(), Some(json!(1))));
        let mut many = taken.clone();
        many.ensure_object(&["spec"]).insert("leaseTransitions".to_owned(), json!(i32::MAX));
        assert_eq!(facts(&held(Some(&many), "mipam", "c", TERMS, "t4")).2, Some(json!(i32::MAX)));
        let left = let_go(&taken, "t4");
        assert_eq!(evaluate(Some(&left), "c", &mut None, at(0)), Verdict::Take);
    }

    #[test]
    fn terms_that_would_let_two_work_at_once_are_refused() {
        assert_eq!(TERMS.fault(), None);
        assert!(Terms { lasts: at(10), ..TERMS }.fault().is_some());
        assert!(Terms { every: at(9), ..TERMS }.fault().is_some());
        assert!(Terms { lasts: at(86_401), ..TERMS }.fault().is_some());
        let short = Terms {
            lasts: Duration::from_millis(900),
            renew_within: Duration::from_millis(500),
            every: Duration::from_millis(100),
        };
        assert!(short.fault().is_some());
    }
}
