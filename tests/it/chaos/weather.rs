//! Faults at random: which of them a request meets.

use super::dice::Dice;
use super::proxy::{Fault, Tactic};
use std::time::Duration;

/// A tactic under which so many of a hundred requests go wrong.
pub fn weather(mut dice: Dice, chance: usize) -> Tactic {
    Box::new(move |_, _| dice.percent(chance).then(|| fault(&mut dice)))
}

/// Every fault but delays, which are many. Those after which nobody knows whether the change was made come
/// most often.
pub const ALL: [Fault; 13] = [
    Fault::CutBefore,
    Fault::Stall,
    Fault::Busy(None),
    Fault::Busy(Some(1)),
    Fault::BusyStatus,
    Fault::Fail(500),
    Fault::Fail(504),
    Fault::CutAfter,
    Fault::FailAfter(500),
    Fault::FailAfter(504),
    Fault::Short,
    Fault::ShortChunk,
    Fault::HalfJson,
];
const LIKELY: &[Fault] = ALL.split_at(7).1;

fn fault(dice: &mut Dice) -> Fault {
    match dice.below(10) {
        0 => Fault::Delay(Duration::from_millis(50 * (1 + dice.below(8) as u64))),
        1..5 => *dice.pick(&ALL),
        _ => *dice.pick(LIKELY),
    }
}
