//! The simulation is held to the real API server: the same random calls on both, the same answers. Where they
//! differ, the simulation is wrong.

mod calls;
mod garbage;
mod lists;
mod servers;

use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use mipam::cluster::kube::KubeCluster;
use mipam::cluster::sim::SimCluster;
use mipam::ledger::CONFIG_MAP;
use mipam::systems::openshift::MACHINE;
use servers::{Real, Server};
use std::time::{Duration, Instant};

const NAMESPACE: &str = "conformance";

/// Runs a test with the real server, the simulation and a seed.
fn with_both(test: impl Fn(&Real<'_>, &SimCluster, u64)) {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace(NAMESPACE);
    let client = bed.client(ADMIN);
    let real = Real { bed: &bed, kube: KubeCluster::new(client.clone(), Duration::from_secs(30)), client };
    let sim = SimCluster::new(&[MACHINE, CONFIG_MAP]);
    sim.namespace(NAMESPACE);
    let seed = std::env::var("MIPAM_SIM_SEED").ok().and_then(|s| s.parse().ok());
    test(&real, &sim, seed.unwrap_or_else(mipam::cluster::random) | 1);
}

/// Compares what both say, one answer after the other.
fn on_both(story: impl Fn(&dyn Server, u64) -> Vec<String>) {
    with_both(|real, sim, seed| {
        let (wanted, got) = (story(real, seed), story(sim, seed));
        for (at, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
            assert_eq!(got, wanted, "MIPAM_SIM_SEED={seed}, answer {at}");
        }
        assert_eq!(got.len(), wanted.len(), "MIPAM_SIM_SEED={seed}");
    });
}

#[test]
fn the_simulation_answers_as_the_api_server_does() {
    on_both(calls::story);
}

#[test]
fn the_simulation_lists_page_by_page_as_the_api_server_does() {
    on_both(lists::story);
}

#[test]
fn the_simulation_collects_garbage_as_the_controller_does() {
    with_both(|real, sim, seed| {
        let goes = garbage::make(sim, seed);
        assert_eq!(garbage::make(real, seed), goes, "MIPAM_SIM_SEED={seed}");
        for orphan in [false, true] {
            garbage::go(sim, &goes, orphan);
            sim.collect_garbage();
            let wanted = garbage::left(sim);
            // What the controller has not heard of before its owner goes, it cannot leave to itself.
            garbage::heard(real);
            garbage::go(real, &goes, orphan);
            let start = Instant::now();
            while garbage::left(real) != wanted && start.elapsed() < garbage::PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
            }
            // It must not go on from there either.
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(
                wanted,
                garbage::left(real),
                "MIPAM_SIM_SEED={seed}: the simulation, and the controller"
            );
        }
    });
}

/// xorshift
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n) as usize
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
