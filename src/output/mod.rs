//! All that people see: pure functions from data to text, and one printer that owns stdout and stderr.
//!
//! A renderer takes a report and a [`Look`] and returns the whole text for stdout, which
//! [`Printer::data`] prints.

pub mod allocation;
pub mod capacity;
pub mod detach;
mod diff;
mod lines;
pub mod map;
mod number;
mod paint;
mod printer;
mod progress;
pub mod reconcile;
pub mod status;
mod table;

#[cfg(test)]
mod samples;

pub use diff::diff;
pub use number::number;
#[cfg(test)]
pub(crate) use printer::Captured;
pub use printer::{Level, Printer};
pub use progress::Progress;

use crate::cli::Format;
use serde::Serialize;

/// How data is shown: which form, in colour or not, and how wide the terminal is, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The form.
    pub format: Format,
    /// With colour?
    pub color: bool,
    /// Columns of the terminal; `None` where lines may be as long as they like.
    pub width: Option<u16>,
}

/// Pretty JSON with a newline at the end.
pub fn json<T: Serialize>(data: &T) -> String {
    let text = serde_json::to_string_pretty(data);
    text.unwrap_or_else(|e| format!("\"cannot be written as JSON: {e}\"")) + "\n"
}

/// The JSON form as YAML.
pub fn yaml<T: Serialize>(data: &T) -> String {
    match serde_json::to_value(data) {
        Ok(value) => crate::yaml::to_yaml(&value),
        Err(e) => format!("# cannot be written as YAML: {e}\n"),
    }
}

/// A report in the form that was asked for; `names` and `tables` are asked only for what is theirs.
fn render<T: Serialize>(
    report: &T,
    look: Look,
    names: impl FnOnce() -> Vec<String>,
    tables: impl FnOnce() -> Vec<String>,
) -> String {
    match look.format {
        Format::Json => json(report),
        Format::Yaml => yaml(report),
        Format::Name => names().iter().map(|name| name.clone() + "\n").collect(),
        Format::Table | Format::Wide => {
            let blocks: Vec<_> = tables().into_iter().filter(|block| !block.is_empty()).collect();
            blocks.join("\n")
        }
    }
}
