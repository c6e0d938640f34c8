//! The head of the ledger: its format, its epoch, and the ranges that each pool last had.

use super::{LABEL, LedgerError, NAMESPACE};
use crate::addr::{Span, parse_span};
use crate::model::{Object, Pool, PoolOrigin};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use std::collections::BTreeMap;

/// The name of the head object.
pub const HEAD: &str = "mipam-ledger";

/// The format that this mipam reads and writes.
pub const FORMAT: u32 = 1;

/// The head as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// A random word that every object of this ledger repeats.
    pub epoch: String,
    /// Network and ranges of each pool, as last applied.
    pub pools: BTreeMap<String, Applied>,
    object: Object,
}

/// A pool as it was last applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Its network, empty for the default one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// Its ranges, in order.
    #[serde(serialize_with = "write", deserialize_with = "read")]
    pub ranges: Vec<Span>,
    /// It came from a flag: no configuration names it, so only a run with flags can miss it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flag: bool,
}

fn write<S: Serializer>(ranges: &[Span], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter().map(ToString::to_string))
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Span>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    texts.iter().map(|t| parse_span(t)).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

impl Head {
    /// Reads the head object.
    pub(super) fn read(object: &Object) -> Result<Self, LedgerError> {
        let bad = |why: &str| LedgerError::BadHead(why.to_owned());
        let format = object.text("/data/format").ok_or_else(|| bad("it has no `format`"))?;
        match format.parse::<u32>() {
            Ok(known) if known == FORMAT => {}
            Ok(newer) if newer > FORMAT => return Err(LedgerError::Newer(format.to_owned())),
            _ => return Err(bad(&format!("its `format` is {format:?}"))),
        }
        let epoch = object.text("/data/epoch").filter(|e| !e.is_empty());
        let epoch = epoch.ok_or_else(|| bad("it has no `epoch`"))?.to_owned();
        let pools = object.text("/data/pools").unwrap_or("{}");
        let pools = serde_json::from_str(pools).map_err(|e| bad(&format!("its `pools`: {e}")))?;
        Ok(Self { epoch, pools, object: object.clone() })
    }

    /// The object as it was read.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// A new head object.
    pub fn first(epoch: &str, pools: &[Pool]) -> Object {
        Object(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": HEAD,
                "namespace": NAMESPACE,
                "labels": { (LABEL.0): LABEL.1 },
            },
            "data": {
                "format": FORMAT.to_string(),
                "epoch": epoch,
                "pools": text(&applied(pools)),
            },
        }))
    }

    /// The head object with these pools applied; `None` where it says so already. Pools that this run does
    /// not know stay: another run with another configuration may use them. Flags that this run could have
    /// given and did not are let go: it was allowed to leave them out.
    pub fn updated(&self, pools: &[Pool]) -> Option<Object> {
        let mut merged = self.pools.clone();
        self.unnamed_flags(pools).for_each(|(name, _)| drop(merged.remove(name)));
        merged.extend(applied(pools));
        // In which order a pool has its ranges, two configurations may see differently.
        let sorted = |pools: &BTreeMap<String, Applied>| {
            let mut pools = pools.clone();
            pools.values_mut().for_each(|applied| applied.ranges.sort());
            pools
        };
        if sorted(&merged) == sorted(&self.pools) {
            return None;
        }
        let mut object = self.object.clone();
        object.ensure_object(&["data"]).insert("pools".to_owned(), text(&merged).into());
        Some(object)
    }

    /// The recorded flags that a run with these pools leaves out; none where it has no flags at all.
    pub(super) fn unnamed_flags<'h>(
        &'h self,
        pools: &'h [Pool],
    ) -> impl Iterator<Item = (&'h String, &'h Applied)> {
        let flags = || pools.iter().filter(|p| p.origin == PoolOrigin::Flag);
        let missing = move |name: &str| flags().next().is_some() && flags().all(|p| *p.name != *name);
        self.pools.iter().filter(move |(name, applied)| applied.flag && missing(name))
    }
}

/// The pools that a person configured; those of pool objects are kept by their objects.
pub(super) fn configured(pools: &[Pool]) -> impl Iterator<Item = &Pool> {
    pools.iter().filter(|p| !matches!(p.origin, PoolOrigin::Object(_)))
}

fn applied(pools: &[Pool]) -> BTreeMap<String, Applied> {
    let one = |p: &Pool| {
        let (network, ranges) = (p.network.to_string(), p.ranges.clone());
        (p.name.to_string(), Applied { network, ranges, flag: p.origin == PoolOrigin::Flag })
    };
    configured(pools).map(one).collect()
}

fn text(pools: &BTreeMap<String, Applied>) -> String {
    serde_json::to_string(pools).unwrap_or_else(|_| "{}".to_owned())
}
