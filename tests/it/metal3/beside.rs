//! mipam beside a metal3 controller: it waits for one where it defers, and where both serve one pool, nothing has
//! two owners and nothing is left behind.

use super::stand_in::{self, Cache};
use super::{API, ELF, claim, machine, pool, reconcile};
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Bed, Profile};
use mipam::cluster::kube::KubeCluster;
use mipam::cluster::{Answer, Cluster, Traffic};
use mipam::config;
use mipam::model::{Feed, Kind, Listed, Object, ObjectRef};
use mipam::pass::{Outcome, Pass, Silent};
use mipam::plan::Scope;
use mipam::systems::elf::{IP_ADDRESS, IP_CLAIM};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn cluster(bed: &Bed) -> KubeCluster {
    KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30))
}

/// Plays the controller until told to stop.
fn controller(bed: &Bed, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        bed.block_on(stand_in::round(&cluster(bed)));
    }
}

fn text(object: &Value, at: &str) -> String {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Claim to address, from the records alone; panics where a claim has two or an address is there twice.
fn records(bed: &Bed) -> BTreeMap<String, String> {
    let all = bed.list(API, "IPAddress");
    let addresses: BTreeSet<String> = all.iter().map(|a| text(a, "/spec/address")).collect();
    assert_eq!(addresses.len(), all.len(), "an address is there twice: {all:#?}");
    let found: BTreeMap<_, _> =
        all.iter().map(|a| (text(a, "/spec/claim/name"), text(a, "/spec/address"))).collect();
    assert_eq!(found.len(), all.len(), "a claim has two: {all:#?}");
    found
}

/// The ledger's addresses.
fn ledger(bed: &Bed) -> BTreeSet<String> {
    let maps = bed.list("v1", "ConfigMap").into_iter();
    let pages = maps.filter(|m| text(m, "/metadata/name").starts_with("mipam-v4"));
    pages.flat_map(|m| m["data"].as_object().cloned().unwrap_or_default()).map(|(key, _)| key).collect()
}

/// Nothing is left to do: records, claims, machines, the pool's status and the ledger agree.
fn settled(bed: &Bed, count: usize) {
    let report = reconcile(bed, "serve");
    assert_eq!((&report["pending"], &report["problems"]), (&json!([]), &json!([])));
    assert_eq!(reconcile(bed, "serve")["writes"], 0, "an idle pass writes");
    let records = records(bed);
    let claims = bed.list(API, "IPClaim");
    assert_eq!((records.len(), claims.len()), (count, count));
    for claim in &claims {
        let name = text(claim, "/metadata/name");
        let record = format!("lab-{}", records[&name].replace('.', "-"));
        assert_eq!(text(claim, "/status/address/name"), record, "{name}");
    }
    let pool = bed.get(API, "IPPool", "ns", "lab").unwrap();
    let indexes: BTreeMap<String, String> =
        serde_json::from_value(pool["status"]["indexes"].clone()).unwrap_or_default();
    assert_eq!(indexes, records);
    assert_eq!(ledger(bed), records.values().cloned().collect());
    for machine in bed.list(ELF, "ElfMachine") {
        let name = format!("ns-{}-0", text(&machine, "/metadata/name"));
        assert_eq!(text(&machine, "/spec/network/devices/0/ipAddrs/0"), records[&name], "{name}");
    }
}

#[test]
fn deferring_mipam_waits_for_the_metal3_controller_and_finishes() {
    let bed = bed::shared(Profile::Own).lock();
    let names = ["a", "b", "c"];
    bed.create_all([pool(9)].into_iter().chain(names.into_iter().flat_map(machine)).collect());
    let report = reconcile(&bed, "defer");
    let pending = report["pending"].as_array().unwrap();
    assert_eq!(pending.len(), 3, "{report:#}");
    assert!(text(&pending[0], "/message").contains("waits for metal3"), "{report:#}");
    assert_eq!(reconcile(&bed, "defer")["writes"], 0, "to wait costs no write");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| controller(&bed, &stop));
        let end = Instant::now() + Duration::from_secs(60);
        while reconcile(&bed, "defer")["pending"] != json!([]) {
            assert!(Instant::now() < end, "it never finishes");
        }
        for name in ["a", "b"] {
            bed.delete(ELF, "ElfMachine", "ns", name);
            let ours = json!(["elfmachinestaticip.infrastructure.cluster.x-k8s.io"]);
            bed.merge(ELF, "ElfMachine", "ns", name, &json!({ "metadata": { "finalizers": ours } }));
        }
        while bed.list(ELF, "ElfMachine").len() > 1 {
            reconcile(&bed, "defer");
            assert!(Instant::now() < end, "a machine is never let go");
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert_eq!(ledger(&bed), BTreeSet::new(), "what metal3 gives is not mipam's to record");
    assert_eq!(records(&bed).into_keys().collect::<Vec<_>>(), ["ns-c-0"]);
    // mipam takes the pool over as it is.
    settled(&bed, 1);
}

#[test]
fn mipam_and_a_metal3_controller_on_one_pool_give_no_address_twice() {
    let bed = bed::shared(Profile::Own).lock();
    for round in 0..3 {
        let mut objects = vec![pool(24)];
        objects.extend((0..16).map(|i| claim(&format!("c-{i:02}"))));
        objects.extend((0..8).flat_map(|i| machine(&format!("m-{i}"))));
        bed.create_all(objects);
        let stop = AtomicBool::new(false);
        let both = |done: &dyn Fn() -> bool| {
            stop.store(false, Ordering::SeqCst);
            std::thread::scope(|scope| {
                scope.spawn(|| controller(&bed, &stop));
                let end = Instant::now() + Duration::from_secs(60);
                while !done() {
                    reconcile(&bed, "serve");
                    assert!(Instant::now() < end, "round {round}: they never finish");
                }
                stop.store(true, Ordering::SeqCst);
            });
        };
        both(&|| {
            let claims = bed.list(API, "IPClaim");
            claims.len() == 24 && claims.iter().all(|c| c["status"]["address"].is_object())
        });
        settled(&bed, 24);
        for i in 0..8 {
            bed.delete(API, "IPClaim", "ns", &format!("c-{i:02}"));
        }
        both(&|| bed.list(API, "IPClaim").len() == 16);
        settled(&bed, 16);
        for (api, kind) in [(ELF, "ElfMachine"), (API, "IPClaim"), (API, "IPAddress"), (API, "IPPool")] {
            bed.delete_all(api, kind);
        }
        bed.delete_all("cluster.x-k8s.io/v1beta1", "Machine");
        reconcile(&bed, "serve");
        assert_eq!(ledger(&bed), BTreeSet::new(), "round {round}");
    }
}

#[test]
fn a_record_that_metal3_makes_between_list_and_create_wins() {
    // The controller serves all claims right before mipam's first record: the same claim, and another one that
    // takes the very address that mipam has just recorded for the first.
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all(vec![pool(6), claim("b")]);
    let between = Between { inner: cluster(&bed), due: Cell::new(true) };
    let outcome = bed.block_on(pass(&between));
    assert!(!between.due.get(), "nothing was forced");
    assert_eq!(outcome.failures.len(), 0, "{:?}", outcome.failures);
    settled(&bed, 2);
}

#[test]
fn a_stale_controller_meets_the_record_that_mipam_made() {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all(vec![pool(6), claim("a"), claim("b"), claim("c")]);
    let stale: Cache = bed.block_on(async {
        let cluster = cluster(&bed);
        stand_in::look(&cluster).await
    });
    reconcile(&bed, "serve");
    bed.create_all(vec![claim("d")]);
    bed.block_on(stand_in::act(&cluster(&bed), stale));
    settled(&bed, 4);
}

async fn pass(cluster: &dyn Cluster) -> Outcome {
    let config = config::parse("f", "ipam-config: {metal3: serve}").unwrap();
    let pass = Pass {
        cluster,
        config: &config,
        scope: Scope::default(),
        now: 1_800_000_000,
        in_flight: 4,
        dry_run: false,
        progress: &Silent,
        memory: None,
    };
    pass.run(&|_| ()).await.unwrap()
}

/// A cluster on which the controller has a round right before mipam's first record, with a claim more.
struct Between {
    inner: KubeCluster,
    due: Cell<bool>,
}

impl Cluster for Between {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.inner.served(kinds)
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        self.inner.list(feed)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.inner.get(target)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            if kind == IP_ADDRESS && self.due.replace(false) {
                self.inner.create(IP_CLAIM, &Object(claim("a"))).await.unwrap();
                stand_in::round(&self.inner).await;
            }
            self.inner.create(kind, object).await
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.inner.replace(kind, object)
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.inner.replace_status(kind, object)
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        self.inner.delete(target, uid)
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.inner.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.inner.traffic()
    }
}
