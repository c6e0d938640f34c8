//! Blocks of addresses that are given as a whole: the pod CIDRs of Nodes.

use super::{ObjectRef, Owner};
use crate::addr::{Family, Span};
use std::net::IpAddr;
use std::sync::Arc;

/// Where blocks come from: one block of each of its families is given together.
#[derive(Clone, Debug)]
pub struct BlockPool {
    /// Its name, unique among the block pools of a pass.
    pub name: Arc<str>,
    /// The system whose object it is.
    pub system: &'static str,
    /// One for each family, IPv4 first.
    pub parts: Vec<BlockPart>,
    /// It gives nothing more.
    pub closed: bool,
}

/// One family of a block pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPart {
    /// All its blocks; it begins and ends where they do.
    pub range: Span,
    /// The prefix length of a block.
    pub prefix: u8,
}

impl BlockPart {
    /// How many bits of an address tell the addresses of one block apart.
    pub fn host_bits(&self) -> u8 {
        self.range.family().bits() - self.prefix
    }

    /// How many blocks there are.
    pub fn total(&self) -> u128 {
        let (first, last) = self.range.bounds();
        // A shift by the whole width would overflow: the one block has all there is.
        (last - first).checked_shr(self.host_bits().into()).unwrap_or(0).saturating_add(1)
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.range.family()
    }
}

/// Addresses that no block may have.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Which.
    pub span: Span,
    /// Why.
    pub by: TakenBy,
}

/// Why no block may have an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenBy {
    /// It is part of a block that this owner has.
    Owner(Arc<Owner>),
    /// It is for something else: what, and where that is said.
    Kept(&'static str, Option<ObjectRef>),
}

impl Taken {
    /// The owner that has it.
    pub fn owner(&self) -> Option<&Arc<Owner>> {
        match &self.by {
            TakenBy::Owner(owner) => Some(owner),
            TakenBy::Kept(..) => None,
        }
    }

    /// The first address and the prefix length of it as a block.
    pub fn block(&self) -> (IpAddr, u8) {
        let (first, last) = self.span.bounds();
        let host_bits = u8::try_from(128 - (last - first).leading_zeros()).unwrap_or(128);
        (self.span.first(), self.span.family().bits() - host_bits)
    }
}
