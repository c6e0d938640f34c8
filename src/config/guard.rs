//! Refuses text that is too large to be a configuration.

use super::findings::{Finding, Path};

/// Larger files are no config, and reading them would take long.
const LONGEST: usize = 4 << 20;

/// What is wrong with the text, if anything.
pub(super) fn check(text: &str) -> Option<Finding> {
    (text.len() > LONGEST).then(|| {
        let hint = format!("a config may have at most {LONGEST} (4 MiB): is this the right file?");
        Finding::new(&Path::default(), format!("the file has {} bytes", text.len())).on_line(1).hint(hint)
    })
}
