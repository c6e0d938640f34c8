//! Addresses and ranges: what is read is written back in a form that reads the same, and sets of ranges agree
//! with what was put into them.

use mipam::addr::{Family, Span, SpanSet, number, parse_address, parse_span, subnet, unusable_in_subnet};

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut set = SpanSet::default();
    let mut spans = Vec::new();
    for part in text.lines().take(64) {
        match parse_address(part) {
            Ok(address) => {
                assert_eq!(parse_address(&address.to_string()), Ok(address));
                assert_eq!(Family::of(address).address(number(address)), address);
                for prefix in 0..=Family::of(address).bits() {
                    let net = subnet(address, prefix);
                    assert!(net.contains(address), "{net}");
                    assert!(unusable_in_subnet(address, prefix).iter().all(|a| net.contains(*a)), "{net}");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        match parse_span(part) {
            Ok(span) => {
                assert_eq!(parse_span(&span.to_string()), Ok(span), "{span}");
                assert!(span.contains(span.first()) && span.contains(span.last()));
                set.insert(span);
                spans.push(span);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    check(&set, &spans);
}

fn check(set: &SpanSet, spans: &[Span]) {
    let merged: Vec<Span> = set.spans().collect();
    for span in spans {
        assert!(merged.iter().any(|m| m.covers(span)), "{span} is lost");
        assert_eq!(set.lowest_free(*span), None);
        let all = span.len().unwrap_or(u128::MAX);
        assert_eq!(set.count_in(*span), all);
        let edges = [span.first(), span.last()];
        for edge in edges {
            let mut less = set.clone();
            less.remove_address(edge);
            assert!(!less.contains(edge));
            assert_eq!(less.lowest_free(*span), Some(edge), "{span}");
            less.insert_address(edge);
            assert_eq!(less, *set);
        }
    }
}
