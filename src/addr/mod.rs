//! Addresses as numbers: families, ranges, and sets of ranges with a fast "lowest free". Knows nothing of
//! Kubernetes.

mod set;
mod span;

pub use set::SpanSet;
pub use span::{ParseError, Span, legible_address, parse_address, parse_shown_cidr, parse_span};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4
    V4,
    /// IPv6
    V6,
}

impl Family {
    /// Both, in the order in which they are written to machines.
    pub const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// 32 or 128.
    pub fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    /// The highest address, as a number.
    pub fn max(self) -> u128 {
        match self {
            Self::V4 => u128::from(u32::MAX),
            Self::V6 => u128::MAX,
        }
    }

    /// The address that a number stands for; numbers beyond the family are cut to its width.
    pub fn address(self, number: u128) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX))),
            Self::V6 => IpAddr::V6(Ipv6Addr::from_bits(number)),
        }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// The number that an address is.
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The subnet of an address: from its network address to its last address.
pub fn subnet(address: IpAddr, prefix: u8) -> Span {
    let family = Family::of(address);
    let host_bits = u32::from(family.bits().saturating_sub(prefix));
    // A shift by the whole width would overflow: a /0 has every address below it.
    let hosts = if host_bits == 0 { 0 } else { u128::MAX >> (128 - host_bits) };
    let first = number(address) & !hosts;
    Span::new(family, first, first | hosts)
}

/// Addresses of the subnet that no host may have: its network address, and for IPv4 its broadcast address.
/// Point-to-point subnets (/31, /127) and single addresses have none.
pub fn unusable_in_subnet(address: IpAddr, prefix: u8) -> Vec<IpAddr> {
    let family = Family::of(address);
    if prefix >= family.bits() - 1 {
        return Vec::new();
    }
    let net = subnet(address, prefix);
    match family {
        Family::V4 => vec![net.first(), net.last()],
        Family::V6 => vec![net.first()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_are_exact_at_the_extremes() {
        let all = subnet("10.1.2.3".parse().unwrap(), 0);
        assert_eq!(
            (all.first(), all.last()),
            ("0.0.0.0".parse().unwrap(), "255.255.255.255".parse().unwrap())
        );
        let one = subnet("10.1.2.3".parse().unwrap(), 32);
        assert_eq!(one.len(), Some(1));
        let v6 = subnet("fd00::5".parse().unwrap(), 0);
        assert_eq!(v6.last(), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse::<IpAddr>().unwrap());
        assert_eq!(v6.len(), None, "2^128 does not fit");
    }

    #[test]
    fn point_to_point_subnets_waste_nothing() {
        assert!(unusable_in_subnet("10.0.0.0".parse().unwrap(), 31).is_empty());
        assert!(unusable_in_subnet("fd00::".parse().unwrap(), 127).is_empty());
        assert_eq!(
            unusable_in_subnet("fd00::9".parse().unwrap(), 64),
            vec!["fd00::".parse::<IpAddr>().unwrap()]
        );
        assert_eq!(unusable_in_subnet("10.0.0.9".parse().unwrap(), 24).len(), 2);
    }
}
