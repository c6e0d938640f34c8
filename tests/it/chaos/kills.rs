//! `kill -9`, two hundred times, at random moments and at chosen writes.

use super::fleet::Place;
use super::proxy::{Fault, Tactic};
use super::stage::Stage;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const KILLS: usize = 200;

/// So many of the kills have to fall between the first write to the ledger and the last to a machine.
const INSIDE: usize = 20;

#[test]
fn two_hundred_killed_runs_leave_nothing_twice_and_nothing_behind() {
    let mut stage = Stage::set();
    stage.fleet.create(60);
    assert_eq!(stage.start(true, &[]).finish().code, Some(0));
    let (mut kills, mut inside, mut aimed, mut ends) = (0, 0, 0, 0);
    // How long a pass takes, so that kills by the clock fall anywhere in it.
    let mut usual = Duration::from_millis(400);
    // Machines that may still wait.
    let mut waiting: BTreeSet<Place> = BTreeSet::new();
    while kills < KILLS {
        waiting.extend(stage.fleet.create(2));
        waiting.extend(stage.fleet.delete(2));
        stage.fleet.bury(3);
        let by_clock = stage.dice.percent(30);
        let (cron, at, before) = (stage.dice.percent(50), stage.dice.below(8), stage.dice.percent(50));
        let kill = if before { Fault::KillBefore } else { Fault::KillAfter };
        let tactic: Tactic =
            Box::new(move |request, n| (!by_clock && request.is_write() && n == at).then_some(kill));
        let dual_only = stage.dice.percent(20);
        let start = Instant::now();
        let victim = stage.start_behind(tactic, cron, if dual_only { &["-n", "dual"] } else { &[] });
        let beside = stage.dice.percent(10).then(|| stage.start(!cron, &[]));
        if by_clock {
            std::thread::sleep(usual.mul_f64(stage.dice.below(110) as f64 / 100.0));
            victim.run.kill();
        }
        let ended = victim.run.finish();
        let tally = victim.proxy.finish();
        if ended.code.is_some() {
            ends += 1;
            usual = start.elapsed();
        } else {
            kills += 1;
            aimed += usize::from(!by_clock);
            let begun = tally.writes.iter().any(|w| w.made && w.path.contains("/configmaps"));
            // Where another run is at work, it is not this one's work that is left.
            if begun && beside.is_none() {
                waiting.retain(|place| stage.fleet.waits(place));
                let left = waiting.iter().any(|(namespace, _)| !dual_only || namespace == "dual");
                inside += usize::from(left);
            }
        }
        if let Some(beside) = beside {
            beside.finish();
        }
    }
    eprintln!("{kills} kills, {aimed} of them aimed, {inside} inside; {ends} runs ended before");
    assert!(inside >= INSIDE, "only {inside} of {kills} kills fell between the first write and the last");
    stage.end();
}
