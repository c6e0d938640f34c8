//! One pass after the other: whenever something changes, when a rest ends, and now and then anyway. It is the very pass
//! that `reconcile` makes once; only its lists come from caches that watches keep up to date.
//!
//! | file | what is in it |
//! |---|---|
//! | `due` | when the next pass is due; pure |
//! | `lease` | what a Lease says; pure |
//! | `election` | takes, renews and lets go of the Lease |
//! | `fence` | holds writes back that may not be made |
//! | `announce` | Events |
//! | `probes`, `metrics` | what is told over HTTP |

mod announce;
mod due;
pub mod election;
pub mod fence;
pub mod lease;
pub mod metrics;
pub mod probes;

use crate::cluster::Cluster;
use crate::cluster::cache::{Cached, Reads};
use crate::config::Config;
use crate::ledger::{self, CONFIG_MAP};
use crate::model::{Feed, Role, Seconds, Source, Standing};
use crate::observe::ObserveError;
use crate::pass::{Memory, Outcome, Pass, Silent};
use crate::plan::{self, Scope};
use crate::systems;
use announce::Announcer;
use due::{Due, Ended, Wait};
use election::Election;
use fence::Fenced;
use futures_util::future::join4;
use lease::Terms;
use probes::Told;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How often is looked whether the configuration has changed, and whether all is well.
const TICK: Duration = Duration::from_secs(1);

/// How often the server is asked what it serves.
const DISCOVER: Duration = Duration::from_secs(5);

/// How long writes under way may take when the process is to end.
const GRACE: Duration = Duration::from_secs(20);

/// What the loop needs of whoever runs it.
pub trait Host {
    /// The configuration and who is served, where they are new; what is wrong with them is the host's to say.
    fn config(&self) -> impl Future<Output = Option<(Config, Scope)>>;
    /// The time.
    fn now(&self) -> Seconds;
    /// The same as RFC 3339 with microseconds.
    fn stamp(&self) -> String;
    /// A pass has ended.
    fn ended(&self, outcome: &Outcome);
    /// A pass could not be made.
    fn failed(&self, error: &ObserveError);
    /// Something that a person who reads the log wants to know.
    fn say(&self, text: &str);
    /// Something that a person has to know.
    fn warn(&self, text: &str);
}

/// The settings of the loop.
pub struct Settings<'a> {
    /// Where the objects live.
    pub cluster: &'a dyn Cluster,
    /// Requests at once.
    pub in_flight: usize,
    /// A pass is made at least this often.
    pub resync: Duration,
    /// Name and terms of the Lease; `None`: this process is the only one, or does not mind.
    pub lease: Option<(String, Terms)>,
    /// What this process is called.
    pub me: String,
    /// What the probes tell.
    pub told: Arc<Told>,
}

/// Makes passes until `stop` is ready.
pub async fn run<H: Host>(settings: &Settings<'_>, host: &H, stop: impl Future<Output = ()>) {
    let cache = Cached::new(settings.cluster, reads());
    let clock = || host.stamp();
    let election = settings
        .lease
        .as_ref()
        .map(|(name, terms)| Election::new(settings.cluster, name, &settings.me, *terms, &clock));
    let stopping = Cell::new(false);
    let may = || !stopping.get() && election.as_ref().is_none_or(Election::leads);
    let fenced = Fenced::new(&cache, &may);
    let announcer = Announcer::default();
    let turn = Loop {
        settings,
        host,
        cache: &cache,
        cluster: &fenced,
        election: election.as_ref(),
        announcer: &announcer,
        stopping: &stopping,
        stop: Notify::new(),
        due: Cell::new(Due::every(settings.resync)),
        failure: RefCell::new(None),
        memory: RefCell::default(),
    };
    let elect = async {
        match &election {
            Some(election) => election.run().await,
            None => pending().await,
        }
    };
    // A pass may wait for a server that is silent: whether all is well is told all the same.
    let judge = async {
        let (mut before, mut said) = (None, None);
        loop {
            turn.judge(turn.leads());
            let trouble = cache.trouble().or_else(|| turn.lease_trouble());
            // What passes within moments is not worth a line.
            if trouble == before && trouble != said {
                match &trouble {
                    Some(why) => host.warn(&format!("not ready: {why}")),
                    None => host.say("ready again"),
                }
                said.clone_from(&trouble);
            }
            before = trouble;
            sleep(TICK).await;
        }
    };
    let mut background = pin!(join4(cache.keep(), elect, announcer.run(&fenced), judge));
    let mut passes = pin!(turn.passes());
    tokio::select! {
        _ = &mut background => {}
        () = &mut passes => {}
        () = stop => {
            host.say("stopping: writes under way are finished, no new one begins");
            stopping.set(true);
            turn.stop.notify_one();
            // A pass that only waits for an answer to what it asked is not waited for.
            let written = async {
                while fenced.under_way.get() > 0 {
                    sleep(TICK / 100).await;
                }
            };
            let rest = async {
                tokio::select! { _ = &mut background => {}, () = &mut passes => {}, () = written => {} }
            };
            if timeout(GRACE, rest).await.is_err() {
                host.say("stopping: some writes are still under way; the next run finishes what they leave");
            }
        }
    }
    if let Some(election) = &election {
        match timeout(GRACE / 4, election.resign()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => host.say(&format!("the Lease could not be let go: {error}")),
            Err(_) => host.say("the Lease could not be let go in time"),
        }
    }
}

/// All that a pass reads.
fn reads() -> Reads {
    let sources = systems::sources();
    let ledger = Feed::within(CONFIG_MAP, ledger::NAMESPACE);
    let mut kinds = systems::kinds();
    kinds.push(CONFIG_MAP);
    let hint = |source: &Source| match source.role {
        Role::Hint(name) => Some(source.kind.at("", name)),
        _ => None,
    };
    Reads {
        kinds,
        first: ledger,
        feeds: sources.iter().filter_map(Source::feed).chain([ledger]).collect(),
        optional: sources.iter().filter_map(Source::feed).filter(|feed| feed.sign.is_some()).collect(),
        hints: sources.iter().filter_map(hint).collect(),
        every: DISCOVER,
    }
}

struct Loop<'a, H> {
    settings: &'a Settings<'a>,
    host: &'a H,
    cache: &'a Cached<'a>,
    cluster: &'a dyn Cluster,
    election: Option<&'a Election<'a>>,
    announcer: &'a Announcer,
    stopping: &'a Cell<bool>,
    /// Woken when the process is to end.
    stop: Notify,
    due: Cell<Due>,
    /// Why the last pass failed.
    failure: RefCell<Option<String>>,
    /// What the last pass has left, with the configuration that it had.
    memory: RefCell<Memory>,
}

impl<H: Host> Loop<'_, H> {
    fn leads(&self) -> bool {
        self.election.is_none_or(Election::leads)
    }

    /// One pass after the other, until the process is to end.
    async fn passes(&self) {
        let mut config = None;
        let mut next = Instant::now();
        // Before that no change counts.
        let mut earliest = next;
        let mut led = None;
        let mut forgotten = Instant::now();
        while !self.stopping.get() {
            if let Some(new) = self.host.config().await {
                (config, next) = (Some(new), Instant::now());
                self.memory.take();
            }
            let leads = self.leads();
            if !leads {
                // Whoever is at work sees to it; the first pass after that looks at everything anyway.
                self.cache.seen();
            }
            // Before the first try nobody knows.
            let known = leads || self.election.is_some_and(|e| !e.holder().is_empty());
            if known && led != Some(leads) {
                (led, next) = (Some(leads), Instant::now());
                self.say_who_leads(leads);
            }
            self.judge(leads);
            let Some((config, scope)) = config.as_ref().filter(|_| leads && self.cache.is_begun()) else {
                self.rest(earliest, Instant::now() + TICK, leads).await;
                continue;
            };
            let now = Instant::now();
            if now >= next || now >= earliest && self.cache.is_stirred() {
                if forgotten.elapsed() >= self.settings.resync {
                    self.cache.forget();
                    forgotten = Instant::now();
                }
                let wait = self.pass(config, scope).await;
                let ended = Instant::now();
                (earliest, next) = (ended + wait.least, ended + wait.most);
                self.judge(leads);
            }
            self.rest(earliest, next.min(Instant::now() + TICK), leads).await;
        }
    }

    fn say_who_leads(&self, leads: bool) {
        let Some(election) = self.election else { return };
        let holder = election.holder();
        self.host.say(&match leads {
            true => "at work: the Lease is held".to_owned(),
            false if holder == self.settings.me => {
                "standing by: the Lease was not renewed in time".to_owned()
            }
            false => format!("standing by: {holder} has the Lease"),
        });
    }

    /// Waits until there may be something to do; for changes not before `earliest`.
    async fn rest(&self, earliest: Instant, until: Instant, leads: bool) {
        let taken = async {
            match self.election {
                Some(election) if !leads => election.led().await,
                _ => pending().await,
            }
        };
        let stirred = async {
            match (leads, self.cache.is_begun()) {
                (true, true) => {
                    sleep_until(earliest).await;
                    self.cache.stirred().await;
                }
                (_, false) => self.cache.begun().await,
                (false, true) => pending().await,
            }
        };
        tokio::select! {
            () = stirred => {}
            () = taken => {}
            () = sleep_until(until) => {}
            () = self.stop.notified() => {}
        }
    }

    /// Tells whether this process is of any use at the moment.
    fn judge(&self, leads: bool) {
        let told = &self.settings.told;
        told.metrics.leads(leads);
        let failure = || self.failure.borrow().clone().filter(|_| leads);
        told.unready(self.cache.trouble().or_else(|| self.lease_trouble()).or_else(failure));
    }

    /// Why this process cannot tell whether it is to work.
    fn lease_trouble(&self) -> Option<String> {
        self.election.filter(|election| !election.leads()).and_then(Election::trouble)
    }

    /// One pass; how long to wait for the next one.
    async fn pass(&self, config: &Config, scope: &Scope) -> Wait {
        let begun = Instant::now();
        let traffic = self.cluster.traffic();
        let (before, conflicts) = (traffic.counts(), traffic.conflicts());
        self.cache.seen();
        self.announcer.busy(true);
        let now = self.host.now();
        let pass = Pass {
            cluster: self.cluster,
            config,
            scope: scope.clone(),
            now,
            in_flight: self.settings.in_flight,
            dry_run: false,
            progress: &Silent,
            memory: Some(&self.memory),
        };
        let outcome = pass.run(&|_| ()).await;
        self.announcer.busy(false);
        let metrics = &self.settings.told.metrics;
        let after = traffic.counts();
        metrics.requests(after.0 - before.0, after.1 - before.1, traffic.conflicts() - conflicts);
        // Whatever failed because this process may not write any more is the next one's to do.
        let lost = self.stopping.get() || !self.leads();
        let mut refused = false;
        let (ended, wake) = match outcome {
            Err(error) => {
                if !lost {
                    self.host.failed(&error);
                    *self.failure.borrow_mut() = Some(error.to_string());
                }
                (Ended::Failed, None)
            }
            Ok(mut outcome) => {
                outcome.report.reads -= before.0;
                outcome.report.writes -= before.1;
                // An object that is refused is that object's trouble, not that of this process.
                let mut ours = outcome.failures.iter().filter(|(_, error)| !error.is_of_object());
                let failure = ours.next().map(|(object, error)| format!("{object}: {error}"));
                refused = failure.is_none();
                let ended = match (outcome.failures.is_empty(), outcome.changed.is_empty()) {
                    (false, _) => Ended::Failed,
                    (true, false) => Ended::Changed,
                    (true, true) => Ended::Idle,
                };
                if !lost {
                    *self.failure.borrow_mut() = failure;
                    self.tell(&mut outcome, scope, now);
                }
                let wake = wake(&outcome, now);
                *self.memory.borrow_mut() = Memory::of(outcome.sight);
                (ended, wake)
            }
        };
        let result = match ended {
            Ended::Failed if lost => "held back",
            Ended::Failed if refused => "refused",
            Ended::Failed => "failed",
            Ended::Changed => "changed",
            Ended::Idle => "idle",
        };
        let took = begun.elapsed();
        metrics.pass(result, took);
        let mut due = self.due.get();
        let wait = due.after(ended, took, wake);
        self.due.set(due);
        wait
    }

    fn tell(&self, outcome: &mut Outcome, scope: &Scope, now: Seconds) {
        let metrics = &self.settings.told.metrics;
        metrics.pools(&plan::usage(outcome.sight.world(scope, now), &BTreeMap::new()));
        metrics.findings(&outcome.report.pending, &outcome.report.problems);
        self.announcer.add(std::mem::take(&mut outcome.notices), now);
        self.host.ended(outcome);
    }
}

/// How long until an address has rested that somebody waits for.
fn wake(outcome: &Outcome, now: Seconds) -> Option<Duration> {
    if outcome.report.pending.is_empty() {
        return None;
    }
    let entries = outcome.sight.seen.ledger.allocations().values();
    let ends = entries.filter_map(|a| match a.standing {
        Standing::Cooling { until } => Some(until),
        _ => None,
    });
    let first = ends.filter(|until| *until > now).min()?;
    Some(Duration::from_secs(u64::try_from(first - now).unwrap_or(0)) + TICK / 10)
}
