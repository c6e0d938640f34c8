//! Collects everything that is wrong or odd while the config is walked, and finds the lines at the end: only
//! the few findings that are shown cost another look at the text.

use super::Config;
use super::error::{ConfigError, ConfigErrors};
use crate::yaml::{self, Step};
use std::fmt;

/// More than this many errors or warnings help nobody.
const SHOWN: usize = 20;

/// Where in the document, or which option of the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    steps: Vec<Step>,
    option: Option<String>,
}

impl Path {
    pub(super) fn option(text: &str) -> Self {
        Self { steps: Vec::new(), option: Some(clip(&text.replace(char::is_control, " "))) }
    }

    pub(super) fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        Self { steps: self.steps.iter().cloned().chain([step]).collect(), option: self.option.clone() }
    }

    /// As it is shown inside a message: without the root that all have.
    pub(super) fn short(&self) -> String {
        let full = self.to_string();
        full.strip_prefix("ipam-config.").map_or(full.clone(), str::to_owned)
    }

    fn line(&self, text: &str) -> usize {
        yaml::locate_key(text, &self.steps).map_or(1, |p| p.line)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option.as_deref().unwrap_or_default())?;
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Index(n) => write!(f, "[{n}]")?,
                Step::Key(key) if key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)) => {
                    write!(f, "{}{}", if i > 0 { "." } else { "" }, clip(key))?;
                }
                // A dot would read as another step, and a control character must not reach a terminal.
                Step::Key(key) => write!(f, "[{}]", quote(key))?,
            }
        }
        Ok(())
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) at: Path,
    pub(super) value: T,
}

/// Something to tell the person who wrote the config.
#[derive(Debug)]
pub(super) struct Finding {
    at: Path,
    line: Option<usize>,
    message: String,
    hint: Option<String>,
    see: Option<Path>,
}

impl Finding {
    pub(super) fn new(at: &Path, message: impl Into<String>) -> Self {
        Self { at: at.clone(), line: None, message: message.into(), hint: None, see: None }
    }

    /// What would be right.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends the message with the line of another place.
    pub(super) fn see(mut self, other: &Path) -> Self {
        self.see = Some(other.clone());
        self
    }

    /// For text that could not be read, so that there is no path to walk.
    pub(super) fn on_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    fn locate(self, file: &str, text: &str) -> ConfigError {
        let mut message = self.message;
        if let Some(other) = self.see.as_ref().filter(|other| other.option.is_none()) {
            message = format!("{message} (line {})", other.line(text));
        }
        if let Some(option) = self.at.option {
            return ConfigError { file: option, line: 0, key: String::new(), message, hint: self.hint };
        }
        ConfigError {
            file: file.to_owned(),
            // A text that ends too early is wrong on the line after its last.
            line: self.line.unwrap_or_else(|| self.at.line(text)).min(text.lines().count().max(1)),
            key: self.at.to_string(),
            message,
            hint: self.hint,
        }
    }
}

/// Errors and warnings so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
    error_count: usize,
    warning_count: usize,
}

impl Findings {
    pub(super) fn error(&mut self, finding: Finding) {
        self.error_with(|| finding);
    }

    /// For findings that cost something to make: made only if there is room for them.
    pub(super) fn error_with(&mut self, finding: impl FnOnce() -> Finding) {
        self.error_count += 1;
        if self.errors.len() < SHOWN {
            self.errors.push(finding());
        }
    }

    pub(super) fn warning(&mut self, finding: Finding) {
        self.warning_count += 1;
        if self.warnings.len() < SHOWN {
            self.warnings.push(finding);
        }
    }

    /// How many errors so far: who compares two counts knows whether something in between went wrong.
    pub(super) fn errors(&self) -> usize {
        self.error_count
    }

    /// The config with its warnings, or the errors by line.
    pub(super) fn finish(
        self,
        file: &str,
        text: &str,
        config: Option<Config>,
    ) -> Result<Config, ConfigErrors> {
        let sorted = |findings: Vec<Finding>| {
            let mut found: Vec<ConfigError> = findings.into_iter().map(|x| x.locate(file, text)).collect();
            found.sort_by_key(|e| e.line);
            found
        };
        match config {
            Some(config) if self.error_count == 0 => {
                let more = self.warning_count - self.warnings.len();
                let mut warnings: Vec<String> =
                    sorted(self.warnings).iter().map(ToString::to_string).collect();
                if more > 0 {
                    warnings.push(format!("{file}: and {more} more warnings"));
                }
                Ok(Config { warnings, ..config })
            }
            _ => {
                let more = self.error_count - self.errors.len();
                Err(ConfigErrors { errors: sorted(self.errors), more })
            }
        }
    }
}

/// A text in quotes, short and without control characters.
pub(super) fn quote(text: &str) -> String {
    format!("{:?}", clip(text))
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
