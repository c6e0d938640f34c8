//! A process that watches, and whose watch of one kind lags behind that of the ledger: what others have recorded since
//! is not taken from whom it is for because of what the cache still shows. And one whose watches have died without a word:
//! what others use by then is given to nobody.

use super::bent::{Bent, address, machine, pass, world};
use super::stage::{World, runtime};
use crate::nodes::{cluster_cidr, node};
use mipam::cluster::cache::{Cached, Reads};
use mipam::cluster::{Answer, Cluster, News, Traffic, Watch};
use mipam::ledger::{CONFIG_MAP, NAMESPACE};
use mipam::model::{Feed, Kind, Listed, NODE, Object, ObjectRef, Source};
use mipam::plan::Scope;
use mipam::systems;
use serde_json::json;
use std::time::Duration;

/// Watches tell what there is and no more; that of Nodes tells what there was at this version.
struct Lagging<'a>(&'a World, u64);

impl Cluster for Lagging<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.0.sim.served(kinds)
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        self.0.sim.list(feed)
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        use futures_util::StreamExt as _;
        let told = futures_util::stream::once(async move {
            if feed.kind == NODE {
                let all = self.0.sim.list_as_of(NODE, "", self.1)?;
                let all = all.into_iter().map(Listed::from).collect();
                return Ok(News::All(all, self.1.to_string()));
            }
            Ok(News::All(self.0.sim.list(feed).await?, self.0.sim.version().to_string()))
        });
        Box::pin(told.chain(futures_util::stream::pending()))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.0.sim.get(target)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.0.sim.create(kind, object)
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.0.sim.replace(kind, object)
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Cluster::replace_status(&self.0.sim, kind, object)
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Cluster::delete(&self.0.sim, target, uid)
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.0.sim.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.0.sim.traffic()
    }
}

fn reads() -> Reads {
    let first = Feed::within(CONFIG_MAP, NAMESPACE);
    let mut kinds = systems::kinds();
    kinds.push(CONFIG_MAP);
    let feeds = systems::sources().iter().filter_map(Source::feed).chain([first]).collect();
    Reads { kinds, feeds, first, optional: Vec::new(), hints: Vec::new(), every: Duration::from_secs(5) }
}

/// A pass of a process that has read all lists, and then this has happened.
fn pass_from_cache(world: &World, nodes_at: u64, then: impl AsyncFn()) {
    let lagging = Lagging(world, nodes_at);
    let cache = Cached::new(&lagging, reads());
    let scope = Scope::default();
    runtime().block_on(async {
        tokio::select! {
            () = cache.keep() => {}
            () = async {
                cache.begun().await;
                then().await;
                world.settings(&cache, &scope).run(&|_| ()).await.unwrap();
            } => {}
        }
    });
}

#[test]
fn an_address_that_is_in_use_by_now_is_not_given_because_a_watch_has_died_without_a_word() {
    let world = world(&["a"]);
    pass_from_cache(&world, world.sim.version(), async || {
        let mut by_hand = Object(serde_yaml::from_str(&machine("by-hand")).unwrap());
        by_hand.0["spec"]["lifecycleHooks"] = json!({});
        by_hand.0["spec"]["providerSpec"]["value"]["network"]["devices"] =
            json!([{ "networkName": "lab", "ipAddrs": ["10.0.0.254/16"] }]);
        world.create(&by_hand.0.to_string());
        tokio::time::sleep(Duration::from_secs(11)).await;
    });
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.255/16"));
}

#[test]
fn a_block_that_a_node_shows_by_now_is_not_given_however_new_the_cache_is() {
    let world = World::new("ipam-config: {systems: [nodes]}");
    let spec = json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/23" });
    world.create(&cluster_cidr("one", spec).to_string());
    world.create(&node(1).to_string());
    pass_from_cache(&world, world.sim.version(), async || {
        let mut by_hand = node(2);
        by_hand["spec"] = json!({ "podCIDR": "10.128.0.0/24", "podCIDRs": ["10.128.0.0/24"] });
        world.create(&by_hand.to_string());
    });
    let all = world.sim.all();
    let (_, first) = all.iter().find(|(kind, o)| *kind == NODE && o.name() == "node-0001").unwrap();
    assert_eq!(first.text("/spec/podCIDR"), Some("10.128.1.0/24"));
}

#[test]
fn a_block_on_record_is_not_taken_from_its_node_because_a_cache_shows_the_one_before() {
    let world = World::new("ipam-config: {systems: [nodes]}");
    let spec = json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/24" });
    world.create(&cluster_cidr("one", spec).to_string());
    world.create(&node(1).to_string());
    pass(&world, &Bent::default(), Scope::default());
    let before = world.sim.version();
    // The Node goes, and another run has recorded its block for the next one, which it is about to write.
    world.delete(&NODE.at("", "node-0001"), false);
    world.create(&node(2).to_string());
    pass(&world, &Bent { refused: Some("node-0002".into()), ..Bent::default() }, Scope::default());

    pass_from_cache(&world, before, async || ());
    let all = world.sim.all();
    let (_, second) = all.iter().find(|(kind, o)| *kind == NODE && o.name() == "node-0002").unwrap();
    assert_eq!(second.text("/spec/podCIDR"), Some("10.128.0.0/24"));
}
