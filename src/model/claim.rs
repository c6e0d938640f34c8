//! What systems tell the planner: who wants addresses, and which addresses are in use by whom.

use super::{
    BlockPool, Chain, ClaimLine, Holder, NODE, Notice, ObjectRef, Owner, PendingLine, Pool, PoolOrigin,
    Problem, Taken,
};
use crate::addr::Family;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// One owner's wish for addresses; all of its wishes are met together or none is.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who wants them.
    pub owner: Arc<Owner>,
    /// One per device.
    pub wishes: Vec<Wish>,
    /// Addresses that a person has put on it already.
    pub presets: Vec<Preset>,
    /// Whether the owner waits for mipam or only gets back what was its own.
    pub gate: Gate,
    /// Whom people know it by, where that is not the owner: the machine and device that a claim was made for.
    pub stands_for: Option<Holder>,
}

impl Claim {
    /// Does it want blocks?
    pub fn wants_blocks(&self) -> bool {
        self.wishes.iter().any(|w| matches!(w.pools, PoolChoice::Blocks(_)))
    }

    /// Whom people know it by.
    pub fn whose(&self) -> &Arc<Owner> {
        self.stands_for.as_ref().map_or(&self.owner, |h| &h.owner)
    }

    /// The device as people know it.
    pub fn device<'a>(&'a self, device: &'a str) -> &'a str {
        self.stands_for.as_ref().map_or(device, |h| &h.device)
    }
}

/// An address that a person has put on a device of an owner that waits.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Index or name of the device.
    pub device: Arc<str>,
    /// The address.
    pub address: IpAddr,
    /// The pools of the device.
    pub pools: PoolChoice,
}

/// Whether an owner waits for mipam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It has never been served: new addresses may be given to it, and nothing it runs uses them yet.
    Closed,
    /// A person asked for it by name: it need not wait.
    Asked,
    /// It was served before and lost its address: only what the ledger has for it is written back.
    Open,
}

/// A device that needs an address of each family that its pools offer.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Index or name of the device.
    pub device: Arc<str>,
    /// Where the address may come from.
    pub pools: PoolChoice,
    /// An address that the owner asks for, of that family.
    pub asks: Option<IpAddr>,
    /// One address in all, of whichever family has room, instead of one of each.
    pub one: bool,
}

/// How the pools of a wish are found.
#[derive(Clone, Debug)]
pub enum PoolChoice {
    /// The pools whose `match` fits.
    Matching(Arc<Subject>),
    /// These pools by name, in order.
    Named(Vec<Arc<str>>),
    /// Not an address but whole blocks: one of each family of the first of these block pools that has them.
    Blocks(Arc<[Arc<str>]>),
}

impl PoolChoice {
    /// The pools that it names.
    pub fn names(&self) -> &[Arc<str>] {
        match self {
            Self::Named(names) => names,
            Self::Matching(_) | Self::Blocks(_) => &[],
        }
    }
}

/// What a pool's `match` is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// System name.
    pub system: &'static str,
    /// Namespace of the owner.
    pub namespace: String,
    /// Network name of the device, where it has one.
    pub network: Option<String>,
    /// Labels of the owner.
    pub labels: BTreeMap<String, String>,
    /// The only family that it can use; `None`: any.
    pub family: Option<Family>,
}

impl Subject {
    /// Does the pool serve this subject?
    pub fn fits(&self, pool: &Pool) -> bool {
        // A pool that is an object is chosen by name, as its own system has it.
        if matches!(pool.origin, PoolOrigin::Object(_)) {
            return false;
        }
        let m = &pool.matches;
        let listed = |list: &[String], value: &str| list.is_empty() || list.iter().any(|v| v == value);
        self.family.is_none_or(|f| f == pool.family)
            && listed(&m.systems, self.system)
            && listed(&m.namespaces, &self.namespace)
            && (m.networks.is_empty() || self.network.as_ref().is_some_and(|n| m.networks.contains(n)))
            && m.labels.iter().all(|(k, v)| self.labels.get(k) == Some(v))
    }
}

/// An address seen in use.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The address.
    pub address: IpAddr,
    /// Where it was seen, for people.
    pub seen_on: Arc<ObjectRef>,
    /// Whose it is; `None` where nobody that mipam serves is known to hold it (a Node, say).
    pub holder: Option<Holder>,
    /// Objects of other kinds that stand for the same thing: the machine of a Node.
    pub stands_for: Option<Arc<str>>,
    /// How its pools are found, which tells the network; `None`: unknown, so it counts in every network.
    pub pools: Option<PoolChoice>,
    /// Whether it is recorded in the ledger where it lies in a pool.
    pub adopt: Adopt,
}

/// Whether an address that is seen in use is recorded for whom it is seen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// It is not ours to record.
    No,
    /// Nor anybody's: it is the cluster's own, such as the address of its API server.
    Never,
    /// If nobody else has it: its owner still waits, and nothing it runs uses the address yet.
    IfFree,
    /// In any case: it is in use, and if somebody else has it too, both have.
    Always,
    /// In any case, and for this holder alone: where it was seen there is room for one of a kind, so who was to
    /// get it from the same pool and is not seen with it has lost it.
    Alone,
}

/// Addresses decided for one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Which device.
    pub device: Arc<str>,
    /// The address.
    pub address: IpAddr,
    /// The pool it is from.
    pub pool: Arc<str>,
    /// The prefix length where it is a block that begins at the address.
    pub block: Option<u8>,
}

impl Given {
    /// The family of the address.
    pub fn family(&self) -> Family {
        Family::of(self.address)
    }
}

/// Writes that need no address, for an owner.
#[derive(Clone, Debug)]
pub struct Chore {
    /// Whose it is.
    pub owner: Arc<Owner>,
    /// What is written.
    pub writes: Chain,
    /// When it is written.
    pub when: When,
}

/// A claim that is yet to be made: where it is made decides which pool serves it.
#[derive(Clone, Debug)]
pub struct Opening {
    /// For whom it is made.
    pub owner: Arc<Owner>,
    /// For which device.
    pub device: String,
    /// Where it can be made, the best first; at least one.
    pub sites: Vec<Site>,
    /// The claim that waits already: as long as it can be served where it is, it stays there.
    pub instead_of: Option<Arc<Owner>>,
}

impl Opening {
    /// The pools of all sites, in order.
    pub fn pools(&self) -> PoolChoice {
        let wishes = self.sites.iter().flat_map(|site| &site.claim.wishes);
        PoolChoice::Named(wishes.flat_map(|w| w.pools.names().iter().cloned()).collect())
    }
}

/// A place where a claim can be made.
#[derive(Clone, Debug)]
pub struct Site {
    /// The pool, as people call it.
    pub pool: String,
    /// The claim as it would be.
    pub claim: Claim,
    /// What leads there.
    pub writes: Chain,
}

/// When writes that need no address are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the decision: it may free what others wait for.
    Before,
    /// After it: what the objects say now has to be recorded first.
    After,
}

/// All that one system has to say about the observed objects.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Pools that are objects.
    pub pools: Vec<Pool>,
    /// Pools that blocks are given from.
    pub block_pools: Vec<BlockPool>,
    /// What no block may have.
    pub taken: Vec<Taken>,
    /// Who wants addresses.
    pub claims: Vec<Claim>,
    /// What is in use.
    pub holdings: Vec<Holding>,
    /// Writes that need no address.
    pub chores: Vec<Chore>,
    /// Claims that are yet to be made.
    pub openings: Vec<Opening>,
    /// Claims that wait for another controller: what they take is not there for openings.
    pub others: Vec<Claim>,
    /// Claims whose addresses somebody else chooses.
    pub listed: Vec<ClaimLine>,
    /// What waits without being a claim yet.
    pub pending: Vec<PendingLine>,
    /// What a person should look at.
    pub problems: Vec<Problem>,
    /// Whom people know an owner by, where that is not itself.
    pub known: BTreeMap<Arc<Owner>, Holder>,
    /// Nodes by name, with the machines that say they are them.
    pub nodes: Vec<(Arc<str>, Arc<str>)>,
    /// Owners that are served and have all they need.
    pub settled: Vec<Arc<Owner>>,
    /// What a person should know although nothing is wrong with any object.
    pub warnings: Vec<String>,
    /// What is said on objects.
    pub notices: Vec<Notice>,
}

impl Survey {
    /// Adds what was said about other objects.
    pub fn append(&mut self, other: Self) {
        self.pools.extend(other.pools);
        self.block_pools.extend(other.block_pools);
        self.taken.extend(other.taken);
        self.claims.extend(other.claims);
        self.holdings.extend(other.holdings);
        self.chores.extend(other.chores);
        self.openings.extend(other.openings);
        self.others.extend(other.others);
        self.listed.extend(other.listed);
        self.pending.extend(other.pending);
        self.problems.extend(other.problems);
        self.known.extend(other.known);
        self.nodes.extend(other.nodes);
        self.settled.extend(other.settled);
        self.warnings.extend(other.warnings);
        self.notices.extend(other.notices);
    }

    /// Adds the same again that was said about other objects before.
    pub fn repeat(&mut self, other: &Self) {
        self.pools.extend_from_slice(&other.pools);
        self.block_pools.extend_from_slice(&other.block_pools);
        self.taken.extend_from_slice(&other.taken);
        self.claims.extend_from_slice(&other.claims);
        self.holdings.extend_from_slice(&other.holdings);
        self.chores.extend_from_slice(&other.chores);
        self.openings.extend_from_slice(&other.openings);
        self.others.extend_from_slice(&other.others);
        self.listed.extend_from_slice(&other.listed);
        self.pending.extend_from_slice(&other.pending);
        self.problems.extend_from_slice(&other.problems);
        self.known.extend(other.known.iter().map(|(owner, holder)| (owner.clone(), holder.clone())));
        self.nodes.extend_from_slice(&other.nodes);
        self.settled.extend_from_slice(&other.settled);
        self.warnings.extend_from_slice(&other.warnings);
        self.notices.extend_from_slice(&other.notices);
    }

    /// Without room for more: it is kept for long.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        self.claims.shrink_to_fit();
        self.holdings.shrink_to_fit();
        self.settled.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self
    }

    /// Says of every Node which machine it is, where it does not say so itself: the one that says it is, or the one of
    /// its name.
    pub fn name_machines(&mut self) {
        let of_nodes = |h: &&mut Holding| h.seen_on.kind == NODE && h.stands_for.is_none();
        let mut unnamed = self.holdings.iter_mut().filter(of_nodes).peekable();
        if unnamed.peek().is_none() {
            return;
        }
        let machines: BTreeMap<&str, &Arc<str>> =
            self.nodes.iter().map(|(node, machine)| (&**node, machine)).collect();
        for holding in unnamed {
            let node = holding.seen_on.name.as_str();
            holding.stands_for = Some(machines.get(node).map_or_else(|| node.into(), |m| (*m).clone()));
        }
    }
}
