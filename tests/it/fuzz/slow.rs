//! No hang: text that is eight times as long takes about eight times as long to be answered, whatever it repeats.

use super::body;
use std::time::{Duration, Instant};

const PATTERNS: [&str; 24] = [
    "a: &x 1\n",
    "a: &x *x\n",
    "- ",
    "- - ",
    "? ",
    ": ",
    "a: ",
    "a:\n",
    "{a: ",
    "[",
    "[]",
    "{}",
    "\"",
    "'a' ",
    "|\n ",
    "&a ",
    "*a ",
    "!x ",
    "---\n",
    "...\n",
    "# c\n",
    "<<: ",
    "yes ",
    "a: yes\n",
];

fn time(run: fn(&[u8]), text: &str) -> Duration {
    let start = Instant::now();
    run(text.as_bytes());
    start.elapsed()
}

fn check(what: &str, run: fn(&[u8]), before: &str, pattern: &str) {
    let text = |size: usize| format!("{before}{}", pattern.repeat(size / pattern.len()));
    let (short, long) = (text(12_000), text(96_000));
    let (few, many) = (time(run, &short), time(run, &long));
    // What takes less says nothing on a busy machine; linear is 8, quadratic 64.
    let slow = many > Duration::from_secs(1) && many > few * 24;
    assert!(!slow, "{what} of {pattern:?}: {few:?} for {} bytes, {many:?} for {}", short.len(), long.len());
}

#[test]
fn no_repetition_takes_long_to_read() {
    for pattern in PATTERNS {
        check("config", body::config::run, "ipam-config:\n", pattern);
        check("config", body::config::run, "", pattern);
        check("manifest", body::manifest::run, "y", pattern);
    }
    for pattern in ["{\"a\":", "{\"a\":1,", "[", "[1,", "\"\\u0000", "1", "1e", " ", "\\"] {
        check("json", body::nad::run, "", pattern);
        check("json manifest", body::manifest::run, "d", pattern);
    }
}
