//! The guarantees, checked after every write, with none of the planner's code: a mirror of the world is kept up
//! to date from what the simulation says has changed, and each change is held against the world before it.

mod blocks;
mod kubevirt;
mod mirror;
mod rules;

pub use mirror::{Entry, Machine, Mirror, Standing};
pub use rules::{Rules, within};

use super::random::tale::tell_change;
use mipam::cluster::sim::{Event, SimCluster, Verb};
use mipam::model::Object;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What was true before the last write.
#[derive(Clone, Default)]
pub struct Checker {
    pub world: Mirror,
    /// Addresses that people have put on machines (by uid), and when: what mipam gives is what it answers for.
    by_hand: BTreeMap<(String, IpAddr), u64>,
    /// What mipam has given to machines (by uid), and in which networks it may be:
    /// those in which it was recorded then.
    given: BTreeMap<(String, IpAddr), BTreeSet<String>>,
    /// All that machines (by uid) have ever carried: what is recorded for its sake was seen on it at some time.
    carried: BTreeSet<(String, IpAddr)>,
    /// Addresses that Nodes and statuses show, and since when.
    shown: BTreeMap<IpAddr, u64>,
    seen: u64,
    blocks: blocks::Blocks,
}

impl Checker {
    /// Takes what has changed for granted: a person did it.
    pub fn accept(&mut self, sim: &SimCluster) {
        for event in self.news(sim) {
            tell_change(&self.world, &event);
            if event.kind.kind == "Machine" && event.verb != Verb::Deleted {
                let uid = event.object.uid();
                let was = self.world.machines.get(uid);
                let had = was.map(Machine::carried).unwrap_or_default();
                let now = Machine::read(&event.object.0);
                // What a person lets go with an address is in use from then on.
                let let_go = !now.gated && was.is_some_and(|m| m.gated);
                for address in now.carried() {
                    let place = (uid.to_owned(), address);
                    if !had.contains(&address) || let_go && self.by_hand.contains_key(&place) {
                        self.by_hand.insert(place.clone(), self.seen);
                    }
                    self.carried.insert(place);
                }
            }
            if blocks::concerns(&event) {
                self.blocks.accept(&event);
            }
            self.world.apply(&event);
        }
        let shown = self.world.shown();
        self.shown.retain(|address, _| shown.contains(address));
        for address in shown {
            self.shown.entry(address).or_insert(self.seen);
        }
    }

    /// Checks what a write of mipam has made of the world; `rules` are those of the run that wrote.
    pub fn check(&mut self, sim: &SimCluster, rules: &Rules) {
        for event in self.news(sim) {
            let object = &event.object;
            tell_change(&self.world, &event);
            if blocks::concerns(&event) {
                self.blocks.check(&event, rules);
            } else if event.kind.kind == "Machine" {
                assert!(event.verb == Verb::Modified, "S5: {} was made or deleted", object.name());
                let before =
                    self.world.machines.get(object.uid()).cloned().expect("a machine that was there");
                self.world.apply(&event);
                let carried = self.world.machines[object.uid()].carried();
                self.carried.extend(carried.into_iter().map(|a| (object.uid().to_owned(), a)));
                self.machine(object.uid(), &before, rules);
            } else if object.name().starts_with("mipam-v") {
                assert!(event.verb != Verb::Deleted, "the ledger object {} was deleted", object.name());
                let before = self.world.clone();
                self.world.apply(&event);
                self.page(object.name(), &before, rules);
            } else if event.kind.kind == "IPAddress" && event.verb == Verb::Added {
                // S1: one record of an address in a network, whatever claims and pools there are.
                let all = sim.all();
                let network = |record: &Object| {
                    let at = ["/spec/pool/name", "/spec/poolRef/name"];
                    let name = at.iter().find_map(|at| record.text(at)).unwrap_or_default();
                    let is =
                        |o: &Object| o.name() == name && ["", record.namespace()].contains(&o.namespace());
                    let pool = all.iter().find(|(k, o)| k.kind.ends_with("IPPool") && is(o));
                    pool.and_then(|(_, o)| o.label("cluster.x-k8s.io/network-name"))
                        .unwrap_or_default()
                        .to_owned()
                };
                let same = all.iter().filter(|(k, o)| {
                    *k == event.kind
                        && o.text("/spec/address") == object.text("/spec/address")
                        && network(o) == network(object)
                });
                assert_eq!(same.count(), 1, "S1: {} is of an address that another one has", object.name());
                self.is_recorded(object);
            } else {
                if event.kind.kind == "IPAMClaim" {
                    kubevirt::claim(sim, &event, rules);
                }
                if event.kind.kind == "IPAddressClaim" && event.verb == Verb::Modified {
                    claim(sim, object);
                }
                let served = [
                    "ElfMachine",
                    "IPClaim",
                    "IPAddress",
                    "IPPool",
                    "IPAddressClaim",
                    "InClusterIPPool",
                    "GlobalInClusterIPPool",
                    "IPAMClaim",
                ];
                let ours = served.contains(&event.kind.kind) || object.name().starts_with("mipam-");
                assert!(ours, "S5: {} was written", object.name());
            }
        }
    }

    /// A record was made: the ledger has its address, for the claim that it names.
    fn is_recorded(&self, record: &Object) {
        let text = |at: &str| record.text(at).unwrap_or_default();
        let claim = [text("/spec/claimRef/name"), text("/spec/claim/name")].concat();
        let address: IpAddr = text("/spec/address").parse().expect("an address");
        let mut entries = self.world.pages.values().flat_map(|page| page.values());
        let firm = entries
            .any(|e| e.address == address && e.holders.iter().any(|h| h.name == claim) && self.world.firm(e));
        assert!(firm, "{} was made before the ledger had {address} for {claim}", record.name());
    }

    fn news(&mut self, sim: &SimCluster) -> Vec<Event> {
        let events = sim.changes(self.seen).expect("what has changed since the last check");
        self.seen = sim.version();
        events
    }

    /// A machine was written.
    fn machine(&mut self, uid: &str, before: &Machine, rules: &Rules) {
        let after = self.world.machines[uid].clone();
        let name = &after.name;
        // S5: what is paused, and what belongs to others, is never touched.
        assert!(!before.paused, "S5: {name} is paused and was written");
        assert_eq!(before.others, after.others, "S5: what belongs to others on {name}");
        // Whoever waits is let go with an address, when it goes, or when a person insists.
        let let_go = before.gated && !after.gated;
        let served = after.deleting || !after.carried().is_empty() || after.devices.is_empty();
        assert!(!let_go || served || rules.forced, "{name} was let go without an address");
        for (was, is) in before.devices.iter().zip(&after.devices) {
            if was == is {
                continue;
            }
            // S4: an assignment that exists is never changed.
            assert!(was.is_empty(), "S4: {name} had {was:?} and has {is:?}");
            for address in is {
                let networks = self.given(uid, before, *address, rules);
                self.given.insert((uid.to_owned(), *address), networks);
            }
        }
    }

    /// An address was written to a machine; returns in which networks.
    fn given(&self, uid: &str, before: &Machine, given: IpAddr, rules: &Rules) -> BTreeSet<String> {
        let name = &before.name;
        // Record before write. Surplus is still kept for its owner, in case a late writer gives it after all.
        // So is what was withdrawn while a run was giving it back to a machine that a person has wiped: it rests, for
        // nobody else, until the next pass binds it again.
        let holds = |e: &&Entry| {
            let rests = !before.gated && matches!(e.standing, Standing::Cooling(until) if until > rules.now);
            e.address == given
                && e.holders.iter().any(|h| h.uid == uid)
                && (self.world.firm(e) || e.standing == Standing::Surplus || rests)
        };
        // Recorded in two networks, where a pool has moved: the run gives it in one that its pools are in.
        let recorded = || self.world.entries().filter(holds);
        let offered = || recorded().filter(|e| rules.offers(given, &e.network));
        let entry = offered().find(|e| self.world.firm(e)).or_else(|| offered().next());
        let entry = entry.or_else(|| recorded().next());
        let Some(entry) = entry else {
            panic!("S1: {given} was written to {name} and is not bound in the ledger")
        };
        // S2. What a machine had before is given back whatever the pools are now.
        if before.gated {
            rules.allows(given, &entry.network, name);
        }
        let networks: BTreeSet<String> = recorded().map(|e| e.network.clone()).collect();
        // S1: what mipam gives is on nobody else.
        for (other_uid, other) in &self.world.machines {
            if other_uid == uid || !other.carried().contains(&given) {
                continue;
            }
            let excused = match self.by_hand.get(&(other_uid.clone(), given)) {
                // What a person does after the run began is reported, never moved. What a person has put on a
                // machine that waits is not in use yet. In which of several networks a person meant it to be
                // is not known here.
                Some(when) => *when > rules.fresh_since || other.gated || rules.networks() > 1,
                None => {
                    let theirs = self.given.get(&(other_uid.clone(), given));
                    networks.len() > 1 || theirs.is_none_or(|n| n.len() > 1 || *n != networks)
                }
            };
            assert!(excused, "S1: {given} was given to {name} and is on {}", other.name);
        }
        networks
    }

    /// A ledger object was written.
    fn page(&self, page: &str, before: &Mirror, rules: &Rules) {
        let (after, nothing) = (&self.world, BTreeMap::new());
        let entries = |world: &Mirror| world.pages.get(page).cloned().unwrap_or_else(|| nothing.clone());
        let (old, new) = (entries(before), entries(after));
        // S3: nothing bound is freed while its owner exists. Surplus is what a machine does not carry that had,
        // when the run looked, another address of the same family instead.
        for (key, entry) in &old {
            for holder in entry.holders.iter().filter(|_| before.firm(entry)) {
                let kept = new.get(key).filter(|e| !matches!(e.standing, Standing::Cooling(_)));
                let still = kept.is_some_and(|e| e.holders.iter().any(|h| h.uid == holder.uid));
                let other = |(uid, a): &(String, IpAddr)| {
                    *uid == holder.uid && *a != entry.address && a.is_ipv4() == entry.address.is_ipv4()
                };
                let replaced = self.carried.iter().any(other);
                let surplus = after
                    .machines
                    .get(&holder.uid)
                    .is_none_or(|m| replaced && !m.carried().contains(&entry.address));
                assert!(
                    still || rules.forced || surplus,
                    "S3: {key} was taken from {} which exists: {entry:?} became {:?}",
                    holder.name,
                    new.get(key)
                );
            }
        }
        // What is marked as surplus goes only if its owner does not carry it.
        for (key, entry) in old.iter().filter(|(_, e)| e.standing == Standing::Surplus) {
            let carries =
                |uid: &str| after.machines.get(uid).is_some_and(|m| m.carried().contains(&entry.address));
            let gone = !new.contains_key(key) && entry.holders.iter().any(|h| carries(&h.uid));
            assert!(
                !gone || rules.forced || rules.fresh_since == 0,
                "S3: {key} is carried and was taken out: {entry:?}"
            );
        }
        // Nor does what a machine carries lose what binds it, by a change to the home of its set. A home that is
        // only marked as surplus is still kept for its owner: a late writer gave the set after all, and the next
        // pass binds it again. So it does where a run was shown an old list.
        for member in after.entries() {
            let Standing::Member((home, network)) = &member.standing else { continue };
            let carries =
                |uid: &str| after.machines.get(uid).is_some_and(|m| m.carried().contains(&member.address));
            let carried = member.holders.iter().any(|h| carries(&h.uid));
            let marked =
                |e: &Entry| e.standing == Standing::Surplus && e.address == *home && e.network == *network;
            let kept = after.firm(member) || after.entries().any(marked);
            assert!(
                kept || !carried || !before.firm(member) || rules.forced || rules.fresh_since == 0,
                "S3: {member:?} is carried, and nothing binds it any more: {:?} became {:?}",
                before.entries().find(|e| e.address == *home && e.network == *network),
                after.entries().find(|e| e.address == *home && e.network == *network),
            );
        }
        for (key, entry) in new.iter().filter(|(_, e)| !matches!(e.standing, Standing::Cooling(_))) {
            let was = old.get(key);
            for holder in &entry.holders {
                let known = was.is_some_and(|e| {
                    !matches!(e.standing, Standing::Cooling(_)) && e.holders.iter().any(|h| h.same(holder))
                });
                let adopted = self.carried.contains(&(holder.uid.clone(), entry.address));
                if !known && !adopted {
                    self.recorded(entry, &holder.name, was.map(|e| &**e), before, rules);
                }
            }
        }
    }

    /// An address was recorded for somebody who did not have it.
    fn recorded(&self, entry: &Entry, name: &str, was: Option<&Entry>, before: &Mirror, rules: &Rules) {
        let address = entry.address;
        rules.allows(address, &entry.network, name);
        let namesake = was.is_some_and(|e| e.holders.iter().any(|h| h.name == name));
        let others = self.world.shown_beside(name);
        let seen = self.shown.get(&address).is_some_and(|since| *since <= rules.fresh_since);
        let in_use = seen && others.contains(&address);
        assert!(namesake || !in_use, "S2: {address} was recorded for {name} and is in use");
        let Some(was) = was else { return };
        if let Standing::Cooling(until) = was.standing {
            assert!(namesake || until <= rules.now, "S2: {address} was recorded for {name} and rests");
        } else if before.firm(was) {
            // S1: nobody who lives has it.
            let living = |uid: &str| uid.is_empty() || before.machines.contains_key(uid);
            let other = was.holders.iter().find(|h| living(&h.uid));
            assert!(other.is_none(), "S1: {address} was recorded for {name}, and {other:?} holds it");
        }
    }
}

/// A claim was written: it is not paused, and what it names is its own.
fn claim(sim: &SimCluster, claim: &Object) {
    let paused = claim.annotation("cluster.x-k8s.io/paused");
    assert!(paused.is_none(), "S5: {} is paused and was written", claim.name());
    let Some(named) = claim.text("/status/addressRef/name") else { return };
    let all = sim.all();
    let mut records = all.iter().filter(|(kind, o)| {
        kind.kind == "IPAddress" && o.namespace() == claim.namespace() && o.name() == named
    });
    let its = records.any(|(_, o)| o.text("/spec/claimRef/name") == Some(claim.name()));
    // One that goes may have let its record go before.
    assert!(its || claim.deleting(), "{} names {named}, which is not its own", claim.name());
}
