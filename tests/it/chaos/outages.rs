//! kube-apiserver and etcd die in the middle of a pass and come back.

use super::run::Ended;
use super::stage::{ACCOUNT, Stage};
use crate::bed::outage::Server::{self, Apiserver, Etcd};
use std::time::{Duration, Instant};

#[test]
fn servers_that_die_in_the_middle_of_a_pass_lose_nothing() {
    let mut stage = Stage::set();
    stage.fleet.create(100);
    let mut ends = Vec::new();
    let outages: [&[Server]; 6] =
        [&[Apiserver], &[Etcd], &[Apiserver, Etcd], &[Apiserver], &[Etcd], &[Apiserver]];
    for (round, servers) in outages.into_iter().enumerate() {
        stage.fleet.create(40);
        stage.fleet.delete(10);
        stage.fleet.bury(2);
        let mark = stage.bed.mark();
        let runs = [stage.start(true, &[]), stage.start(false, &["-n", "dual"])];
        if round.is_multiple_of(3) {
            std::thread::sleep(Duration::from_millis(stage.dice.below(900) as u64));
        } else {
            // Among the first writes are those to the ledger.
            let most = *stage.dice.pick(&[6, 30]);
            let writes = 1 + stage.dice.below(most);
            let start = Instant::now();
            while stage.bed.writes_since(mark, ACCOUNT).len() < writes
                && !runs.iter().all(|run| run.ended())
                && start.elapsed() < Duration::from_secs(30)
            {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let busy = runs.iter().filter(|run| !run.ended()).count();
        let outage = stage.bed.kill(servers);
        std::thread::sleep(Duration::from_millis(stage.dice.below(3000) as u64));
        drop(outage);
        let ended = runs.map(|run| run.finish());
        let show = |e: &Ended| (e.code, e.took.as_secs(), e.stderr.lines().next().map(str::to_owned));
        eprintln!("{servers:?} with {busy} runs at work: {:?}", ended.each_ref().map(show));
        ends.push((busy, ended));
    }
    let busy = ends.iter().filter(|(busy, _)| *busy > 0).count();
    assert!(busy >= 4, "only {busy} outages met a run at work");
    stage.end();
}
