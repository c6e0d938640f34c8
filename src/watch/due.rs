//! When the next pass is due, where nothing happens before. Pure.

use std::time::Duration;

/// What was recorded or written may have made room for more: one more look soon after costs nothing.
const SETTLE: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest that a pass waits although something has changed.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It could not do all that it should.
    Failed,
    /// It changed something.
    Changed,
    /// There was nothing to do.
    Idle,
}

/// How long to wait for the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Where something changes: what changes all the time shall neither keep a processor busy nor be tried and refused
    /// without a pause.
    pub(super) least: Duration,
    /// Where nothing does.
    pub(super) most: Duration,
}

/// When passes follow one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    resync: Duration,
    failures: u32,
}

impl Due {
    /// Looks at everything at least this often.
    pub(super) fn every(resync: Duration) -> Self {
        Self { resync, failures: 0 }
    }

    /// The wait after a pass that ended so and took so long; `wake`: by then the time itself will have changed something.
    pub(super) fn after(&mut self, ended: Ended, took: Duration, wake: Option<Duration>) -> Wait {
        self.failures = if ended == Ended::Failed { self.failures.saturating_add(1) } else { 0 };
        let wait = match ended {
            Ended::Failed => (FIRST_PAUSE * 2u32.pow(self.failures.min(8) - 1)).min(LONGEST_PAUSE),
            Ended::Changed => SETTLE,
            Ended::Idle => self.resync,
        };
        let least = match ended {
            // One object that is refused must not keep others waiting for as long as it is itself tried later.
            Ended::Failed => wait.min(LONGEST_REST),
            // Whoever got something was worth it.
            Ended::Changed => Duration::ZERO,
            Ended::Idle => took.min(LONGEST_REST),
        };
        Wait { least, most: wait.min(wake.unwrap_or(wait)).min(self.resync) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(7);

    #[test]
    fn failures_are_tried_again_ever_later_and_success_begins_anew() {
        let mut due = Due::every(Duration::from_secs(600));
        let waits: Vec<Wait> = (0..9).map(|_| due.after(Ended::Failed, TOOK, None)).collect();
        let most: Vec<u128> = waits.iter().map(|w| w.most.as_millis()).collect();
        assert_eq!(most, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
        let least: Vec<u128> = waits.iter().map(|w| w.least.as_millis()).collect();
        assert_eq!(least, [500, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]);
        assert_eq!(due.after(Ended::Idle, TOOK, None).most, Duration::from_secs(600));
        assert_eq!(due.after(Ended::Failed, TOOK, None).most, FIRST_PAUSE);
    }

    #[test]
    fn what_changed_is_looked_at_once_more_and_rest_that_ends_is_not_slept_through() {
        let mut due = Due::every(Duration::from_secs(600));
        let mut most = |ended, wake: Option<u64>| due.after(ended, TOOK, wake.map(Duration::from_secs)).most;
        assert_eq!(most(Ended::Changed, None), SETTLE);
        assert_eq!(most(Ended::Idle, Some(7)), Duration::from_secs(7));
        assert_eq!(most(Ended::Idle, Some(7_000)), Duration::from_secs(600));
    }

    #[test]
    fn what_changes_all_the_time_without_need_takes_half_of_the_time_at_the_most() {
        let mut due = Due::every(Duration::from_secs(600));
        assert_eq!(due.after(Ended::Changed, TOOK, None).least, Duration::ZERO);
        assert_eq!(due.after(Ended::Idle, TOOK, None).least, TOOK);
        assert_eq!(due.after(Ended::Idle, Duration::from_secs(9), None).least, LONGEST_REST);
    }
}
