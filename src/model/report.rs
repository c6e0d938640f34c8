//! What the commands say: the JSON of `-o json`, field by field.

use super::{Network, Owner, Slot};
use serde::{Serialize, Serializer};
use std::net::IpAddr;

/// The `apiVersion` of every report.
pub const API_VERSION: &str = "mipam.io/v1";

/// An address (or block) and its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Allocated {
    /// `openshift`, `hold`, …
    pub system: String,
    /// Kind of the owner.
    pub kind: String,
    /// Namespace of the owner.
    pub namespace: String,
    /// Name of the owner.
    pub name: String,
    /// Which device of it.
    pub device: String,
    /// From which pool.
    pub pool: String,
    /// `ip/prefix`, or the CIDR block of a node.
    pub address: String,
    /// The network it is unique in, where that is not the default one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
}

impl Allocated {
    /// The line for an address of an owner.
    pub fn of(
        owner: &Owner,
        device: &str,
        pool: &str,
        address: IpAddr,
        prefix: Option<u8>,
        network: &str,
    ) -> Self {
        Self {
            system: owner.system.to_string(),
            kind: owner.kind.to_string(),
            namespace: owner.namespace.to_string(),
            name: owner.name.to_string(),
            device: device.to_owned(),
            pool: pool.to_owned(),
            address: prefix.map_or_else(|| address.to_string(), |prefix| format!("{address}/{prefix}")),
            network: network.to_owned(),
        }
    }
}

/// Why a claim waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Reason {
    /// All its pools are full.
    PoolExhausted,
    /// No pool's `match` fits.
    NoMatchingPool,
    /// The machine has no network device to give an address to.
    NoDevices,
    /// A device has no interface name in its pool.
    NoInterfaceName,
    /// The address it asks for or that is reserved for it is taken or cannot be given.
    AddressUnavailable,
    /// It will be served by the next `reconcile`.
    Unreconciled,
    /// It is paused.
    Paused,
    /// The address could not be recorded or written this time.
    WriteFailed,
}

/// A claim that waits, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PendingLine {
    /// System.
    pub system: String,
    /// Kind of the owner.
    pub kind: String,
    /// Namespace of the owner.
    pub namespace: String,
    /// Name of the owner.
    pub name: String,
    /// Which device.
    pub device: String,
    /// The pool that could not serve it, where there is one.
    pub pool: String,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
}

impl PendingLine {
    /// The line for an owner.
    pub fn of(owner: &Owner, device: &str, pool: &str, reason: Reason, message: String) -> Self {
        Self {
            system: owner.system.to_string(),
            kind: owner.kind.to_string(),
            namespace: owner.namespace.to_string(),
            name: owner.name.to_string(),
            device: device.to_owned(),
            pool: pool.to_owned(),
            reason,
            message,
        }
    }
}

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// `Duplicate`, `OutOfRange`, `InUse`, `Wiped`, `HookPruned`, `Unreadable`, `WriteFailed`, …
    pub kind: &'static str,
    /// `Kind/namespace/name`
    pub object: String,
    /// What is wrong and what to do.
    pub message: String,
    /// The address, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The uniqueness scope of that address, where it is not the default one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub network: Network,
}

impl Problem {
    /// A problem of an object.
    pub fn new(kind: &'static str, object: &impl ToString, message: impl Into<String>) -> Self {
        Self { kind, object: object.to_string(), message: message.into(), address: None, network: "".into() }
    }

    /// A problem that is about this address.
    #[must_use]
    pub fn at(self, slot: &Slot) -> Self {
        Self { address: Some(slot.address), network: slot.network.clone(), ..self }
    }
}

/// A claim whose addresses somebody else chooses: the CNI of a virtual machine's network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClaimLine {
    /// System.
    pub system: &'static str,
    /// Kind of the claim.
    pub kind: &'static str,
    /// Namespace of the claim.
    pub namespace: String,
    /// Name of the claim.
    pub name: String,
    /// Whose it is: the name of the virtual machine.
    pub vm: String,
    /// The network that it is of.
    pub network: String,
    /// What the CNI has given.
    pub addresses: Vec<String>,
    /// What is wrong with it, for people; empty where nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wrong: String,
}

/// What a pass has done with a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClaimChange {
    /// The claim.
    #[serde(flatten)]
    pub claim: ClaimLine,
    /// `made`, `mended` or `released`.
    pub change: &'static str,
}

/// What `reconcile -o json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconcileReport {
    /// `mipam.io/v1`
    pub api_version: &'static str,
    /// `ReconcileReport`
    pub kind: &'static str,
    /// Nothing was written: this is what would be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// New assignments of this pass.
    pub allocated: Vec<Allocated>,
    /// Owners that already had theirs.
    pub kept: usize,
    /// Addresses freed in this pass.
    pub released: Vec<Allocated>,
    /// What became of claims whose addresses somebody else chooses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimChange>,
    /// Claims that wait.
    pub pending: Vec<PendingLine>,
    /// Things to look at.
    pub problems: Vec<Problem>,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
}

/// One pool of `status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolLine {
    /// Name.
    pub name: String,
    /// `config`, or the system whose object it is.
    pub system: String,
    /// Usable addresses.
    #[serde(serialize_with = "count")]
    pub total: u128,
    /// Held or seen in use.
    #[serde(serialize_with = "count")]
    pub used: u128,
    /// Can be given out now to anyone.
    #[serde(serialize_with = "count")]
    pub free: u128,
    /// Freed and resting.
    #[serde(serialize_with = "count")]
    pub cooling: u128,
    /// Kept for a name that does not hold it yet.
    #[serde(serialize_with = "count")]
    pub reserved: u128,
    /// Ranges, as text.
    pub ranges: Vec<String>,
    /// The uniqueness scope.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// It gives whole blocks, and all numbers count those.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockFigures>,
}

/// What is said of a pool that gives blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockFigures {
    /// `IPv4` or `IPv6`: a pool of both has a line for each.
    pub family: String,
    /// The prefix length of its blocks.
    pub prefix: u8,
    /// How many of those in use are so only in part, by blocks of another size or by a service CIDR.
    #[serde(serialize_with = "count")]
    pub fragmented: u128,
}

impl PoolLine {
    /// Share of the pool that is not free, in percent, rounded down.
    pub fn percent(&self) -> u8 {
        let taken = self.total.saturating_sub(self.free);
        if self.total == 0 {
            return 100;
        }
        // Divide first where the product would overflow: an IPv6 pool can hold 2^128 addresses.
        let percent = taken.checked_mul(100).map_or_else(|| taken / (self.total / 100), |t| t / self.total);
        u8::try_from(percent.min(100)).unwrap_or(100)
    }
}

/// What `status -o json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// `mipam.io/v1`
    pub api_version: &'static str,
    /// `StatusReport`
    pub kind: &'static str,
    /// Every pool.
    pub pools: Vec<PoolLine>,
    /// Every address the ledger records.
    pub allocations: Vec<Allocated>,
    /// Claims whose addresses somebody else chooses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimLine>,
    /// Claims that wait.
    pub pending: Vec<PendingLine>,
    /// Things to look at.
    pub problems: Vec<Problem>,
}

/// What `allocate` and `release` print with `-o json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocationReport {
    /// `mipam.io/v1`
    pub api_version: &'static str,
    /// `AllocationReport`
    pub kind: &'static str,
    /// Given, or already held: the command is idempotent.
    pub allocated: Vec<Allocated>,
    /// Freed.
    pub released: Vec<Allocated>,
}

/// What `check-capacity -o json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReport {
    /// `mipam.io/v1`
    pub api_version: &'static str,
    /// `CapacityReport`
    pub kind: &'static str,
    /// Is there room?
    pub fits: bool,
    /// Addresses wanted.
    #[serde(serialize_with = "count")]
    pub need: u128,
    /// Addresses free for them, after those who already wait.
    #[serde(serialize_with = "count")]
    pub free: u128,
    /// How many are missing.
    #[serde(serialize_with = "count")]
    pub short: u128,
    /// The pools that were asked.
    pub pools: Vec<PoolNeed>,
    /// Why it does not fit, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// One pool of `check-capacity`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolNeed {
    /// The pool as `status` has it, counted after those who already wait.
    #[serde(flatten)]
    pub pool: PoolLine,
    /// Addresses wanted from it.
    #[serde(serialize_with = "count")]
    pub need: u128,
    /// How many it lacks.
    #[serde(serialize_with = "count")]
    pub short: u128,
}

/// JSON readers lose precision past 2^63: such totals are strings.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn count<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match i64::try_from(*value) {
        Ok(small) => serializer.serialize_i64(small),
        Err(_) => serializer.collect_str(value),
    }
}
