//! Bytes to things: every choice takes the next byte, and when there are no more the first choice is taken.

use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// The bytes that are left.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// True in one of so many cases, and never when the bytes are used up.
    pub fn one_in(&mut self, cases: usize) -> bool {
        !self.0.is_empty() && self.below(cases) == cases - 1
    }

    /// Up to so many things, fewer when the bytes are used up.
    pub fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(most + 1);
        let mut list = Vec::new();
        while list.len() < count && !self.0.is_empty() {
            list.push(make(self));
        }
        list
    }

    /// An address of a few neighbourhoods that pools have, too, most of them at an edge.
    pub fn address(&mut self) -> IpAddr {
        const BASES: [&str; 6] = [
            "10.0.0.0",
            "10.0.0.250",
            "255.255.255.240",
            "fd00::",
            "fd00::fa",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0",
        ];
        let base: IpAddr = self.pick(&BASES).parse().unwrap();
        let by = u128::from(self.byte() % 16);
        match base {
            IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() + by as u32).into()),
            IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() + by).into()),
        }
    }

    /// What a field may hold although nobody expects it.
    pub fn odd(&mut self) -> Value {
        match self.below(16) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1.5e300),
            5 => json!(""),
            6 => json!([]),
            7 => json!({}),
            8 => json!([null, [], {}, 0, "x"]),
            9 => json!("10.0.0.1/"),
            10 => json!("fd00::1%eth0/64"),
            11 => json!("/"),
            12 => json!("\u{0}\u{1b}[31m\u{feff}ä"),
            13 => json!(format!("{}/{}", self.address(), self.byte())),
            14 => json!([format!("{}/{}", self.address(), self.byte())]),
            _ => json!("x".repeat(300)),
        }
    }

    /// Spoils a few places of a value: other types, things missing, things twice.
    pub fn spoil(&mut self, value: &mut Value) {
        while self.one_in(3) {
            self.spoil_one(value);
        }
    }

    fn spoil_one(&mut self, value: &mut Value) {
        let deeper = self.below(8) != 7;
        match value {
            Value::Object(map) if deeper && !map.is_empty() => {
                let key = map.keys().nth(self.below(map.len())).cloned().unwrap();
                if self.one_in(8) {
                    map.shift_remove(&key);
                } else if let Some(inner) = map.get_mut(&key) {
                    self.spoil_one(inner);
                }
            }
            Value::Array(list) if deeper && !list.is_empty() => {
                let at = self.below(list.len());
                if self.one_in(6) {
                    list.push(list[at].clone());
                } else {
                    self.spoil_one(&mut list[at]);
                }
            }
            other => *other = self.odd(),
        }
    }

    /// A map with these keys, each of them there or not.
    pub fn map(&mut self, keys: &[(&str, Value)]) -> Value {
        let mut map = Map::new();
        for (key, value) in keys {
            if self.below(4) != 3 {
                map.insert((*key).to_owned(), value.clone());
            }
        }
        Value::Object(map)
    }
}
