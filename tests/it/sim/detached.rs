//! Whether a mipam is at work is not a matter of clocks: a Lease that has run out by the clock of whoever detaches may be
//! kept fresh by another one.

use super::bent::{Bent, CONFIG, pass, world};
use super::stage::{NOW, runtime};
use mipam::cli::Cli;
use mipam::commands::{ExitStatus, run_on};
use mipam::ledger::NAMESPACE;
use mipam::model::{LEASE, Object, timestamp};
use mipam::output::Printer;
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::time::Duration;

fn detached(renewed: bool) -> (ExitStatus, bool) {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    let lease = |at: i64| {
        let spec = json!({ "holderIdentity": "it", "leaseDurationSeconds": 15, "renewTime": timestamp(NOW - 60 + at) });
        let metadata = json!({ "name": "mipam", "namespace": NAMESPACE });
        let version = "coordination.k8s.io/v1";
        Object(json!({ "apiVersion": version, "kind": "Lease", "metadata": metadata, "spec": spec }))
    };
    world.sim.put(LEASE, &lease(0)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let words = ["mipam", "detach", "--yes", "--config", config.to_str().unwrap()];
    let cli = Cli::from_args(words.map(str::to_owned)).unwrap();
    let printer = Printer::to(cli.output, Box::new(std::io::sink()), Box::new(std::io::sink()));
    let runtime = runtime();
    let (status, ()) = runtime.block_on(async {
        tokio::join!(run_on(&cli, &world.sim, world.now, &printer), async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            if renewed {
                world
                    .sim
                    .edit(&LEASE.at(NAMESPACE, "mipam"), |o| o.0["spec"] = lease(5).0["spec"].clone())
                    .unwrap();
            }
        })
    });
    let machine = world.sim.edit(&MACHINE.at("ns", "a"), |_| ()).unwrap();
    (status, machine.array("/spec/lifecycleHooks/preTerminate").is_empty())
}

#[test]
fn a_lease_that_is_renewed_by_a_clock_that_is_late_is_held() {
    assert_eq!(detached(true), (ExitStatus::Error, false));
}

#[test]
fn a_lease_that_nobody_renews_any_more_keeps_nobody_from_detaching() {
    assert_eq!(detached(false), (ExitStatus::Fine, true));
}
