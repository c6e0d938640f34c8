//! An address that is recorded for an owner: one entry of the ledger.

use super::{Holder, Network, Seconds};
use crate::addr::{Family, Span, subnet};
use std::net::IpAddr;
use std::sync::Arc;

/// An address in the scope in which it is unique, or a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The address; of a block the first one.
    pub address: IpAddr,
    /// The network it is unique in; blocks are unique in the cluster.
    pub network: Network,
    /// The prefix length of a block; `None`: it is a single address.
    pub block: Option<u8>,
}

impl Slot {
    /// A single address.
    pub fn new(address: IpAddr, network: Network) -> Self {
        Self { address, network, block: None }
    }

    /// A block, by its first address and its prefix length.
    pub fn block(address: IpAddr, prefix: u8) -> Self {
        Self { address, network: "".into(), block: Some(prefix) }
    }

    /// All addresses of it.
    pub fn span(&self) -> Span {
        subnet(self.address, self.block.unwrap_or(Family::of(self.address).bits()))
    }
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Which address of which network.
    pub slot: Slot,
    /// Normally one; two or more where an address was found on several owners. The last one frees it.
    pub holders: Vec<Holder>,
    /// The pool it was given from.
    pub pool: Arc<str>,
    /// When it was recorded.
    pub since: Seconds,
    /// It was found on its owner, not given to it: what the owner had before may still be in use.
    pub adopted: bool,
    /// How firm it is.
    pub standing: Standing,
}

/// The version of the home's ledger object on which a set was written. A version is replaced once, so no two
/// drafts at a home share it: what was part of one never becomes part of another, and whoever takes it out
/// for void takes nothing from a set that others drafted since.
pub type Draft = Arc<str>;

/// How firm an entry of the ledger is. Owners whose addresses lie in several ledger objects need two steps:
/// all entries are recorded first, then one write to the home entry makes the whole set binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Binding on its own.
    Bound,
    /// The entry that decides for a set; `bound` turns the set from tentative to binding.
    Home {
        /// All addresses of the set, this one included.
        set: Vec<Slot>,
        /// Binding, or still tentative.
        bound: bool,
        /// Which draft of the set this is.
        draft: Draft,
    },
    /// Part of a set: as firm as the home entry that lists it in the same draft, and void without one.
    Member {
        /// The entry that decides.
        home: Slot,
        /// Which draft of the set this is part of.
        draft: Draft,
    },
    /// The owner turned out to carry another address before this one was ever written to it. It is freed once
    /// the owner no longer waits: until then a late writer could still put it on the owner.
    Surplus,
    /// Freed, and resting until then.
    Cooling {
        /// When it may be given out again.
        until: Seconds,
    },
}
