//! A process whose cache of Nodes stands still, beside runs that give Nodes their blocks: it must not give a block that a
//! Node shows which its cache does not.

use super::until;
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use crate::nodes::{check, cluster_cidr, finish, node, start};
use mipam::cluster::kube::{Access, KubeCluster};
use mipam::cluster::{Answer, Cluster, ClusterError, News, Traffic, Watch};
use mipam::config::{self, Config};
use mipam::model::{Feed, Kind, Listed, NODE, Object, ObjectRef, Seconds};
use mipam::observe::ObserveError;
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::watch::{Host, Settings};
use serde_json::json;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NODES: usize = 1_000;

/// What the watch of Nodes tells is what there was when it began, and nothing more.
struct Frozen(KubeCluster);

impl Cluster for Frozen {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.0.served(kinds)
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        self.0.list(feed)
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        use futures_util::StreamExt as _;
        if feed.kind != NODE {
            return self.0.watch(feed);
        }
        let begun = futures_util::stream::once(async move {
            let all = self.0.list(feed).await?;
            Ok::<News, ClusterError>(News::All(all, u64::MAX.to_string()))
        });
        Box::pin(begun.chain(futures_util::stream::pending()))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.0.get(target)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.0.create(kind, object)
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.0.replace(kind, object)
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.0.replace_status(kind, object)
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        self.0.delete(target, uid)
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.0.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.0.traffic()
    }
}

struct Plain<'a> {
    first: Cell<bool>,
    given: &'a AtomicUsize,
}

impl Host for Plain<'_> {
    async fn config(&self) -> Option<(Config, Scope)> {
        let config = config::parse("test", "ipam-config: {systems: [nodes]}").unwrap();
        self.first.replace(false).then(|| (config, Scope::default()))
    }

    fn now(&self) -> Seconds {
        1_800_000_000
    }

    fn stamp(&self) -> String {
        "2027-01-15T08:00:00.000000Z".to_owned()
    }

    fn ended(&self, outcome: &Outcome) {
        self.given.fetch_add(outcome.report.allocated.len(), Ordering::Relaxed);
    }

    fn failed(&self, error: &ObserveError) {
        panic!("{error}");
    }

    fn warn(&self, _: &str) {}

    fn say(&self, _: &str) {}
}

#[test]
fn a_watch_with_a_stale_cache_beside_other_runs_gives_no_block_twice() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    let spec = json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/13" });
    bed.create_all(vec![cluster_cidr("all", spec)]);
    bed.create_all((0..NODES / 4).map(node).collect());
    let access = Access {
        kubeconfig: Some(bed.kubeconfig(ADMIN)),
        timeout: Duration::from_secs(30),
        ..Access::default()
    };
    let (given, stop) = (AtomicUsize::new(0), tokio::sync::Notify::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let frozen = Frozen(KubeCluster::connect(&access).await.unwrap());
                let settings = Settings {
                    cluster: &frozen,
                    in_flight: 16,
                    resync: Duration::from_millis(50),
                    lease: None,
                    me: "stale".to_owned(),
                    told: Arc::default(),
                };
                mipam::watch::run(
                    &settings,
                    &Plain { first: Cell::new(true), given: &given },
                    stop.notified(),
                )
                .await;
            });
        });
        // Ended whatever happens below, or the thread would never be joined.
        let end = Ended(&stop);
        until("the watch is at work", || given.load(Ordering::Relaxed) > 0);
        // Its cache still shows the first Nodes without blocks. The others come a few at a time, served by whoever is
        // first, and what a Node shows is taken out of the ledger with the next write.
        for part in 0..6 {
            let first = NODES / 4 + part * (NODES / 8);
            bed.create_all((first..first + NODES / 8).map(node).collect());
            finish(start(&bed));
        }
        drop(end);
    });
    finish(start(&bed));
    check(&bed, NODES, 1);
}

struct Ended<'a>(&'a tokio::sync::Notify);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
