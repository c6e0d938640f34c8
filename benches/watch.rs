//! `mipam reconcile --watch` on a real API server, beside the bare writes that it makes: how long an object waits that
//! comes alone, how long a burst takes, what is written when nothing happens, and how much memory it takes.
//!
//! `cargo bench --bench watch -- [one|burst|idle|memory|churn]...` runs some of it.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/it/bed/mod.rs"]
mod bed;

use bed::accounts::ADMIN;
use bed::{Bed, Profile};
use futures_util::StreamExt;
use mipam::cluster::kube::{Access, KubeCluster};
use mipam::cluster::{Cluster, News};
use mipam::ledger::{CONFIG_MAP, NAMESPACE};
use mipam::model::{Feed, Listed, Object};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const THERE: usize = 1_000;
const ALONE: usize = 500;
/// The machine is noisy: in so many rounds it is measured with mipam and, while that is paused, without.
const ROUNDS: usize = 5;
const BURST: usize = 1_000;
const CACHED: usize = 5_000;
const CHURN: usize = 10_000;
const IN_FLIGHT: usize = 64;

const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: lab, ranges: [10.0.0.0/16], prefix: 16, gateway: 10.0.255.254, nameservers: [10.0.255.253]}
";

fn main() {
    let asked: BTreeSet<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |what: &str| asked.is_empty() || asked.contains(what);
    let bed = Bed::with(Profile::Own);
    if wants("one") {
        one_by_one(&bed);
    }
    if wants("burst") {
        burst(&bed);
    }
    if wants("idle") {
        idle(&bed);
    }
    if wants("memory") {
        memory(&bed);
    }
    if wants("churn") {
        churn(&bed);
    }
}

fn machine(name: &str) -> Value {
    machine_of("network-admin", name)
}

/// One that waits for somebody: mipam, if that is who it is told to be.
fn machine_of(whom: &str, name: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": {
            "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": whom }] },
            "providerSpec": { "value": {
                "kind": "VSphereMachineProviderSpec", "numCPUs": 4, "memoryMiB": 16384, "diskGiB": 120,
                "template": "cluster-rhcos", "network": { "devices": [{ "networkName": "lab" }] },
                "workspace": { "datacenter": "dc", "datastore": "ds", "folder": "/dc/vm/f", "server": "vcenter" },
            } },
        },
    })
}

struct Running(Child, #[allow(dead_code, reason = "it holds the configuration")] tempfile::TempDir);

impl Running {
    fn start(bed: &Bed) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("ipam-config.yaml");
        std::fs::write(&config, CONFIG).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mipam"))
            .args(["reconcile", "--watch", "-q", "-o", "name", "--health-probe-address"])
            .arg(format!("127.0.0.1:{}", bed::free_port()))
            .arg("--kubeconfig")
            .arg(bed.kubeconfig(ADMIN))
            .arg("--config")
            .arg(config)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child, dir)
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").arg(format!("-{signal}")).arg(self.0.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap().trim();
        line.split(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cluster(bed: &Bed) -> KubeCluster {
    let access = Access {
        kubeconfig: Some(bed.kubeconfig(ADMIN)),
        timeout: Duration::from_secs(30),
        ..Access::default()
    };
    bed.block_on(KubeCluster::connect(&access)).unwrap()
}

fn is_served(object: &Object) -> bool {
    !object.array("/spec/providerSpec/value/network/devices/0/ipAddrs").is_empty()
}

/// Waits until so many machines have an address.
async fn served(cluster: &KubeCluster, count: usize) {
    loop {
        let all = cluster.list(Feed::all(MACHINE)).await.unwrap();
        if all.iter().filter(|o| is_served(o)).count() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn fill(bed: &Bed, count: usize) {
    bed.create_all((0..count).map(|i| machine(&format!("there-{i:05}"))).collect());
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// The writes that it takes at least: the page of the ledger that an address more goes into, as full as it is by then, and
/// a machine that gets it, one after the other.
struct Bare<'c> {
    cluster: &'c KubeCluster,
    entries: serde_json::Map<String, Value>,
    like: Listed,
    page: Object,
}

impl<'c> Bare<'c> {
    async fn new(cluster: &'c KubeCluster) -> Self {
        let pages = cluster.list(Feed::within(CONFIG_MAP, NAMESPACE)).await.unwrap();
        let largest = pages.iter().max_by_key(|o| o.0.to_string().len()).unwrap();
        let like = cluster.list(Feed::all(MACHINE)).await.unwrap();
        let like = like.iter().find(|o| is_served(o)).unwrap().clone();
        let page = Object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "bare", "namespace": "default", "labels": largest.0["metadata"]["labels"] },
        }));
        let page = cluster.create(CONFIG_MAP, &page).await.unwrap();
        Self { cluster, entries: largest.0["data"].as_object().unwrap().clone(), like, page }
    }

    async fn pair(&mut self, number: usize) -> Duration {
        // Nobody is called that: when mipam goes on, it leaves it alone.
        let waits = Object(machine_of("nobody", &format!("bare-{number:04}")));
        let waits = self.cluster.create(MACHINE, &waits).await.unwrap();
        let mut gets = Object(self.like.0.clone());
        gets.0["metadata"] = waits.0["metadata"].clone();
        gets.0["metadata"]["annotations"] = self.like.0["metadata"]["annotations"].clone();
        gets.0["spec"]["lifecycleHooks"] =
            json!({ "preTerminate": waits.0["spec"]["lifecycleHooks"]["preCreate"] });
        gets.0["spec"]["providerSpec"]["value"]["network"]["devices"][0]["ipAddrs"] =
            json!([format!("172.16.{}.{}/16", number / 250, number % 250 + 1)]);
        let full = (THERE + number) % self.entries.len() + 1;
        self.page.0["data"] = self.entries.iter().take(full).map(|(k, v)| (k.clone(), v.clone())).collect();
        let begun = Instant::now();
        self.page = self.cluster.replace(CONFIG_MAP, &self.page).await.unwrap();
        self.cluster.replace(MACHINE, &gets).await.unwrap();
        begun.elapsed()
    }
}

fn one_by_one(bed: &Bed) {
    let bed = bed.lock();
    fill(&bed, THERE);
    let live = cluster(&bed);
    let running = Running::start(&bed);
    bed.block_on(async {
        served(&live, THERE).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut told = live.watch(Feed::all(MACHINE));
        while !matches!(told.next().await, Some(Ok(News::UpTo(_)))) {}
        let mut one = async |name: String| {
            let begun = Instant::now();
            live.create(MACHINE, &Object(machine(&name))).await.unwrap();
            let there = Instant::now();
            loop {
                if let Some(Ok(News::Now(object))) = told.next().await
                    && object.name() == name
                    && is_served(&object)
                {
                    return (begun.elapsed(), there.elapsed());
                }
            }
        };
        let mut by_hand = Bare::new(&live).await;
        let (mut times, mut since_there, mut after_quiet) = (Vec::new(), Vec::new(), Vec::new());
        let mut bare = Vec::new();
        for round in 0..ROUNDS {
            let those = round * ALONE / ROUNDS..(round + 1) * ALONE / ROUNDS;
            for i in those.clone() {
                let (sent, there) = one(format!("alone-{i:04}")).await;
                times.push(sent);
                since_there.push(there);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            running.signal("STOP");
            for i in those {
                bare.push(by_hand.pair(i).await);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            running.signal("CONT");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        // After a while in which nothing was heard, its lists are compared with the server's first.
        for i in 0..5 {
            tokio::time::sleep(Duration::from_secs(12)).await;
            after_quiet.push(one(format!("quiet-{i}")).await.1);
        }
        drop(running);
        let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
        let (b50, b99) = (percentile(&mut bare, 50), percentile(&mut bare, 99));
        let (s50, s99) = (percentile(&mut since_there, 50), percentile(&mut since_there, 99));
        let ratio = s50.as_secs_f64() / b50.as_secs_f64();
        let sent = p50.as_secs_f64() / b50.as_secs_f64();
        println!(
            "one by one, {ALONE} beside {THERE}: created to written p50 {s50:.1?}, p99 {s99:.1?}; bare writes p50 {b50:.1?}, p99 {b99:.1?}; ratio of p50 {ratio:.2} (limit 2); with the creation itself p50 {p50:.1?}, p99 {p99:.1?}, ratio {sent:.2}"
        );
        after_quiet.sort();
        println!("one after 12 s of quiet, beside {}: {after_quiet:.1?} (limit 1 s)", THERE + ALONE);
        assert!(after_quiet.iter().all(|took| *took < Duration::from_secs(1)), "{after_quiet:?}");
        assert!(ratio <= 2.0, "{ratio:.2}");
        assert!(s99 < Duration::from_millis(50), "{s99:?}");
    });
}

fn burst(bed: &Bed) {
    let names: Vec<Object> = (0..BURST).map(|i| Object(machine(&format!("burst-{i:04}")))).collect();
    let create = async |live: &KubeCluster| {
        let all = futures_util::stream::iter(&names).map(|o| live.create(MACHINE, o));
        all.buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await
    };
    let mut ratios = Vec::new();
    for round in 1..=3 {
        // With mipam.
        let with = {
            let bed = bed.lock();
            fill(&bed, 1);
            let live = cluster(&bed);
            let _running = Running::start(&bed);
            bed.block_on(async {
                served(&live, 1).await;
                tokio::time::sleep(Duration::from_secs(2)).await;
                let begun = Instant::now();
                create(&live).await;
                served(&live, BURST + 1).await;
                begun.elapsed()
            })
        };
        // The creations and the same writes, by hand.
        let bed = bed.lock();
        bed.namespace("openshift-machine-api");
        bed.namespace(NAMESPACE);
        let live = cluster(&bed);
        let bare = bed.block_on(async {
            let config = mipam::config::parse("bench", CONFIG).unwrap();
            let begun = Instant::now();
            create(&live).await;
            let creation = begun.elapsed();
            let pass = mipam::pass::Pass {
                cluster: &live,
                config: &config,
                scope: mipam::plan::Scope::default(),
                now: 1_800_000_000,
                in_flight: IN_FLIGHT,
                dry_run: true,
                progress: &mipam::pass::Silent,
                memory: None,
            };
            let planned = pass.run(&|_| ()).await.unwrap().changed;
            let planned = planned.into_iter().filter_map(|c| c.after);
            let (ledger, machines): (Vec<Listed>, Vec<Listed>) =
                planned.partition(|o| o.0["kind"] == "ConfigMap");
            let begun = Instant::now();
            for object in &ledger {
                live.create(CONFIG_MAP, object).await.unwrap();
            }
            let all = futures_util::stream::iter(&machines).map(|o| live.replace(MACHINE, o));
            all.buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
            creation + begun.elapsed()
        });
        let ratio = with.as_secs_f64() / bare.as_secs_f64();
        println!(
            "burst of {BURST}, round {round}: {with:.2?}; bare creations and writes {bare:.2?}; ratio {ratio:.2} (limit 1.5)"
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[1] <= 1.5, "{ratios:?}");
}

fn idle(bed: &Bed) {
    let bed = bed.lock();
    fill(&bed, THERE);
    let live = cluster(&bed);
    let _running = Running::start(&bed);
    bed.block_on(served(&live, THERE));
    std::thread::sleep(Duration::from_secs(10));
    let mark = bed.mark();
    std::thread::sleep(Duration::from_secs(60));
    let writes = bed.writes_since(mark, ADMIN);
    let renewals = writes.iter().filter(|l| l.resource == "leases").count();
    println!("idle for 60 s: {} writes, {renewals} of them renewals of the Lease", writes.len());
    assert_eq!(writes.len(), renewals);
}

fn memory(bed: &Bed) {
    let bed = bed.lock();
    fill(&bed, CACHED);
    let live = cluster(&bed);
    let running = Running::start(&bed);
    bed.block_on(served(&live, CACHED));
    // It is idle when the last Event is said.
    let events = || bed.list("v1", "Event").len();
    let mut said = 0;
    while said < CACHED || events() > said {
        said = events();
        std::thread::sleep(Duration::from_secs(5));
    }
    let first = running.memory();
    // One that stands by, with all of them served: its caches are as full.
    let standby = Running::start(&bed);
    std::thread::sleep(Duration::from_secs(15));
    let second = standby.memory();
    drop((running, standby));
    // One that finds all of them served.
    let running = Running::start(&bed);
    std::thread::sleep(Duration::from_secs(30));
    let third = running.memory();
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_mipam")).unwrap().len() / 1024;
    println!(
        "{CACHED} machines cached: {first} KiB after serving them, {second} KiB standing by, {third} KiB after a restart (limit 65536); the program has {size} KiB"
    );
    assert!([first, second, third].iter().all(|kib| *kib < 64 * 1024), "{first} {second} {third}");
}

fn churn(bed: &Bed) {
    const AT_ONCE: usize = 500;
    let bed = bed.lock();
    fill(&bed, 1);
    let live = cluster(&bed);
    let running = Running::start(&bed);
    bed.block_on(served(&live, 1));
    let mut sizes = Vec::new();
    for round in 0..CHURN / AT_ONCE {
        let names: Vec<String> = (0..AT_ONCE).map(|i| format!("churn-{round}-{i}")).collect();
        let objects: Vec<Object> = names.iter().map(|n| Object(machine(n))).collect();
        bed.block_on(async {
            let all = futures_util::stream::iter(&objects).map(|o| live.create(MACHINE, o));
            all.buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
            served(&live, AT_ONCE + 1).await;
            let targets: Vec<_> = names.iter().map(|n| MACHINE.at("openshift-machine-api", n)).collect();
            let all = futures_util::stream::iter(&targets).map(|t| live.delete(t, ""));
            all.buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
        });
        while bed.list("machine.openshift.io/v1beta1", "Machine").len() > 1 {
            std::thread::sleep(Duration::from_millis(50));
        }
        sizes.push(running.memory());
    }
    let (early, late) = (sizes[sizes.len() / 4], sizes[sizes.len() - 1]);
    println!("churn of {CHURN} machines, {AT_ONCE} at a time: memory in KiB {sizes:?}");
    assert!(late < early + early / 4, "it grows: {early} to {late} KiB");
}
