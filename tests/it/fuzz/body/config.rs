//! A config: whatever the bytes are there is an answer, and errors name a line of the file and can be shown on
//! a terminal.

use mipam::config::parse_bytes;

pub fn run(bytes: &[u8]) {
    let lines = String::from_utf8_lossy(bytes).lines().count().max(1);
    match parse_bytes("f", bytes) {
        Ok(config) => {
            for pool in &config.pools {
                assert!(!pool.ranges.is_empty(), "{pool:?}");
                assert!(pool.ranges.iter().all(|r| r.family() == pool.family), "{pool:?}");
                assert!(pool.reserved.values().all(|a| pool.contains(*a)), "{pool:?}");
                assert!(pool.prefix <= pool.family.bits(), "{pool:?}");
            }
            // No address is in two ranges of one network: there would be two answers to whose it is.
            for (at, pool) in config.pools.iter().enumerate().take(50) {
                for other in config.pools.iter().take(at).filter(|o| o.network == pool.network) {
                    let shared = pool.ranges.iter().any(|r| other.ranges.iter().any(|o| r.overlaps(o)));
                    assert!(!shared, "{} overlaps {}", pool.name, other.name);
                }
            }
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            for error in errors.errors {
                assert!((1..=lines).contains(&error.line), "{error:?}");
                assert!(!error.message.is_empty());
                assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
            }
        }
    }
}
