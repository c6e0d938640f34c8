//! A range of addresses of one family, and how people write it.

use super::{Family, number, subnet};
use std::fmt;
use std::net::IpAddr;

/// First to last address, both included; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    family: Family,
    first: u128,
    last: u128,
}

impl Span {
    /// The range between two numbers, whichever way round they are given.
    pub fn new(family: Family, first: u128, last: u128) -> Self {
        let (first, last) = if first <= last { (first, last) } else { (last, first) };
        Self { family, first: first.min(family.max()), last: last.min(family.max()) }
    }

    /// Just this address.
    pub fn single(address: IpAddr) -> Self {
        Self::new(Family::of(address), number(address), number(address))
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The lowest address.
    pub fn first(&self) -> IpAddr {
        self.family.address(self.first)
    }

    /// The highest address.
    pub fn last(&self) -> IpAddr {
        self.family.address(self.last)
    }

    /// The lowest and the highest address as numbers.
    pub fn bounds(&self) -> (u128, u128) {
        (self.first, self.last)
    }

    /// How many addresses; `None` for 2^128, which does not fit.
    pub fn len(&self) -> Option<u128> {
        (self.last - self.first).checked_add(1)
    }

    /// A range is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Is the address in it?
    pub fn contains(&self, address: IpAddr) -> bool {
        Family::of(address) == self.family && (self.first..=self.last).contains(&number(address))
    }

    /// Have the two an address in common?
    pub fn overlaps(&self, other: &Self) -> bool {
        self.family == other.family && self.first <= other.last && other.first <= self.last
    }

    /// Is all of `other` in it?
    pub fn covers(&self, other: &Self) -> bool {
        self.family == other.family && self.first <= other.first && other.last <= self.last
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.last - self.first;
        // All ones below a boundary: it is a CIDR, and people read those better.
        if size & size.wrapping_add(1) == 0 && self.first & size == 0 {
            let host_bits = u8::try_from(128 - size.leading_zeros()).unwrap_or(128);
            if host_bits == 0 {
                return write!(f, "{}", self.first());
            }
            return write!(f, "{}/{}", self.first(), self.family.bits() - host_bits);
        }
        write!(f, "{}-{}", self.first(), self.last())
    }
}

/// Why a text is no address or range, said so that a person can mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not an address.
    #[error("{0:?} is not an IP address{hint}", hint = zeros(.0))]
    Address(String),
    /// The part after the slash.
    #[error("{text:?}: {prefix:?} is not a prefix length from 0 to {max}")]
    Prefix {
        /// The whole text.
        text: String,
        /// The part that is wrong.
        prefix: String,
        /// 32 or 128.
        max: u8,
    },
    /// Bits below the prefix.
    #[error("{text:?} has bits set beyond its prefix: write {right} for that network")]
    HostBits {
        /// The whole text.
        text: String,
        /// What it should be.
        right: String,
    },
    /// The two ends are of different families.
    #[error("{0:?} mixes IPv4 and IPv6")]
    Mixed(String),
    /// The first address is above the last.
    #[error("{text:?} is reversed: write {right}")]
    Reversed {
        /// The whole text.
        text: String,
        /// What it should be.
        right: String,
    },
}

/// Leading zeros are octal for some readers and decimal for others, so they are refused; say so.
fn zeros(text: &str) -> &'static str {
    let octet = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() == 4
        && parts.iter().all(|p| octet(p))
        && parts.iter().any(|p| p.len() > 1 && p.starts_with('0'))
    {
        " (leading zeros are ambiguous: leave them out)"
    } else {
        ""
    }
}

/// Parses one address. An IPv4 address mapped into IPv6 is that IPv4 address to no reader here: refused.
pub fn parse_address(text: &str) -> Result<IpAddr, ParseError> {
    let address: IpAddr = text.trim().parse().map_err(|_| ParseError::Address(text.to_owned()))?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Err(ParseError::Address(text.to_owned())),
        other => Ok(other),
    }
}

/// The address in a text that is not written as it should be, where a person could tell: with whatever length behind it,
/// or mapped into IPv6. It is in use all the same.
pub fn legible_address(text: &str) -> Option<IpAddr> {
    let base = text.split('/').next().unwrap_or_default();
    base.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// Parses `10.0.0.0/24`, `10.0.0.5-10.0.0.9` or `10.0.0.7`.
pub fn parse_span(text: &str) -> Result<Span, ParseError> {
    let text = text.trim();
    if let Some((base, prefix)) = text.split_once('/') {
        let base = parse_address(base)?;
        let max = Family::of(base).bits();
        let valid = !prefix.is_empty()
            && prefix.bytes().all(|b| b.is_ascii_digit())
            && (prefix == "0" || !prefix.starts_with('0'));
        let length = prefix.parse::<u8>().ok().filter(|p| valid && *p <= max);
        let length = length.ok_or_else(|| ParseError::Prefix {
            text: text.to_owned(),
            prefix: prefix.to_owned(),
            max,
        })?;
        let net = subnet(base, length);
        if net.first() != base {
            return Err(ParseError::HostBits {
                text: text.to_owned(),
                right: format!("{}/{length}", net.first()),
            });
        }
        return Ok(net);
    }
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (parse_address(first)?, parse_address(last)?);
        if Family::of(first) != Family::of(last) {
            return Err(ParseError::Mixed(text.to_owned()));
        }
        if number(first) > number(last) {
            return Err(ParseError::Reversed { text: text.to_owned(), right: format!("{last}-{first}") });
        }
        return Ok(Span::new(Family::of(first), number(first), number(last)));
    }
    parse_address(text).map(Span::single)
}

/// Parses the CIDR of an object that is there, as Kubernetes reads it: host bits and leading zeros mean nothing, and
/// an IPv4 network mapped into IPv6 is that IPv4 network. What is in use may not be overlooked for the way it is
/// written.
pub fn parse_shown_cidr(text: &str) -> Result<Span, ParseError> {
    parse_span(text).or_else(|error| loose(text.trim()).ok_or(error))
}

/// A number without its leading zeros.
fn digits(text: &str) -> Option<&str> {
    let significant = text.trim_start_matches('0');
    let all = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    all.then_some(if significant.is_empty() { "0" } else { significant })
}

fn loose(text: &str) -> Option<Span> {
    let (base, prefix) = text.split_once('/')?;
    let base: IpAddr = if base.contains(':') {
        base.parse().ok()?
    } else {
        base.split('.').map(digits).collect::<Option<Vec<_>>>()?.join(".").parse().ok()?
    };
    let prefix: u8 = digits(prefix)?.parse().ok()?;
    let (plain, mapped) = (base.to_canonical(), Family::V6.bits() - Family::V4.bits());
    match prefix.checked_sub(mapped) {
        _ if prefix > Family::of(base).bits() => None,
        Some(rest) if plain != base => Some(subnet(plain, rest)),
        _ => Some(subnet(base, prefix)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_reads() {
        for text in [
            "10.0.0.0/24",
            "10.0.0.5-10.0.0.9",
            "10.0.0.7",
            "fd00::/64",
            "0.0.0.0/0",
            "::/0",
            "fd00::1-fd00::9",
        ] {
            assert_eq!(parse_span(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn reads_what_is_there_however_it_is_written() {
        for (text, means) in [
            ("10.1.0.0/24", "10.1.0.0/24"),
            ("10.1.0.5/24", "10.1.0.0/24"),
            ("010.001.00.0/024", "10.1.0.0/24"),
            ("fd00::5/64", "fd00::/64"),
            ("::ffff:10.1.0.5/120", "10.1.0.0/24"),
            ("::ffff:0:0/64", "::/64"),
            ("1.2.3.4/0", "0.0.0.0/0"),
        ] {
            assert_eq!(parse_shown_cidr(text).map(|s| s.to_string()).as_deref(), Ok(means), "{text}");
        }
        for text in
            ["fish", "10.1.0.0/33", "10.1.0/24", "10.1.0.256/24", "10.1.0.0/", "fd00::/129", "a.b.c.d/8"]
        {
            assert!(parse_shown_cidr(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_what_readers_disagree_on() {
        for text in [
            "010.0.0.1",
            "10.0.0.1/24",
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-fd00::1",
            "10.0.0.0/33",
            "10.0.0.0/024",
            "10.0.0.0/+8",
            "",
            "::ffff:10.0.0.1",
            "10.0.0",
        ] {
            assert!(parse_span(text).is_err(), "{text}");
        }
        assert!(parse_address("192.168.010.1").unwrap_err().to_string().contains("leading zeros"));
    }
}
