//! A network that cuts, delays and garbles, between mipam and a server that is well.

use super::proxy::Fault;
use super::stage::Stage;
use super::weather::{self, weather};
use std::collections::BTreeMap;

#[test]
fn a_network_that_cuts_delays_and_garbles_costs_time_and_nothing_else() {
    let mut stage = Stage::set();
    stage.fleet.create(100);
    let mut faults: BTreeMap<Fault, usize> = BTreeMap::new();
    let mut codes = Vec::new();
    // From weather that a run gets through to weather that it does not.
    for chance in [10, 30, 45, 60, 30] {
        let ways: [(bool, &[&str]); 2] = [(true, &[]), (false, &["-n", "dual"])];
        let runs = ways.map(|(cron, more)| {
            let tactic = weather(stage.dice.split(), chance);
            stage.start_behind(tactic, cron, more)
        });
        stage.fleet.create(40);
        stage.fleet.delete(12);
        stage.fleet.bury(2);
        for proxied in runs {
            let ended = proxied.run.finish();
            codes.push((chance, ended.code, ended.took.as_secs()));
            eprint!("{}", ended.stderr);
            for (fault, count) in proxied.proxy.finish().faults {
                *faults.entry(fault).or_default() += count;
            }
        }
    }
    eprintln!("{} faults: {faults:?}; {codes:?}", faults.values().sum::<usize>());
    let mut missed = weather::ALL.to_vec();
    missed.retain(|fault| !faults.contains_key(fault));
    assert!(missed.is_empty(), "{missed:?} never happened");
    stage.end();
}
