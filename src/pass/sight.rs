//! What was seen and what the systems make of it, in the form in which it is decided on.

use super::memory::Surveys;
use crate::addr::Span;
use crate::config::Config;
use crate::model::{Chore, Holder, Kind, PendingLine, Pool, Reason, Seconds, Survey, When};
use crate::observe::Observation;
use crate::plan::{self, Decision, Scope, World};
use crate::systems::{self, Scene};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Changes what the systems found before it is decided on, e.g. by one more claim.
pub type Adjust<'a> = &'a dyn Fn(&mut Sight);

/// What was seen, and what the systems make of it.
#[derive(Debug)]
pub struct Sight {
    /// What was seen.
    pub seen: Observation,
    /// What the systems make of it.
    pub survey: Survey,
    /// Every pool, in order.
    pub pools: Arc<[Pool]>,
    /// For each opening of the survey the site that is chosen.
    pub placed: Vec<Option<usize>>,
    /// What is remembered for the next pass, where there is one.
    pub(super) surveys: Option<Surveys>,
}

impl Sight {
    /// What the systems make of what was seen.
    pub fn of(seen: Observation, config: &Config, adjust: Adjust<'_>) -> Self {
        Self::remembering(None, seen, config, adjust)
    }

    /// The same with what the pass before has left.
    pub(super) fn remembering(
        surveys: Option<Surveys>,
        seen: Observation,
        config: &Config,
        adjust: Adjust<'_>,
    ) -> Self {
        let (survey, pools) = (Survey::default(), Arc::new([]));
        let mut sight = Self { seen, survey, pools, placed: Vec::new(), surveys };
        sight.survey(config, adjust);
        sight
    }

    /// Surveys anew, after what was seen has changed.
    pub fn survey(&mut self, config: &Config, adjust: Adjust<'_>) {
        let Survey { known, warnings, .. } = std::mem::take(&mut self.survey);
        self.seen.observed.set_recorded(recorded(&self.seen));
        self.survey = Surveys::survey(&mut self.surveys, &self.seen.observed, config);
        // Whoever was taken away since is reported as what it was, and what was said stays said.
        self.survey.known.extend(known);
        self.survey.warnings.splice(0..0, warnings);
        self.pools = config.pools.iter().chain(&self.survey.pools).cloned().collect();
        adjust(self);
        self.place();
        once(&mut self.survey.warnings);
    }

    /// Decides where claims are made that are yet to be made.
    fn place(&mut self) {
        let openings = std::mem::take(&mut self.survey.openings);
        let (scope, now) = (Scope::default(), self.seen.observed.now());
        self.placed = plan::place(self.world(&scope, now), &self.survey.others, &openings);
        let mut chosen: BTreeMap<(&str, Vec<&str>), Vec<String>> = BTreeMap::new();
        for (opening, site) in openings.iter().zip(&self.placed) {
            let (owner, device) = (opening.owner.clone(), &opening.device);
            let mut pools: Vec<&str> = opening.sites.iter().map(|s| s.pool.as_str()).collect();
            match site {
                Some(site) => {
                    let writes = opening.sites[*site].writes.clone();
                    let pool = pools.remove(*site);
                    if !pools.is_empty() && opening.instead_of.is_none() {
                        chosen.entry((pool, pools)).or_default().push(format!("device {device} of {owner}"));
                    }
                    self.survey.chores.push(Chore { owner, writes, when: When::Before });
                }
                None if opening.instead_of.is_none() => {
                    let message = format!("{} have no free address left for it", pools.join(" and "));
                    let line = PendingLine::of(&owner, device, "", Reason::PoolExhausted, message);
                    self.survey.pending.push(line);
                }
                None => {}
            }
        }
        self.survey.warnings.extend(chosen.into_iter().map(|((pool, others), whose)| {
            let more = if whose.len() > 1 { format!(" and {} more", whose.len() - 1) } else { String::new() };
            let others = others.join(" and ");
            format!("{}{more}: {pool} is used, the first that has room; {others} would fit, too", whose[0])
        }));
        self.survey.openings = openings;
    }

    /// The kinds of those whom a decision gives blocks.
    pub fn block_owners(&self, decision: &Decision) -> impl Iterator<Item = Kind> {
        let claims = decision.served.iter().map(|s| &self.survey.claims[s.claim]);
        let owners = claims.filter(|claim| claim.wants_blocks()).map(|claim| &claim.owner);
        owners.filter_map(|owner| systems::kind_of(&owner.group, &owner.kind))
    }

    /// The world as a system gets it that is about to write.
    pub fn scene<'a>(&'a self, config: &'a Config, now: Seconds) -> Scene<'a> {
        Scene { observed: &self.seen.observed, pools: &self.pools, config, now }
    }

    /// The world as the planner gets it.
    pub fn world<'a>(&'a self, scope: &'a Scope, now: Seconds) -> World<'a> {
        World {
            pools: &self.pools,
            ledger: &self.seen.ledger,
            gone: &self.seen.gone,
            claims: &self.survey.claims,
            holdings: &self.survey.holdings,
            block_pools: &self.survey.block_pools,
            taken: &self.survey.taken,
            at_once: None,
            scope,
            now,
        }
    }
}

/// The blocks on record for objects that are there.
fn recorded(seen: &Observation) -> Vec<Span> {
    let there = |h: &Holder| !h.owner.is_hold() && !seen.gone.contains(&h.owner);
    let held = seen.ledger.blocks().filter(|a| a.holders.iter().any(there));
    held.map(|a| a.slot.span()).collect()
}

/// Says nothing twice.
pub(super) fn once(warnings: &mut Vec<String>) {
    let mut said = BTreeSet::new();
    warnings.retain(|warning| said.insert(warning.clone()));
}
