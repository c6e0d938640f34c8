//! Faults at random: which of them a request meets.

use super::dice::Dice;
use super::proxy::{Fault, Tactic};
use std::time::Duration;

/// A tactic under which so many of a hundred requests go wrong.
pub fn weather(mut dice: Dice, chance: usize) -> Tactic {
    Box::new(move |_, _| dice.percent(chance).then(|| fault(&mut dice)))
}

fn fault(dice: &mut Dice) -> Fault {
    match dice.below(24) {
        0..=2 => Fault::CutBefore,
        3..=5 => Fault::CutAfter,
        6..=8 => Fault::Delay(Duration::from_millis(50 * (1 + dice.below(8) as u64))),
        // It costs as long as mipam waits, so it is rare.
        9 if dice.percent(30) => Fault::Stall,
        9 | 10 => Fault::Busy(None),
        11 => Fault::Busy(Some(1)),
        12 => Fault::BusyStatus,
        13 => Fault::Fail(500),
        14 => Fault::Fail(504),
        15 => Fault::FailAfter(500),
        16 | 17 => Fault::FailAfter(504),
        18 | 19 => Fault::Short,
        20 | 21 => Fault::ShortChunk,
        _ => Fault::HalfJson,
    }
}
