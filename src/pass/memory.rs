//! What a pass leaves for the next one, so that what has not changed need not be read again. To forget it costs time and
//! changes nothing else.

use super::Sight;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::model::{Listed, Observed, Role, Survey};
use crate::systems;
use std::collections::HashMap;

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
pub(super) struct Surveys {
    known: HashMap<usize, Known>,
    /// How often all objects were asked.
    round: u64,
}

/// What one object has said.
#[derive(Debug)]
struct Known {
    /// For as long as it is here, no other one can be where it is.
    _object: Listed,
    said: Box<Survey>,
    /// When it was last there.
    round: u64,
}

impl Surveys {
    /// What all systems make of an observation. All of them, always: what is not served is still in use.
    pub(super) fn survey(this: &mut Option<Self>, observed: &Observed, config: &Config) -> Survey {
        let mut all = Survey::default();
        if let Some(this) = this {
            this.round += 1;
        }
        for system in systems::ALL {
            all.append(system.survey(observed, config));
            for kind in system.sources().iter().filter(|s| s.role == Role::Alone).map(|s| s.kind) {
                for object in observed.list(kind) {
                    let ask = || system.survey_one(kind, &object.glance(), config);
                    match this {
                        Some(this) => all.repeat(this.said(object, ask)),
                        None => all.append(ask()),
                    }
                }
            }
        }
        if let Some(Self { known, round }) = this {
            known.retain(|_, known| known.round == *round);
        }
        all.name_machines();
        all
    }

    fn said(&mut self, object: &Listed, ask: impl FnOnce() -> Survey) -> &Survey {
        let known = self.known.entry(object.address());
        let known = known.or_insert_with(|| Known {
            _object: object.clone(),
            said: Box::new(ask().fitted()),
            round: 0,
        });
        known.round = self.round;
        &known.said
    }
}
