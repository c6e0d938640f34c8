//! What a person reads when `ipam-config.yaml` cannot be used: file, line, key, what is wrong, what would be
//! right.

use std::fmt;

/// One thing that is wrong in a config file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file as it was named, or the option of the command line.
    pub file: String,
    /// From 1; 0 for an option.
    pub line: usize,
    /// Dotted path, such as `ipam-config.pools[0].ranges[1]`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What would be right, where the message does not say it already.
    pub hint: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: ", self.file)?,
            line => write!(f, "{}:{line}: ", self.file)?,
        }
        // The root is the same in every file: leaving it out keeps the line short.
        let key = self.key.strip_prefix("ipam-config.").unwrap_or(&self.key);
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All that is wrong in a config file, by line; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    /// The first of them.
    pub errors: Vec<ConfigError>,
    /// How many were left out.
    pub more: usize,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.more {
            0 => Ok(()),
            1 => f.write_str("\nand 1 more error"),
            n => write!(f, "\nand {n} more errors"),
        }
    }
}
