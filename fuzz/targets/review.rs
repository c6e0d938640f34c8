//! `review` on arbitrary bytes.
#![no_main]

#[path = "../../tests/it/fuzz/body/mod.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::review::run(bytes));
