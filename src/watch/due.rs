//! When the next pass is due, where nothing happens before. Pure.

use std::time::Duration;

/// What was recorded or written may have made room for more: one more look soon after costs nothing.
const SETTLE: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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

/// How long to wait after a pass.
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

    /// The wait after a pass that ended so; `wake`: by then the time itself will have changed something.
    pub(super) fn after(&mut self, ended: Ended, wake: Option<Duration>) -> Duration {
        self.failures = if ended == Ended::Failed { self.failures.saturating_add(1) } else { 0 };
        let wait = match ended {
            Ended::Failed => (FIRST_PAUSE * 2u32.pow(self.failures.min(8) - 1)).min(LONGEST_PAUSE),
            Ended::Changed => SETTLE,
            Ended::Idle => self.resync,
        };
        wait.min(wake.unwrap_or(wait)).min(self.resync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_tried_again_ever_later_and_success_begins_anew() {
        let mut due = Due::every(Duration::from_secs(600));
        let waits: Vec<u128> = (0..9).map(|_| due.after(Ended::Failed, None).as_millis()).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
        assert_eq!(due.after(Ended::Idle, None), Duration::from_secs(600));
        assert_eq!(due.after(Ended::Failed, None), FIRST_PAUSE);
    }

    #[test]
    fn what_changed_is_looked_at_once_more_and_rest_that_ends_is_not_slept_through() {
        let mut due = Due::every(Duration::from_secs(600));
        assert_eq!(due.after(Ended::Changed, None), SETTLE);
        assert_eq!(due.after(Ended::Idle, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(due.after(Ended::Idle, Some(Duration::from_secs(7_000))), Duration::from_secs(600));
    }
}
