//! One pass: observe, survey, decide, record, write, report. Every command is a pass or the first half of one.

mod memory;
mod notices;
mod report;
mod sight;

pub use memory::Memory;
pub use sight::{Adjust, Sight};

use crate::apply::{self, Changed, Dry, Ran, Recorded, Written};
use crate::cluster::{Cluster, ClusterError, Patient, jitter};
use crate::config::Config;
use crate::ledger::{self, Ledger, LedgerError, Shrunk};
use crate::model::{
    Allocated, Allocation, Chain, Claim, Given, Kind, Notice, Pool, ReconcileReport, Seconds, Slot, Standing,
    When,
};
use crate::observe::{self, ObserveError};
use crate::plan::{self, Decision, Scope, Served, World};
use crate::publish;
use crate::systems::{self, Scene};
use futures_util::StreamExt;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often a pass begins again because another one was faster.
const ROUNDS: u32 = 12;

/// How many blocks the ledger has at the most whose Nodes do not show them yet.
const BLOCKS_AT_ONCE: usize = 2_000;

/// How old a list may be at the most from which something is given out.
const FRESH: Duration = Duration::from_secs(10);

/// How often what needs no address is looked for again, because the first of it made room for more.
const TIDY_ROUNDS: usize = 4;

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
    /// What the pass before has left, where one follows the other.
    pub memory: Option<&'a RefCell<Memory>>,
}

/// Is told how a pass goes on.
pub trait Progress {
    /// A new stage with so many steps, zero where that is not known.
    fn stage(&self, what: &str, steps: usize);
    /// One step is done.
    fn step(&self);
}

/// How a pass ended.
#[derive(Debug)]
pub struct Outcome {
    /// What is reported.
    pub report: ReconcileReport,
    /// Addresses of the one owner that the pass was for, whether they are new or were its own before; none where it was
    /// for all.
    pub granted: Vec<Allocated>,
    /// Every object that was (or would be) changed.
    pub changed: Vec<Changed>,
    /// Writes that failed, by object: the pass is not complete.
    pub failures: Vec<(String, ClusterError)>,
    /// For stderr.
    pub warnings: Vec<String>,
    /// For `-v`.
    pub notes: Vec<String>,
    /// What can be said on objects about what was done and what waits.
    pub notices: Vec<Notice>,
    /// The world as the pass left it.
    pub sight: Sight,
}

impl Pass<'_> {
    /// Observes and surveys.
    pub async fn look(&self) -> Result<Sight, ObserveError> {
        self.look_at(&|_| ()).await
    }

    async fn look_at(&self, adjust: Adjust<'_>) -> Result<Sight, ObserveError> {
        self.progress.stage("reading the cluster", 0);
        let Memory { ledger, surveys } = self.memory.map(RefCell::take).unwrap_or_default();
        let mut seen = observe::observe(&Patient(self.cluster), ledger, self.in_flight).await?;
        seen.observed.set_now(self.now);
        Ok(Sight::remembering(self.memory.map(|_| surveys), seen, self.config, adjust))
    }

    /// Like [`Pass::look`], for what gives addresses out: the pools must have kept the ranges that they had.
    pub async fn look_to_give(&self, adjust: Adjust<'_>) -> Result<Sight, ObserveError> {
        let sight = self.look_at(adjust).await?;
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

    /// The whole pass. What becomes free only by what it does is used at once.
    pub async fn run(&self, adjust: Adjust<'_>) -> Result<Outcome, ObserveError> {
        let (mut outcome, mut unsettled) = self.turn(adjust).await?;
        let mut moved = !outcome.changed.is_empty();
        let mut left = ROUNDS;
        while unsettled && moved && left > 0 && !self.dry_run && outcome.failures.is_empty() {
            let (later, more) = self.turn(adjust).await?;
            moved = !later.changed.is_empty();
            // Whoever got something does not come again: only turns that serve nobody could go on for ever.
            left -= u32::from(later.report.allocated.is_empty());
            (outcome, unsettled) = (outcome.then(later), more);
        }
        Ok(outcome)
    }

    /// Observes, decides and carries out; and whether that leaves more to decide.
    async fn turn(&self, adjust: Adjust<'_>) -> Result<(Outcome, bool), ObserveError> {
        let cluster = Patient(self.cluster);
        let dry = Dry::new(&cluster);
        let hand: &dyn Cluster = if self.dry_run { &dry } else { &cluster };
        let mut changed = Vec::new();
        let mut pause = Duration::from_millis(20);
        for _ in 0..ROUNDS {
            let mut sight = self.look_to_give(adjust).await?;
            let mut answers = self.tidy(hand, &mut sight, adjust).await?;
            let decision = self.decide(&mut sight, adjust).await?;
            let mut recorded = None;
            if !self.dry_run {
                self.progress.stage("recording addresses", 0);
                let pools = sight.pools.clone();
                match apply::record(&cluster, &mut sight.seen.ledger, &pools, &decision, &mut changed).await?
                {
                    Recorded::Conflict => {
                        changed.extend(answers.into_iter().flat_map(|a| a.ran.changed()));
                        tokio::time::sleep(pause + jitter(pause)).await;
                        pause = (pause * 2).min(Duration::from_secs(2));
                        continue;
                    }
                    done @ Recorded::Done { .. } => {
                        let unsure = given_from_memory(&decision, &sight.seen.ledger, &done);
                        if !apply::still_recorded(&cluster, &sight.seen.ledger, &unsure).await? {
                            changed.extend(answers.into_iter().flat_map(|a| a.ran.changed()));
                            continue;
                        }
                        recorded = Some(done);
                    }
                }
                cluster.settle().await?;
            }
            let beforehand = self.beforehand(&sight, &decision, recorded.as_ref());
            let ran = self.carry_out(hand, &mut sight, &beforehand).await;
            answers.extend(ran.into_iter().map(|ran| Answer { served: None, ran }));
            let (served, mut chains) = self.gifts(&sight, &decision, recorded.as_ref());
            chains.extend(waiting(&sight, &decision, &sight.scene(self.config, self.now)));
            chains.extend(self.chores(&sight, When::After));
            let ran = self.carry_out(hand, &mut sight, &chains).await;
            // There may be thousands of them, and their room is of use to what is said about them.
            drop(chains);
            let whose = served.into_iter().map(Some).chain(std::iter::repeat(None));
            answers.extend(whose.zip(ran).map(|(served, ran)| Answer { served, ran }));
            let scene = sight.scene(self.config, self.now);
            let served = systems::ALL.iter().filter(|s| self.scope.serves_system(s.name()));
            let closing: Vec<Chain> = served.flat_map(|s| s.closing(&scene)).collect();
            let ran = self.carry_out(hand, &mut sight, &closing).await;
            answers.extend(ran.into_iter().map(|ran| Answer { served: None, ran }));
            let mut published = Ok(None);
            if !self.dry_run {
                self.announce(&mut sight, &decision).await;
                cluster.settle().await?;
                published = self.publish(&cluster, &sight, &decision).await;
                cluster.settle().await?;
            }
            let said = report::finish(self, &sight, &decision, recorded.as_ref(), answers, changed);
            let unsettled = decision.unsettled;
            let mut outcome = said.with(sight);
            match published {
                Ok(change) => outcome.changed.extend(change),
                Err(error) => outcome.failures.push((publish::target().to_string(), error)),
            }
            return Ok((outcome, unsettled));
        }
        Err(ClusterError::Conflict(format!("the ledger in namespace {}", ledger::NAMESPACE)).into())
    }

    /// Decides, with a closer look at everybody who would lose an address while it exists.
    async fn decide(&self, sight: &mut Sight, adjust: Adjust<'_>) -> Result<Decision, ObserveError> {
        let mut looked_at = BTreeSet::new();
        let mut ages: BTreeMap<Kind, Duration> = BTreeMap::new();
        loop {
            let at_once = (!self.dry_run).then_some(BLOCKS_AT_ONCE);
            let decision = plan::decide(World { at_once, ..sight.world(&self.scope, self.now) });
            let unsure: Vec<_> = decision.loses.difference(&looked_at).cloned().collect();
            // What is given must not be on anybody whom a cache has not heard of.
            let given = (!decision.served.is_empty()).then(systems::whole).into_iter().flatten();
            let mut wanted: BTreeMap<Kind, Duration> = given.map(|kind| (kind, FRESH)).collect();
            // A block is on record only until its Node shows it: who gives one has to have seen all Nodes since the
            // ledger was read, and a cache may not have.
            wanted.extend(sight.block_owners(&decision).map(|kind| (kind, Duration::ZERO)));
            wanted.retain(|kind, age| ages.get(kind).is_none_or(|had| *age < *had));
            ages.extend(&wanted);
            let again = observe::list_again(&Patient(self.cluster), &mut sight.seen, wanted).await?;
            if unsure.is_empty() && !again {
                return Ok(decision);
            }
            looked_at.extend(unsure.iter().cloned());
            observe::look_closely(&Patient(self.cluster), &mut sight.seen, unsure, self.in_flight).await?;
            sight.survey(self.config, adjust);
        }
    }

    /// Says on objects what their owners should know. It changes nothing, so failing to is worth no more than a
    /// note.
    async fn announce(&self, sight: &mut Sight, decision: &Decision) {
        let told = decision.unmet.iter().zip(&decision.pending).filter_map(|(at, line)| {
            let claim = &sight.survey.claims[*at];
            systems::ALL.iter().find(|s| s.name() == claim.owner.system)?.notice(claim, line)
        });
        let notices: BTreeSet<Notice> = told
            .chain(sight.survey.notices.iter().filter(|n| self.scope.serves_system(&n.system)).cloned())
            .collect();
        let events = notices.iter().map(|n| n.event(self.now)).collect::<Vec<_>>();
        let tell = |event| self.cluster.announce(event);
        let told: Vec<_> = futures_util::stream::iter(&events)
            .map(tell)
            .buffer_unordered(self.in_flight.max(1))
            .collect()
            .await;
        let failed = told.into_iter().find_map(Result::err);
        sight.seen.notes.extend(failed.map(|error| format!("Events could not be written: {error}")));
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

    fn chores(&self, sight: &Sight, when: When) -> Vec<Chain> {
        let due = sight.survey.chores.iter().filter(|c| c.when == when && self.scope.serves(&c.owner));
        due.map(|c| c.writes.clone()).collect()
    }

    /// Carries out what needs no address. What that makes and removes is taken into account at once, so that
    /// an address whose owner goes now is free now.
    async fn tidy<'d>(
        &self,
        hand: &dyn Cluster,
        sight: &mut Sight,
        adjust: Adjust<'_>,
    ) -> Result<Vec<Answer<'d>>, ObserveError> {
        let mut answers = Vec::new();
        for _ in 0..TIDY_ROUNDS {
            let chains = self.chores(sight, When::Before);
            if chains.is_empty() {
                break;
            }
            let ran = self.carry_out(hand, sight, &chains).await;
            let any = ran.iter().flat_map(|r| &r.written).any(|w| matches!(w, Written::Done(_)));
            let gone = ran.iter().flat_map(|r| &r.left).any(|(_, now)| now.is_none());
            answers.extend(ran.into_iter().map(|ran| Answer { served: None, ran }));
            if !any {
                break;
            }
            if gone && !self.dry_run {
                observe::look_again(&Patient(self.cluster), &mut sight.seen, self.in_flight).await?;
            }
            sight.survey(self.config, adjust);
        }
        Ok(answers)
    }

    /// Carries out chains of writes, and takes note of what they leave.
    async fn carry_out(&self, hand: &dyn Cluster, sight: &mut Sight, chains: &[Chain]) -> Vec<Ran> {
        if chains.is_empty() {
            return Vec::new();
        }
        self.progress.stage("writing", chains.len());
        let step = || self.progress.step();
        let ran = apply::write(hand, &sight.seen.observed, chains, self.in_flight, &step).await;
        for (target, now) in ran.iter().flat_map(|r| &r.left) {
            sight.seen.observed.wrote(target, now.clone());
        }
        ran
    }

    /// What is written before the owners whose addresses are recorded.
    fn beforehand(&self, sight: &Sight, decision: &Decision, recorded: Option<&Recorded>) -> Vec<Chain> {
        let scene = sight.scene(self.config, self.now);
        let mut given: BTreeMap<&str, Vec<&Given>> = BTreeMap::new();
        for served in decision.served.iter().filter(|s| is_recorded(s, recorded)) {
            let system = &*sight.survey.claims[served.claim].owner.system;
            given.entry(system).or_default().extend(&served.given);
        }
        let with = systems::ALL.iter().filter_map(|s| Some((s, given.get(s.name())?)));
        with.flat_map(|(system, given)| system.beforehand(given, &scene)).collect()
    }

    /// The writes to owners whose addresses are recorded.
    fn gifts<'d>(
        &self,
        sight: &Sight,
        decision: &'d Decision,
        recorded: Option<&Recorded>,
    ) -> (Vec<&'d Served>, Vec<Chain>) {
        let scene = sight.scene(self.config, self.now);
        let ready = decision.served.iter().filter(|s| is_recorded(s, recorded));
        let gifts = ready.filter_map(|served| {
            let claim = &sight.survey.claims[served.claim];
            let system = systems::ALL.iter().find(|s| s.name() == claim.owner.system)?;
            Some((served, system.write(claim, &served.given, &scene)))
        });
        gifts.unzip()
    }
}

/// What is given without a write to the ledger object that has it, or that decides for it.
fn given_from_memory(decision: &Decision, ledger: &Ledger, recorded: &Recorded) -> BTreeSet<Slot> {
    let given = decision.served.iter().filter(|s| is_recorded(s, Some(recorded))).flat_map(|s| &s.slots);
    let with_home = given.flat_map(|slot| {
        let home = ledger.allocations().get(slot).and_then(|a| match &a.standing {
            Standing::Member { home, .. } => Some(home.clone()),
            _ => None,
        });
        std::iter::once(slot.clone()).chain(home)
    });
    with_home.filter(|slot| !recorded.wrote(slot)).collect()
}

/// What those who wait are told.
fn waiting(sight: &Sight, decision: &Decision, scene: &Scene<'_>) -> Vec<Chain> {
    let told = decision.unmet.iter().zip(&decision.pending).filter_map(|(at, line)| {
        let claim = &sight.survey.claims[*at];
        Some(systems::ALL.iter().find(|s| s.name() == claim.owner.system)?.pending(claim, line, scene))
    });
    told.filter(|chain| !chain.is_empty()).collect()
}

/// Are all its addresses in the ledger? In a dry run they would be.
fn is_recorded(served: &Served, recorded: Option<&Recorded>) -> bool {
    recorded.is_none_or(|r| served.slots.iter().all(|slot| r.holds(slot)))
}

/// How a chain of writes ended, and for whom it was.
struct Answer<'d> {
    /// The claim that it gives addresses to, if it does.
    served: Option<&'d Served>,
    ran: Ran,
}

/// The report lines of a served claim.
pub fn given(served: &Served, claim: &Claim, pools: &[Pool]) -> Vec<Allocated> {
    let line = |g: &Given| {
        let pool = pools.iter().find(|p| p.name == g.pool);
        let network = pool.map_or("", |p| &p.network);
        let (owner, device) = (claim.whose(), claim.device(&g.device));
        Allocated::of(owner, device, &g.pool, g.address, g.block.or(pool.map(|p| p.prefix)), network)
    };
    served.given.iter().map(line).collect()
}

/// The report lines of an entry of the ledger, one per holder.
pub fn lines(allocation: &Allocation, sight: &Sight) -> Vec<Allocated> {
    let slot = &allocation.slot;
    let pool = sight.pools.iter().find(|p| p.network == slot.network && p.contains(slot.address));
    let prefix = slot.block.or(pool.map(|p| p.prefix));
    let line = |h: &crate::model::Holder| {
        let h = sight.survey.known.get(&h.owner).unwrap_or(h);
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
