//! Cost grows with the number of objects and no faster.

use super::*;
use std::time::{Duration, Instant};

/// Opens, changes every machine and settles.
fn pass(text: &str, count: usize) -> Duration {
    let world = World::with(&[("all.yaml", text)]);
    let start = Instant::now();
    let cluster = world.open();
    let machines = now(cluster.list(Feed::all(MACHINE))).unwrap();
    assert_eq!(machines.len(), count);
    for machine in machines {
        let mut machine = (*machine).clone();
        machine.annotate("changed", "by the test");
        now(cluster.replace(MACHINE, &machine)).unwrap();
    }
    now(cluster.settle()).unwrap();
    let took = start.elapsed();
    assert_eq!(world.text("all.yaml").matches("by the test").count(), count);
    took
}

fn stream(count: usize) -> String {
    (0..count).map(|n| machine(&format!("m{n:05}"))).collect::<Vec<_>>().join("---\n")
}

fn list(count: usize) -> String {
    let item = |n| format!("- {}\n", machine(&format!("m{n:05}")).trim_end().replace('\n', "\n  "));
    format!("apiVersion: v1\nkind: List\nitems:\n{}", (0..count).map(item).collect::<String>())
}

#[test]
fn five_thousand_machines_in_one_file_cost_five_times_a_thousand() {
    for make in [stream, list] {
        let ratio = || {
            let small = pass(&make(1_000), 1_000).min(pass(&make(1_000), 1_000));
            pass(&make(5_000), 5_000).as_secs_f64() / small.as_secs_f64()
        };
        // A machine that does something else for a while does so once, and not whenever it is looked at.
        assert!((0..3).any(|_| ratio() < 12.0), "three times");
    }
}
