//! One pass: observe, survey, decide, record, write, report. Every command is a pass or the first half of one.

use crate::apply::{self, Changed, Recorded, Written};
use crate::cluster::{Cluster, ClusterError, Patient, jitter};
use crate::config::Config;
use crate::ledger::{self, LedgerError, Shrunk};
use crate::model::{
    API_VERSION, Allocated, Allocation, Claim, PendingLine, Pool, Problem, Reason, ReconcileReport, Seconds,
    Survey, Write,
};
use crate::observe::{self, Observation, ObserveError};
use crate::plan::{self, Decision, Scope, Served, World};
use crate::publish;
use crate::systems;
use std::sync::Arc;
use std::time::Duration;

/// How often a pass begins again because another one was faster.
const ROUNDS: u32 = 12;

/// The settings of a pass.
pub struct Pass<'a> {
    /// Where the objects live.
    pub cluster: &'a dyn Cluster,
    /// What a person configured.
    pub config: &'a Config,
    /// Who is served.
    pub scope: Scope,
    /// The time.
    pub now: Seconds,
    /// Requests at once.
    pub in_flight: usize,
    /// Decide, and write nothing.
    pub dry_run: bool,
    /// Told about every step, for a progress bar.
    pub progress: &'a dyn Progress,
}

/// Is told how a pass goes on.
pub trait Progress {
    /// A new stage with so many steps, zero where that is not known.
    fn stage(&self, what: &str, steps: usize);
    /// One step is done.
    fn step(&self);
}

/// What was seen, and what the systems make of it.
pub struct Sight {
    /// What was seen.
    pub seen: Observation,
    /// What the systems make of it.
    pub survey: Survey,
    /// Every pool, in order.
    pub pools: Arc<[Pool]>,
}

impl Sight {
    /// The world as the planner gets it.
    pub fn world<'a>(&'a self, scope: &'a Scope, now: Seconds) -> World<'a> {
        World {
            pools: &self.pools,
            ledger: &self.seen.ledger,
            gone: &self.seen.gone,
            claims: &self.survey.claims,
            holdings: &self.survey.holdings,
            scope,
            now,
        }
    }
}

/// How a pass ended.
#[derive(Debug)]
pub struct Outcome {
    /// What is reported.
    pub report: ReconcileReport,
    /// Addresses of the owners that were served, whether they are new or were theirs before.
    pub granted: Vec<Allocated>,
    /// Every object that was (or would be) changed.
    pub changed: Vec<Changed>,
    /// Writes that failed, by object: the pass is not complete.
    pub failures: Vec<(String, ClusterError)>,
    /// For stderr.
    pub warnings: Vec<String>,
    /// For `-v`.
    pub notes: Vec<String>,
}

/// Changes what the systems found before it is decided on, e.g. by one more claim.
pub type Adjust<'a> = &'a dyn Fn(&mut Sight);

impl Pass<'_> {
    /// Observes and surveys.
    pub async fn look(&self) -> Result<Sight, ObserveError> {
        self.progress.stage("reading the cluster", 0);
        let seen = observe::observe(&Patient(self.cluster), self.in_flight).await?;
        let survey = survey(&seen, self.config);
        Ok(Sight { seen, survey, pools: self.config.pools.clone().into() })
    }

    /// Like [`Pass::look`], for what gives addresses out: the pools must have kept the ranges that they had.
    pub async fn look_to_give(&self) -> Result<Sight, ObserveError> {
        let sight = self.look().await?;
        match self.shrunk(&sight).into_iter().next() {
            Some(shrunk) => Err(LedgerError::Shrunk(shrunk).into()),
            None => Ok(sight),
        }
    }

    /// The pools that have lost ranges which they may not lose.
    pub fn shrunk(&self, sight: &Sight) -> Vec<Shrunk> {
        let mut shrunk = ledger::shrunk(&sight.seen.ledger, &sight.seen.gone, &sight.pools);
        shrunk.retain(|s| !(self.config.allow_shrink && s.held.is_empty()));
        shrunk
    }

    /// The whole pass.
    pub async fn run(&self, adjust: Adjust<'_>) -> Result<Outcome, ObserveError> {
        let cluster = Patient(self.cluster);
        let mut changed = Vec::new();
        let mut pause = Duration::from_millis(20);
        for _ in 0..ROUNDS {
            let mut sight = self.look_to_give().await?;
            adjust(&mut sight);
            let decision = plan::decide(sight.world(&self.scope, self.now));
            if self.dry_run {
                return Ok(self.finish(&sight, &decision, None, self.previews(&sight, &decision), changed));
            }
            let pools = sight.pools.clone();
            self.progress.stage("recording addresses", 0);
            match apply::record(&cluster, &mut sight.seen.ledger, &pools, &decision, &mut changed).await? {
                Recorded::Conflict => {
                    tokio::time::sleep(pause + jitter(pause)).await;
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
                recorded @ Recorded::Done { .. } => {
                    cluster.settle().await?;
                    let writes = self.writes(&sight, &decision, Some(&recorded));
                    self.progress.stage("writing", writes.len());
                    let plain: Vec<Write> = writes.iter().map(|(_, w)| w.clone()).collect();
                    let step = || self.progress.step();
                    let written =
                        apply::write(&cluster, &sight.seen.observed, &plain, self.in_flight, &step).await;
                    cluster.settle().await?;
                    let answers = writes
                        .into_iter()
                        .zip(written)
                        .map(|((served, write), w)| (served, write, w))
                        .collect();
                    let published = self.publish(&cluster, &sight, &decision).await;
                    cluster.settle().await?;
                    let mut outcome = self.finish(&sight, &decision, Some(&recorded), answers, changed);
                    match published {
                        Ok(change) => outcome.changed.extend(change),
                        Err(error) => outcome.failures.push((publish::target().to_string(), error)),
                    }
                    return Ok(outcome);
                }
            }
        }
        Err(ClusterError::Conflict(format!("the ledger in namespace {}", ledger::NAMESPACE)).into())
    }

    /// Publishes what this pass has left, where a person wants that.
    async fn publish(
        &self,
        cluster: &dyn Cluster,
        sight: &Sight,
        decision: &Decision,
    ) -> Result<Option<Changed>, ClusterError> {
        let Some(life) = self.config.publish else { return Ok(None) };
        let world = sight.world(&self.scope, self.now);
        let figures = plan::figures(world, &decision.changes, systems::kubermatic::NAME);
        publish::publish(cluster, &figures, self.now, life).await
    }

    /// The writes of a decision: to owners whose addresses are recorded, to owners that wait, and chores.
    fn writes<'d>(
        &self,
        sight: &Sight,
        decision: &'d Decision,
        recorded: Option<&Recorded>,
    ) -> Vec<(Option<&'d Served>, Write)> {
        let ready = |s: &&Served| s.slots.iter().all(|slot| recorded.is_none_or(|r| r.holds(slot)));
        let of = |claim: &Claim| systems::ALL.iter().find(|s| s.name() == claim.owner.system);
        let served = decision.served.iter().filter(ready).filter_map(|served| {
            let claim = &sight.survey.claims[served.claim];
            Some((Some(served), of(claim)?.write(claim, &served.given, &sight.pools, self.config)?))
        });
        let waiting = decision.unmet.iter().zip(&decision.pending).filter_map(|(at, line)| {
            let claim = &sight.survey.claims[*at];
            Some((None, of(claim)?.pending(claim, line)?))
        });
        let chores = sight.survey.chores.iter().filter(|c| self.scope.serves(&c.owner));
        served.chain(waiting).chain(chores.map(|c| (None, c.write.clone()))).collect()
    }

    fn previews<'d>(
        &self,
        sight: &Sight,
        decision: &'d Decision,
    ) -> Vec<(Option<&'d Served>, Write, Written)> {
        let writes = self.writes(sight, decision, None).into_iter();
        writes
            .map(|(served, write)| {
                let written = apply::preview(&sight.seen.observed, &write);
                (served, write, written)
            })
            .collect()
    }

    fn finish(
        &self,
        sight: &Sight,
        decision: &Decision,
        recorded: Option<&Recorded>,
        answers: Vec<(Option<&Served>, Write, Written)>,
        mut changed: Vec<Changed>,
    ) -> Outcome {
        let freed = decision.released.iter().filter(|a| recorded.is_none_or(|r| r.holds(&a.slot)));
        let mut report = ReconcileReport {
            api_version: API_VERSION,
            kind: "ReconcileReport",
            dry_run: self.dry_run,
            allocated: Vec::new(),
            kept: sight.survey.settled.iter().filter(|o| self.scope.serves(o)).count(),
            released: freed.flat_map(|a| lines(a, &sight.pools)).collect(),
            pending: sight.survey.pending.iter().filter(|p| self.in_scope(p)).cloned().collect(),
            problems: sight.survey.problems.iter().chain(&sight.seen.problems).cloned().collect(),
            reads: 0,
            writes: 0,
        };
        report.pending.extend(decision.pending.iter().cloned());
        report.problems.extend(decision.problems.iter().cloned());
        let mut failures = Vec::new();
        let ready = |s: &&Served| recorded.is_none_or(|r| s.slots.iter().all(|slot| r.holds(slot)));
        let granted = decision.served.iter().filter(&ready);
        let granted = granted.flat_map(|s| given(s, &sight.survey.claims[s.claim], &sight.pools)).collect();
        if self.dry_run {
            changed.extend(ledger_preview(sight, decision));
        }
        for (served, write, written) in answers {
            let claim = served.map(|s| &sight.survey.claims[s.claim]);
            match written {
                Written::Done(change) => {
                    changed.push(change);
                    if let (Some(served), Some(claim)) = (served, claim) {
                        report.allocated.extend(given(served, claim, &sight.pools));
                        report.kept += usize::from(served.given.is_empty());
                    }
                }
                Written::Already => report.kept += usize::from(served.is_some()),
                Written::Moot => {
                    if let Some(claim) = claim {
                        let why =
                            "it changed in the meantime; the next reconcile looks at it again".to_owned();
                        report.pending.push(PendingLine::of(&claim.owner, "", "", Reason::Unreconciled, why));
                    }
                }
                Written::Failed(error) => {
                    if let Some(claim) = claim {
                        let why = format!("its addresses are recorded, but it could not be written: {error}");
                        report.pending.push(PendingLine::of(&claim.owner, "", "", Reason::WriteFailed, why));
                    }
                    failures.push((write.target.to_string(), error));
                }
            }
        }
        for served in decision.served.iter().filter(|s| !ready(s)) {
            let owner = &sight.survey.claims[served.claim].owner;
            let why = "its addresses could not be recorded".to_owned();
            report.pending.push(PendingLine::of(owner, "", "", Reason::WriteFailed, why));
        }
        if let Some(Recorded::Done { failed }) = recorded {
            for (page, error) in failed {
                let object = format!("ConfigMap/{}/{}", ledger::NAMESPACE, ledger::object_name(*page));
                report.problems.push(Problem::new("WriteFailed", &object, error.to_string()));
                failures.push((object, error.clone()));
            }
        }
        report.allocated.sort();
        report.pending.sort();
        report.problems.sort();
        report.problems.dedup();
        (report.reads, report.writes) = self.cluster.traffic().counts();
        let (warnings, notes) = (sight.survey.warnings.clone(), sight.seen.notes.clone());
        Outcome { report, granted, changed, failures, warnings, notes }
    }

    fn in_scope(&self, line: &PendingLine) -> bool {
        self.scope.only.is_none()
            && self.scope.namespace.as_ref().is_none_or(|n| *n == line.namespace)
            && self.scope.serves_system(&line.system)
    }
}

/// What all systems make of an observation. All of them, always: what is not served is still in use.
pub fn survey(seen: &Observation, config: &Config) -> Survey {
    let mut all = Survey::default();
    for system in systems::ALL {
        let one = system.survey(&seen.observed, config);
        all.claims.extend(one.claims);
        all.holdings.extend(one.holdings);
        all.chores.extend(one.chores);
        all.pending.extend(one.pending);
        all.problems.extend(one.problems);
        all.settled.extend(one.settled);
        all.warnings.extend(one.warnings);
    }
    all
}

fn ledger_preview(sight: &Sight, decision: &Decision) -> Vec<Changed> {
    let ledger = &sight.seen.ledger;
    let mut changes = decision.changes.clone();
    changes.extend(decision.binds.iter().map(|(s, a)| (s.clone(), ledger::Change::Put(a.clone()))));
    let epoch = ledger.head.as_ref().map_or("", |h| &h.epoch);
    let pages = ledger::by_page(&changes).into_iter().map(|(page, changes)| {
        let name = ledger::object_name(page);
        Changed { before: ledger.object(&name).cloned(), after: ledger.changed(&name, epoch, &changes) }
    });
    pages.filter(|c| c.before.as_ref() != Some(&c.after)).collect()
}

/// The report lines of a served claim.
pub fn given(served: &Served, claim: &Claim, pools: &[Pool]) -> Vec<Allocated> {
    let line = |g: &crate::model::Given| {
        let pool = pools.iter().find(|p| p.name == g.pool);
        let network = pool.map_or("", |p| &p.network);
        Allocated::of(&claim.owner, &g.device, &g.pool, g.address, pool.map(|p| p.prefix), network)
    };
    served.given.iter().map(line).collect()
}

/// The report lines of an entry of the ledger, one per holder.
pub fn lines(allocation: &Allocation, pools: &[Pool]) -> Vec<Allocated> {
    let slot = &allocation.slot;
    let pool = pools.iter().find(|p| p.network == slot.network && p.contains(slot.address));
    let prefix = pool.map(|p| p.prefix);
    let line = |h: &crate::model::Holder| {
        Allocated::of(&h.owner, &h.device, &allocation.pool, slot.address, prefix, &slot.network)
    };
    allocation.holders.iter().map(line).collect()
}

/// Hides nothing and shows nothing.
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: &str, _: usize) {}
    fn step(&self) {}
}
