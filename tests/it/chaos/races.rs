//! Many runs at once, with different configurations, while users make and delete machines.

use super::stage::Stage;

#[test]
fn runs_at_once_serve_five_hundred_machines_and_give_nothing_twice() {
    let mut stage = Stage::set();
    stage.fleet.create(400);
    let ways: [(bool, &[&str]); 5] =
        [(true, &[]), (false, &[]), (false, &["-n", "dual"]), (true, &["-n", "single"]), (true, &[])];
    let mut codes = Vec::new();
    // The second round serves those that came during the first; two more are for slow machines.
    for round in 0..4 {
        let runs = ways.map(|(cron, more)| stage.start(cron, more));
        if round == 0 {
            stage.fleet.create(150);
            stage.fleet.delete(50);
        }
        let ended = runs.map(|run| run.finish().code);
        codes.push(ended);
        if ended.iter().all(|code| *code == Some(0)) {
            break;
        }
    }
    eprintln!("rounds of runs at once ended with {codes:?}");
    stage.end();
}
