//! The words that every other room speaks: kinds, objects, pools, owners, claims, allocations, reports.

mod allocation;
mod block;
mod claim;
mod departure;
mod kind;
mod listed;
mod notice;
mod object;
mod observed;
mod owner;
mod pool;
mod report;
mod write;

pub use allocation::{Allocation, Draft, Slot, Standing};
pub use block::{BlockPart, BlockPool, Taken, TakenBy};
pub use claim::{
    Adopt, Chore, Claim, Gate, Given, Holding, Opening, PoolChoice, Preset, Site, Subject, Survey, When, Wish,
};
pub use departure::{Departure, DetachLine, DetachReport, Stay};
pub use kind::{CRON_JOB, DEPLOYMENT, Feed, JOB, Kind, LEASE, NODE, ObjectRef, Role, Sign, Source};
pub use listed::Listed;
pub use notice::{EVENT, Notice};
pub use object::Object;
pub use observed::Observed;
pub use owner::{Holder, Owner};
pub use pool::{DEFAULT_INTERFACES, Match, Network, Order, Pool, PoolOrigin};
pub use report::{
    API_VERSION, Allocated, AllocationReport, BlockFigures, CapacityReport, ClaimChange, ClaimLine,
    PendingLine, PoolLine, PoolNeed, Problem, Reason, ReconcileReport, StatusReport,
};
pub use write::{Action, Chain, Edit, Edited, Expect, Make, Write};

/// Seconds since the Unix epoch: the only clock that the pure rooms know, always handed in.
pub type Seconds = i64;

/// FNV-1a: the same on every machine and in every version.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// `2026-01-31T12:00:00Z`, as Kubernetes writes times.
pub fn timestamp(seconds: Seconds) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| "invalid".to_owned(), |t| t.to_string())
}

/// The reverse of [`timestamp`].
pub fn parse_timestamp(text: &str) -> Option<Seconds> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}
