//! Many runs at once, with different configurations, while users make and delete machines.

use super::stage::Stage;

#[test]
fn runs_at_once_serve_five_hundred_machines_and_give_nothing_twice() {
    let mut stage = Stage::set();
    stage.fleet.create(400);
    let ways: [(bool, &[&str]); 5] =
        [(true, &[]), (false, &[]), (false, &["-n", "dual"]), (true, &["-n", "single"]), (true, &[])];
    let mut rounds = 0;
    let mut codes = Vec::new();
    loop {
        let runs = ways.map(|(cron, more)| stage.start(cron, more));
        if rounds == 0 {
            stage.fleet.create(150);
            stage.fleet.delete(50);
        }
        let ended = runs.map(|run| run.finish());
        rounds += 1;
        codes.extend(ended.iter().map(|e| e.code));
        if ended.iter().all(|e| e.code == Some(0)) {
            break;
        }
        assert!(rounds < 10, "still work to do: {ended:?}");
    }
    eprintln!("{rounds} rounds of {} runs: {codes:?}", ways.len());
    stage.end();
}
