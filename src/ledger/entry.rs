//! One entry of the ledger as text: the key is the address, the value says who holds it.

use crate::addr::Family;
use crate::model::{Allocation, Draft, Holder, Network, Slot, Standing, parse_timestamp, timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;

/// The value of an entry. Fields are short: an object holds up to 256 of them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, skip_serializing_if = "str::is_empty")]
    network: Network,
    holders: Vec<Holder>,
    pool: std::sync::Arc<str>,
    since: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    adopted: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<SlotText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<SlotText>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    draft: Draft,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    surplus: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cooling: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SlotText {
    address: IpAddr,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    network: Network,
}

impl From<&Slot> for SlotText {
    fn from(slot: &Slot) -> Self {
        Self { address: slot.address, network: slot.network.clone() }
    }
}

impl From<SlotText> for Slot {
    fn from(text: SlotText) -> Self {
        Self::new(text.address, text.network)
    }
}

/// The key of an entry. Keys of ConfigMaps know only letters, digits, `-`, `_` and `.`, so IPv6 addresses are
/// written out with dashes, and other characters of a network's name as `.` and their hexadecimal bytes: two
/// names never share a key.
pub(super) fn key(slot: &Slot) -> String {
    use std::fmt::Write;
    let mut key = match slot.address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => dashed(v6.segments()),
    };
    if let Some(prefix) = slot.block {
        let _ = write!(key, "-{prefix}");
    }
    if !slot.network.is_empty() {
        key.push('_');
        for byte in slot.network.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' {
                key.push(char::from(byte));
            } else {
                let _ = write!(key, ".{byte:02x}");
            }
        }
    }
    key
}

/// `fd00-0000-0000-0000-0000-0000-0000-0005`
pub(super) fn dashed(segments: [u16; 8]) -> String {
    segments.map(|s| format!("{s:04x}")).join("-")
}

/// The address that a key begins with, or the block: one more number follows its dots or seven dashes.
pub(super) fn place_of_key(key: &str) -> Option<(IpAddr, Option<u8>)> {
    let place = key.split('_').next()?;
    let dashes = place.bytes().filter(|b| *b == b'-').count();
    let is_block = dashes == if place.contains('.') { 1 } else { 8 };
    let (address, prefix) = if is_block { place.rsplit_once('-')? } else { (place, "") };
    let address: IpAddr = address.replace('-', ":").parse().ok()?;
    let prefix = if is_block { Some(prefix.parse().ok()?) } else { None };
    let fits = prefix.is_none_or(|p| p <= Family::of(address).bits());
    fits.then_some((address, prefix))
}

/// The address or block, and the network, that a key stands for.
pub(super) fn slot_of_key(key: &str) -> Option<Slot> {
    let (address, block) = place_of_key(key)?;
    let Some((_, encoded)) = key.split_once('_') else {
        return Some(Slot { address, network: "".into(), block });
    };
    let mut bytes = Vec::new();
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'.' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(Slot { address, network: String::from_utf8(bytes).ok()?.into(), block })
}

pub(super) fn encode(allocation: &Allocation) -> String {
    let mut text = Text {
        network: allocation.slot.network.clone(),
        holders: allocation.holders.clone(),
        pool: allocation.pool.clone(),
        since: timestamp(allocation.since),
        adopted: allocation.adopted,
        set: Vec::new(),
        bound: None,
        home: None,
        draft: Draft::default(),
        surplus: false,
        cooling: None,
    };
    match &allocation.standing {
        Standing::Bound => {}
        Standing::Home { set, bound, draft } => {
            // It begins with the home itself, whose key says so already.
            text.set = set.iter().skip(1).map(SlotText::from).collect();
            text.bound = Some(*bound);
            text.draft = draft.clone();
        }
        Standing::Member { home, draft } => {
            text.home = Some(home.into());
            text.draft = draft.clone();
        }
        Standing::Surplus => text.surplus = true,
        Standing::Cooling { until } => text.cooling = Some(timestamp(*until)),
    }
    serde_json::to_string(&text).unwrap_or_default()
}

pub(super) fn decode(key: &str, value: &Value) -> Result<Allocation, String> {
    let (address, block) = place_of_key(key).ok_or("the key is no address")?;
    let text = value.as_str().ok_or("the value is no text")?;
    let text: Text = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let slot = Slot { address, network: text.network, block };
    if self::key(&slot) != key {
        return Err(format!("the key should be {}", self::key(&slot)));
    }
    if text.holders.is_empty() {
        return Err("nobody holds it".to_owned());
    }
    let time = |t: &str| parse_timestamp(t).ok_or_else(|| format!("{t:?} is no time"));
    let standing = match (text.cooling, text.home, text.bound, text.surplus) {
        (Some(until), None, None, false) => Standing::Cooling { until: time(&until)? },
        (None, Some(home), None, false) => Standing::Member { home: home.into(), draft: text.draft },
        (None, None, Some(bound), false) => {
            let set = std::iter::once(slot.clone()).chain(text.set.into_iter().map(Slot::from)).collect();
            Standing::Home { set, bound, draft: text.draft }
        }
        (None, None, None, true) => Standing::Surplus,
        (None, None, None, false) => Standing::Bound,
        _ => return Err("it has more than one standing".to_owned()),
    };
    let (holders, pool, adopted) = (text.holders, text.pool, text.adopted);
    Ok(Allocation { slot, holders, pool, since: time(&text.since)?, adopted, standing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Owner;

    fn slot(address: &str, network: &str) -> Slot {
        Slot::new(address.parse().unwrap(), network.into())
    }

    #[test]
    fn what_is_written_is_read_back() {
        let standings = |at: &Slot| {
            [
                Standing::Bound,
                Standing::Surplus,
                Standing::Cooling { until: 1_800_000_000 },
                Standing::Home {
                    set: vec![at.clone(), slot("10.0.0.1", "a/b"), slot("fd00::1", "")],
                    bound: false,
                    draft: "7".into(),
                },
                Standing::Member { home: slot("10.0.0.1", "a/b"), draft: "7".into() },
            ]
        };
        let block = |address, prefix| Slot { block: Some(prefix), ..slot(address, "") };
        let blocks = [block("10.0.1.0", 24), block("fd00:1::", 64), block("::", 0)];
        for at in [slot("10.0.0.1", ""), slot("fd00::5", "lab net/\u{e4}")].into_iter().chain(blocks) {
            for standing in standings(&at) {
                let holder = Holder { owner: Owner::hold("x"), device: "0".into() };
                let allocation = Allocation {
                    slot: at.clone(),
                    holders: vec![holder],
                    pool: "lab".into(),
                    since: 1_700_000_000,
                    adopted: at.address.is_ipv4(),
                    standing,
                };
                let key = key(&at);
                assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)), "{key}");
                assert_eq!(slot_of_key(&key), Some(at.clone()));
                assert_eq!(decode(&key, &encode(&allocation).into()), Ok(allocation));
            }
        }
    }

    #[test]
    fn names_that_look_alike_have_their_own_keys() {
        let keys: std::collections::BTreeSet<_> =
            ["a.b", "a b", "a.20b", "a", "", "A"].iter().map(|n| key(&slot("10.0.0.1", n))).collect();
        assert_eq!(keys.len(), 6);
    }

    #[test]
    fn broken_entries_are_told_apart_from_good_ones() {
        for (key, value) in [
            ("10.0.0.1", "{}"),
            ("10.0.0.1", "not json"),
            ("fish", "{}"),
            ("10.0.0.0-33", "{}"),
            ("10.0.0.1", r#"{"holders":[],"pool":"p","since":"2024-01-01T00:00:00Z"}"#),
            (
                "10.0.0.1",
                r#"{"network":"x","holders":[{"kind":"Hold","name":"a","system":"hold"}],"pool":"p","since":"2024-01-01T00:00:00Z"}"#,
            ),
        ] {
            assert!(decode(key, &Value::String(value.to_owned())).is_err(), "{key} {value}");
        }
    }
}
