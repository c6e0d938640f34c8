//! Hours in the life of three processes that watch one cluster, on a clock of its own: they are killed, paused and cut
//! off, in the middle of a pass, too; clocks jump, machines come and go. Requests take their time, and what a process
//! sent before it was paused arrives when it goes on, however late. Whoever sends a write holds the Lease, nothing is
//! given twice, and in the end everybody is served.

use super::random::Random;
use super::stage::{NOW, kinds, runtime};
use mipam::cluster::sim::SimCluster;
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic, Watch};
use mipam::config::{self, Config};
use mipam::model::{Feed, Kind, LEASE, Listed, Object, ObjectRef, Seconds};
use mipam::observe::ObserveError;
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use mipam::watch::lease::{Terms, target};
use mipam::watch::{Host, Settings, run};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

const PROCESSES: usize = 3;

/// A whole day; `MIPAM_SIM_HOURS=720` makes a month of it.
fn hours() -> u64 {
    std::env::var("MIPAM_SIM_HOURS").map_or(24, |hours| hours.parse().expect("a number of hours"))
}

const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools: [{name: lab, ranges: [10.0.0.0/27], prefix: 24, gateway: 10.0.0.254}]
";

/// What befalls one process.
#[derive(Default)]
struct Fate {
    paused: Cell<bool>,
    killed: Notify,
    /// By how much its clock is wrong, in seconds.
    off: Cell<i64>,
}

#[derive(Default)]
struct Counts {
    writes: Cell<usize>,
    holders: RefCell<BTreeSet<String>>,
    /// Writes that arrived when another process had the Lease.
    late: Cell<usize>,
    /// Nobody answers.
    down: Cell<bool>,
    requests: Cell<u64>,
}

/// The cluster as one process reaches it.
struct Seen<'a> {
    sim: &'a SimCluster,
    me: String,
    counts: &'a Counts,
}

impl Seen<'_> {
    fn up(&self) -> Result<(), ClusterError> {
        let (what, why) = ("request".to_owned(), "nobody answers".to_owned());
        if self.counts.down.get() { Err(ClusterError::Transient { what, why, after: None }) } else { Ok(()) }
    }

    fn leads(&self) -> bool {
        let lease = self.sim.all().into_iter().find(|(k, _)| *k == LEASE).expect("a Lease").1;
        lease.text("/spec/holderIdentity") == Some(&self.me)
    }

    /// On its way to the server, from 1 to 97 ms: long enough for much to happen in the middle of a pass.
    async fn way(&self) -> Result<(), ClusterError> {
        let number = self.counts.requests.get();
        self.counts.requests.set(number + 1);
        sleep(Duration::from_millis(1 + number * 37 % 97)).await;
        self.up()
    }

    /// Before anything is sent but the Lease: it must be ours at this very moment.
    async fn write(&self, kind: Kind) -> Result<(), ClusterError> {
        if kind == LEASE || kind.kind == "Namespace" {
            return self.way().await;
        }
        assert!(self.leads(), "it writes a {} though another one is at work", kind.kind);
        self.counts.writes.set(self.counts.writes.get() + 1);
        self.counts.holders.borrow_mut().insert(self.me.clone());
        self.way().await?;
        self.counts.late.set(self.counts.late.get() + usize::from(!self.leads()));
        Ok(())
    }
}

impl Cluster for Seen<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(async move {
            self.way().await?;
            self.sim.served(kinds).await
        })
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(async move {
            self.way().await?;
            self.sim.list(feed).await
        })
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        Cluster::watch(self.sim, feed)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            self.way().await?;
            self.sim.get(target).await
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.write(kind).await?;
            self.sim.create(kind, object).await
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.write(kind).await?;
            self.sim.replace(kind, object).await
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.write(kind).await?;
            Cluster::replace_status(self.sim, kind, object).await
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(async move {
            self.write(target.kind).await?;
            Cluster::delete(self.sim, target, uid).await
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.sim.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.sim.traffic()
    }
}

struct Clerk<'a> {
    fate: &'a Fate,
    born: Instant,
    first: Cell<bool>,
}

impl Host for Clerk<'_> {
    async fn config(&self) -> Option<(Config, Scope)> {
        let config = || config::parse("config.yaml", CONFIG).unwrap();
        self.first.replace(false).then(|| (config(), Scope::default()))
    }

    fn now(&self) -> Seconds {
        NOW + i64::try_from(self.born.elapsed().as_secs()).unwrap() + self.fate.off.get()
    }

    fn stamp(&self) -> String {
        mipam::model::timestamp(self.now())
    }

    fn ended(&self, outcome: &Outcome) {
        // What could not be written because nobody answered is written later.
        let problems = outcome.report.problems.iter().filter(|p| p.kind != "WriteFailed");
        assert_eq!(problems.count(), 0, "{:?}", outcome.report.problems);
    }

    // Whoever is cut off fails; the world is what is checked.
    fn failed(&self, _: &ObserveError) {}

    fn warn(&self, _: &str) {}

    fn say(&self, _: &str) {}
}

/// Goes on only while its process is not paused.
struct Pausable<'a, F>(&'a Fate, Pin<Box<F>>);

impl<F: Future> Future for Pausable<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.0.paused.get() { Poll::Pending } else { self.1.as_mut().poll(context) }
    }
}

async fn process(number: usize, sim: &SimCluster, fate: &Fate, counts: &Counts, born: Instant) {
    for life in 0.. {
        let me = format!("process-{number}-{life}");
        let cluster = Seen { sim, me: me.clone(), counts };
        let terms = Terms {
            lasts: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            every: Duration::from_secs(2),
        };
        let settings = Settings {
            cluster: &cluster,
            in_flight: 8,
            resync: Duration::from_secs(600),
            lease: Some(("mipam".to_owned(), terms)),
            me,
            told: Arc::default(),
        };
        let clerk = Clerk { fate, born, first: Cell::new(true) };
        tokio::select! {
            () = run(&settings, &clerk, std::future::pending()) => {}
            () = fate.killed.notified() => {}
        }
        sleep(Duration::from_secs(7)).await;
    }
}

/// Machine by address; panics where two have one.
fn addresses(sim: &SimCluster) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for (_, machine) in sim.all().into_iter().filter(|(kind, _)| *kind == MACHINE) {
        for address in machine.array("/spec/providerSpec/value/network/devices/0/ipAddrs") {
            let other = owners.insert(address.to_string(), machine.name().to_owned());
            assert_eq!(other, None, "{address} is on {}, too", machine.name());
        }
    }
    owners
}

/// The machines that there are, by name.
#[derive(Default)]
struct Machines {
    made: u64,
    alive: Vec<String>,
}

impl Machines {
    /// A few more, unless there are many.
    fn add(&mut self, sim: &SimCluster, more: u64) {
        for _ in 0..more.min(20u64.saturating_sub(self.alive.len() as u64)) {
            let name = format!("m-{:04}", self.made);
            let hook = json!({ "name": "ipamController", "owner": "network-admin" });
            let machine = json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "metadata": { "name": name, "namespace": "ns" },
                "spec": {
                    "lifecycleHooks": { "preCreate": [hook] },
                    "providerSpec": { "value": { "network": { "devices": [{ "networkName": "lab" }] } } },
                },
            });
            sim.put(MACHINE, &Object(machine)).unwrap();
            self.made += 1;
            self.alive.push(name);
        }
    }
}

/// The number of the process that has the Lease.
fn at_work(sim: &SimCluster) -> Option<usize> {
    let (_, lease) = sim.all().into_iter().find(|(kind, _)| *kind == LEASE)?;
    lease.text("/spec/holderIdentity")?.split('-').nth(1)?.parse().ok()
}

async fn day(sim: &SimCluster, fates: &[Rc<Fate>], counts: &Counts, seed: u64) {
    let (mut random, begun, mut machines) = (Random(seed), Instant::now(), Machines::default());
    while begun.elapsed() < Duration::from_secs(3600 * hours()) {
        let mut whose = usize::try_from(below(&mut random, PROCESSES as u64)).unwrap();
        let what = below(&mut random, 8);
        if (4..=6).contains(&what) {
            // It strikes somewhere in the pass that serves these.
            machines.add(sim, below(&mut random, 4));
            sleep(Duration::from_millis(below(&mut random, 400))).await;
            // Whoever is at work has the most to lose.
            whose = at_work(sim).filter(|_| below(&mut random, 3) > 0).unwrap_or(whose);
        }
        let fate = &fates[whose];
        match what {
            0..=2 => machines.add(sim, 1),
            3 if !machines.alive.is_empty() => {
                let at = usize::try_from(below(&mut random, machines.alive.len() as u64)).unwrap();
                sim.delete(&MACHINE.at("ns", &machines.alive.swap_remove(at))).unwrap();
            }
            4 => {
                fate.paused.set(true);
                sleep(Duration::from_secs(1 + below(&mut random, 40))).await;
                if below(&mut random, 2) == 0 {
                    // What it slept through cannot be told any more.
                    sim.compact();
                }
                fate.paused.set(false);
            }
            5 => fate.killed.notify_one(),
            6 => {
                counts.down.set(true);
                sleep(Duration::from_secs(1 + below(&mut random, 30))).await;
                counts.down.set(false);
            }
            7 => fate.off.set(i64::try_from(below(&mut random, 20_000)).unwrap() - 10_000),
            _ => {}
        }
        sleep(Duration::from_millis(200 + below(&mut random, 90_000))).await;
        addresses(sim);
    }
    sleep(Duration::from_secs(120)).await;
    assert_eq!(addresses(sim).len(), machines.alive.len(), "everybody is served");
    assert!(machines.made > 4 * hours(), "{} machines", machines.made);
}

#[test]
fn hours_of_leases_that_expire_and_clocks_that_jump_have_one_writer_at_a_time() {
    let runtime = runtime();
    runtime.block_on(async {
        let mut served = kinds();
        served.retain(|kind| ["ConfigMap", "Namespace", "Lease"].contains(&kind.kind) || *kind == MACHINE);
        let sim = SimCluster::new(&served);
        let (counts, born) = (Counts::default(), Instant::now());
        let fates: Vec<Rc<Fate>> = (0..PROCESSES).map(|_| Rc::default()).collect();
        let one = |number: usize| {
            let fate = &*fates[number];
            Pausable(fate, Box::pin(process(number, &sim, fate, &counts, born)))
        };
        let all = futures_util::future::join_all((0..PROCESSES).map(one));
        tokio::select! {
            _ = all => unreachable!("processes go on for ever"),
            () = day(&sim, &fates, &counts, 7) => {}
        }
        let lease = sim.get(&target("mipam")).await.unwrap();
        let moves = lease.at("/spec/leaseTransitions").and_then(serde_json::Value::as_u64).unwrap();
        let (writes, holders) = (counts.writes.get(), counts.holders.borrow().len());
        let (hours, late) = (hours(), counts.late.get());
        eprintln!(
            "{hours} h: {writes} writes by {holders} processes, {late} of them came late; the Lease changed hands {moves} times"
        );
        assert!(
            moves > hours && holders as u64 > hours && writes as u64 > 10 * hours,
            "{moves} {holders} {writes}"
        );
        assert!(late > 0 || hours < 24, "no write came late");
    });
}

fn below(random: &mut Random, n: u64) -> u64 {
    random.next() % n
}
