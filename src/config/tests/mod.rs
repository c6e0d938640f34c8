//! Tests of the whole room: both short forms, every rule, broken files and the example.

mod broken_files;
mod example;
mod forms;
mod rules;

use super::{Config, ConfigError, parse};

/// The config of a text that must be good.
fn good(text: &str) -> Config {
    parse("ipam-config.yaml", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The errors of a text that must be bad.
fn bad(text: &str) -> Vec<ConfigError> {
    parse("ipam-config.yaml", text).expect_err(text).errors
}

/// The only error of a text that must be bad in one way.
fn one(text: &str) -> ConfigError {
    let mut errors = bad(text);
    assert_eq!(errors.len(), 1, "{errors:#?}\n{text}");
    errors.remove(0)
}
