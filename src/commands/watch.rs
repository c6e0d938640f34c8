//! `mipam reconcile --watch`: one pass after the other, until it is told to end.

use super::context::{Context, now};
use super::{ExitStatus, Failure, listen, reconcile, stop};
use crate::cli::Reconcile;
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError};
use crate::config::Config;
use crate::model::{PendingLine, Problem, Seconds};
use crate::observe::ObserveError;
use crate::output::reconcile::Findings;
use crate::pass::Outcome;
use crate::plan::Scope;
use crate::watch::{self, Host, Settings, probes};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How often is looked whether the configuration has changed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(context: &Context<'_>, command: &Reconcile) -> Result<ExitStatus, Failure> {
    let options = &command.watching;
    let mut stop = pin!(stop()?);
    let told = Arc::new(probes::Told::default());
    told.unready(Some("the configuration is not read yet".to_owned()));
    let listener = listen("--health-probe-address", &options.health_probe_address).await?;
    let served = tokio::spawn(probes::serve(listener, told.clone()));
    // What is wrong with the configuration is said before anything else begins.
    let begin = async {
        let cluster = context.cluster(Mode::ReadOnly).await?;
        let config = reconcile::config(context, command, &*cluster).await?;
        context.remark(&config);
        let scope = context.scope(&config)?;
        Ok::<_, Failure>((cluster, config, scope))
    };
    let (cluster, config, scope) = tokio::select! {
        begun = begin => begun?,
        () = &mut stop => return Ok(ExitStatus::Fine),
        never = say_that_it_takes_long(context) => match never {},
    };
    let settings = Settings {
        cluster: &*cluster,
        in_flight: usize::from(command.max_in_flight),
        resync: options.resync,
        lease: options
            .enable_leader_election
            .then(|| (options.leader_elect_resource_name.clone(), options.terms())),
        me: identity(),
        told: told.clone(),
    };
    let watcher = Watcher {
        context,
        command,
        cluster: &*cluster,
        looked: Cell::new(Instant::now()),
        text: RefCell::new(Some(format!("{config:?}"))),
        first: RefCell::new(Some((config, scope))),
        faulty: RefCell::default(),
        said: RefCell::default(),
        warned: RefCell::default(),
        refused: RefCell::default(),
        told: told.clone(),
        failed: RefCell::default(),
    };
    watch::run(&settings, &watcher, stop).await;
    served.abort();
    Ok(ExitStatus::Fine)
}

/// A server that does not answer is asked for minutes before that is an error.
async fn say_that_it_takes_long(context: &Context<'_>) -> Infallible {
    tokio::time::sleep(LOOK_AGAIN).await;
    context.printer.aside("the API server has not said yet what the configuration is; it is asked again\n");
    pending().await
}

/// What this process calls itself: the host, so that a person knows it, and a number that no other one has.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|h| !h.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map_or_else(|| "mipam".to_owned(), |h| h.trim().to_owned());
    format!("{host}_{:016x}", crate::cluster::random())
}

struct Watcher<'a> {
    context: &'a Context<'a>,
    command: &'a Reconcile,
    cluster: &'a dyn Cluster,
    /// When the configuration was last read.
    looked: Cell<Instant>,
    /// The configuration that is in use, to see whether it has changed.
    text: RefCell<Option<String>>,
    first: RefCell<Option<(Config, Scope)>>,
    /// What was last said about a configuration that cannot be used.
    faulty: RefCell<Option<String>>,
    /// What waited and what was wrong when that was last printed; `None` before the first pass, which is always told.
    said: RefCell<Option<(BTreeSet<PendingLine>, BTreeSet<Problem>)>>,
    /// What the last pass has warned of.
    warned: RefCell<Vec<String>>,
    /// The writes that have failed in the last pass, and why.
    refused: RefCell<BTreeSet<String>>,
    /// What the probes tell.
    told: Arc<probes::Told>,
    /// Why passes failed when that was last printed.
    failed: RefCell<Option<String>>,
}

impl Watcher<'_> {
    async fn read(&self) -> Result<(Config, Scope), Failure> {
        let config = reconcile::config(self.context, self.command, self.cluster).await?;
        let scope = self.context.scope(&config)?;
        Ok((config, scope))
    }

    /// Says which writes failed, unless they did so before for the same reason.
    fn say_failures(&self, failures: &[(String, ClusterError)]) {
        let text = |(object, error): &(String, ClusterError)| format!("{object}: {error}");
        let before = self.refused.replace(failures.iter().map(text).collect());
        let new: Vec<_> = failures.iter().filter(|f| !before.contains(&text(f))).cloned().collect();
        reconcile::failed(self.context.printer, &new);
    }
}

impl Host for Watcher<'_> {
    async fn config(&self) -> Option<(Config, Scope)> {
        if let Some(first) = self.first.borrow_mut().take() {
            return Some(first);
        }
        if self.looked.get().elapsed() < LOOK_AGAIN {
            return None;
        }
        self.looked.set(Instant::now());
        let printer = self.context.printer;
        let read = self.read().await;
        self.told.metrics.configured(read.is_ok());
        match read {
            Ok((config, scope)) => {
                let text = Some(format!("{config:?}"));
                let mended = self.faulty.borrow_mut().take().is_some();
                if *self.text.borrow() == text {
                    if mended {
                        self.say("the configuration can be used again, and is what it was");
                    }
                    return None;
                }
                self.say("the configuration has changed");
                self.context.remark(&config);
                *self.text.borrow_mut() = text;
                Some((config, scope))
            }
            Err(failure) => {
                let mut faulty = self.faulty.borrow_mut();
                if faulty.as_ref() != Some(&failure.message) {
                    printer.error(&failure.message);
                    self.say("the configuration is used as it was before");
                    *faulty = Some(failure.message);
                }
                None
            }
        }
    }

    fn now(&self) -> Seconds {
        self.context.lent.map_or_else(now, |(_, now)| now)
    }

    fn stamp(&self) -> String {
        format!("{:.6}", jiff::Timestamp::now())
    }

    fn ended(&self, outcome: &Outcome) {
        let printer = self.context.printer;
        outcome.notes.iter().for_each(|note| printer.note(note));
        self.say_failures(&outcome.failures);
        self.failed.borrow_mut().take();
        let report = &outcome.report;
        let before = self.warned.replace(outcome.warnings.clone());
        let new = outcome.warnings.iter().filter(|warning| !before.contains(warning));
        new.for_each(|warning| printer.warn(warning));
        let findings = (report.pending.iter().cloned().collect(), report.problems.iter().cloned().collect());
        let before = self.said.replace(Some(findings));
        let is_same = before == *self.said.borrow();
        let news = !report.allocated.is_empty() || !report.released.is_empty() || !report.claims.is_empty();
        if !news && is_same {
            return;
        }
        let (waited, wrong) = before.unwrap_or_default();
        let pending: Vec<_> = report.pending.iter().filter(|p| !waited.contains(p)).cloned().collect();
        let problems: Vec<_> = report.problems.iter().filter(|p| !wrong.contains(p)).cloned().collect();
        let findings = Findings { pending: &pending, problems: &problems };
        // A reader that has gone away has seen what it wanted, and a full disk must stop nobody's addresses.
        if let Err(error) = reconcile::tell(printer, report, findings, false) {
            printer.error(&format!("cannot print the report: {error}"));
        }
    }

    fn failed(&self, error: &ObserveError) {
        let text = error.to_string();
        let mut failed = self.failed.borrow_mut();
        if failed.as_ref() != Some(&text) {
            self.context.printer.error(&text);
            *failed = Some(text);
        }
    }

    fn say(&self, text: &str) {
        self.context.printer.aside(&format!("{text}\n"));
    }

    fn warn(&self, text: &str) {
        self.context.printer.warn(text);
    }
}
