//! What a pass leaves for the next one, so that what has not changed need not be read again. To forget it costs time and
//! changes nothing else.

use super::Sight;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::model::{Kind, Object, Observed, Survey};
use crate::systems::{self, System};
use std::collections::HashMap;
use std::sync::Arc;

/// What is remembered from one pass to the next, all of them with the same configuration.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) ledger: Ledger,
    pub(super) surveys: Surveys,
}

impl Memory {
    /// What a pass has left.
    pub fn of(sight: Sight) -> Self {
        Self { ledger: sight.seen.ledger, surveys: sight.surveys.unwrap_or_default() }
    }
}

/// What objects have said that speak for themselves, by where they are in memory: one that has changed is another one.
#[derive(Debug, Default)]
pub(super) struct Surveys(HashMap<usize, (Arc<Object>, Arc<Survey>)>);

impl Surveys {
    /// What all systems make of an observation. All of them, always: what is not served is still in use.
    pub(super) fn survey(this: &mut Option<Self>, observed: &Observed, config: &Config) -> Survey {
        let mut all = Survey::default();
        let mut before = this.take();
        let mut after = before.as_ref().map(|_| Self::default());
        for system in systems::ALL {
            all.append(system.survey(observed, config));
            for kind in system.one_by_one() {
                for object in observed.list(*kind) {
                    match (&mut before, &mut after) {
                        (Some(before), Some(after)) => {
                            let said = before.one(*system, *kind, object, config);
                            all.append(Survey::clone(&said));
                            after.0.insert(Arc::as_ptr(object).addr(), (object.clone(), said));
                        }
                        _ => all.append(system.survey_one(*kind, object, config)),
                    }
                }
            }
        }
        *this = after;
        all
    }

    fn one(&mut self, system: &dyn System, kind: Kind, object: &Arc<Object>, config: &Config) -> Arc<Survey> {
        match self.0.remove(&Arc::as_ptr(object).addr()) {
            Some((_, said)) => said,
            None => Arc::new(system.survey_one(kind, object, config)),
        }
    }
}
