//! The only place that writes to stdout and stderr.

use super::Look;
use super::paint::{Paint, plain, wanted};
use crate::cli::{Format, LogFormat, OutputOptions};
use crate::model::timestamp;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Prints data on stdout and everything else on stderr.
pub struct Printer {
    /// How data is shown.
    pub format: Format,
    /// With colour on stdout?
    pub color: bool,
    /// Columns of the terminal that stdout is; `None` where it is a file or a pipe.
    pub width: Option<u16>,
    /// No warnings, notes and progress.
    pub quiet: bool,
    /// How often `-v` was given.
    pub verbose: u8,
    log: LogFormat,
    clock: fn() -> String,
    stderr: Stderr,
    out: Mutex<Sink>,
    err: Mutex<Sink>,
    bar: Mutex<Option<ProgressBar>>,
}

/// How much a line on stderr matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Somebody has to do something.
    Error,
    /// Somebody should look.
    Warning,
    /// What was done.
    Info,
    /// How it was done, for `-v`.
    Debug,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// The time as logs have it.
fn clock() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    timestamp(since.as_secs().try_into().unwrap_or_default())
}

/// What stderr is; it may be a terminal where stdout is not.
#[derive(Clone, Copy, Default)]
struct Stderr {
    color: bool,
    terminal: bool,
}

/// `None` once the reader has gone away: it has seen what it wanted.
type Sink = Option<Box<dyn Write + Send>>;

impl Printer {
    /// The printer for a run, on the real stdout and stderr.
    pub fn new(options: OutputOptions, format: Format) -> Self {
        let env = |name: &str| std::env::var_os(name);
        let (out, err) = (io::stdout(), io::stderr());
        let width = out.is_terminal().then(terminal_size::terminal_size).flatten();
        Self {
            format,
            color: wanted(options.color, out.is_terminal(), env),
            width: width.map(|(columns, _)| columns.0),
            stderr: Stderr {
                color: wanted(options.color, err.is_terminal(), env),
                terminal: err.is_terminal(),
            },
            ..Self::to(options, Box::new(out), Box::new(err))
        }
    }

    /// A printer without terminal or colour that writes to these.
    pub fn to(options: OutputOptions, out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self {
            format: Format::default(),
            color: false,
            width: None,
            quiet: options.quiet,
            verbose: options.verbose,
            log: options.log_format,
            clock,
            stderr: Stderr::default(),
            out: Mutex::new(Some(out)),
            err: Mutex::new(Some(err)),
            bar: Mutex::new(None),
        }
    }

    /// What the renderers of reports need to know.
    pub fn look(&self) -> Look {
        Look { format: self.format, color: self.color, width: self.width }
    }

    /// Prints text as it is on stdout. A reader that has gone away is no error; a full disk is one.
    pub fn data(&self, text: &str) -> io::Result<()> {
        self.beside_progress(|| {
            let mut out = lock(&self.out);
            let Some(sink) = out.as_mut() else { return Ok(()) };
            match sink.write_all(text.as_bytes()).and_then(|()| sink.flush()) {
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                    *out = None;
                    Ok(())
                }
                other => other,
            }
        })
    }

    /// `warning: …`, unless quiet.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            let label = Paint::BoldYellow.on("warning:", self.stderr.color);
            self.line(Level::Warning, text, || format!("{label} {}\n", plain(text)));
        }
    }

    /// A line about what is done, with `-v`.
    pub fn note(&self, text: &str) {
        if self.verbose > 0 && !self.quiet {
            self.line(Level::Debug, text, || format!("{}\n", Paint::Dim.on(&plain(text), self.stderr.color)));
        }
    }

    /// `error: …`, always.
    pub fn error(&self, text: &str) {
        let label = Paint::BoldRed.on("error:", self.stderr.color);
        self.line(Level::Error, text, || format!("{label} {}\n", plain(text)));
    }

    /// `hint: …` after a blank line, always: it says what to do about the error before it.
    pub fn hint(&self, text: &str) {
        let label = Paint::BoldCyan.on("hint:", self.stderr.color);
        self.line(Level::Info, &format!("hint: {text}"), || format!("\n{label} {}\n", plain(text)));
    }

    /// Text as it is on stderr, always: what a person reads beside the data that a program reads.
    pub fn aside(&self, text: &str) {
        self.line(Level::Info, text.trim_end(), || text.to_owned());
    }

    /// Is stderr for programs?
    pub fn logs_json(&self) -> bool {
        self.log == LogFormat::Json
    }

    /// A line for programs that collect logs, with more to it than a message; people are told in other ways.
    pub fn event(&self, level: Level, message: &str, details: &impl Serialize) {
        if self.logs_json() && (!self.quiet || level == Level::Error) {
            let details = serde_json::to_value(details).unwrap_or_default();
            self.say(&self.record(level, message, details));
        }
    }

    /// A line on stderr, in the form that was asked for.
    fn line(&self, level: Level, message: &str, text: impl FnOnce() -> String) {
        if self.logs_json() {
            self.say(&self.record(level, message, Value::Null));
        } else {
            self.say(&text());
        }
    }

    fn record(&self, level: Level, message: &str, details: Value) -> String {
        let mut record = Map::new();
        record.insert("time".to_owned(), (self.clock)().into());
        record.insert("level".to_owned(), level.name().into());
        record.insert("message".to_owned(), message.into());
        if let Value::Object(details) = details {
            for (key, value) in details {
                record.entry(key).or_insert(value);
            }
        }
        format!("{}\n", Value::Object(record))
    }

    /// A question on stderr, without a newline, for the answer to stand behind.
    pub fn ask(&self, text: &str) {
        self.say(&format!("{} ", plain(text)));
    }

    /// May progress be shown?
    pub(super) fn shows_progress(&self) -> bool {
        self.stderr.terminal
            && !self.quiet
            && !self.logs_json()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// From now on the bar makes way for what is printed; `None` when it is done.
    pub(super) fn set_bar(&self, bar: Option<ProgressBar>) {
        *lock(&self.bar) = bar;
    }

    /// There is nobody left to tell that stderr cannot be written.
    fn say(&self, text: &str) {
        self.beside_progress(|| {
            if let Some(sink) = lock(&self.err).as_mut() {
                let _ = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
            }
        });
    }

    fn beside_progress<T>(&self, print: impl FnOnce() -> T) -> T {
        let bar = lock(&self.bar).clone();
        match bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// What a panic left behind is still good to print to.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a printer has printed, for tests.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Captured {
    out: std::sync::Arc<Mutex<Vec<u8>>>,
    err: std::sync::Arc<Mutex<Vec<u8>>>,
}

#[cfg(test)]
impl Captured {
    /// A printer, and what it prints.
    pub(crate) fn printer(format: Format, quiet: bool, verbose: u8) -> (Printer, Self) {
        let captured = Self::default();
        let options = OutputOptions {
            color: crate::cli::ColorWhen::Never,
            log_format: LogFormat::Text,
            verbose,
            quiet,
        };
        let (out, err) = (Shared(captured.out.clone()), Shared(captured.err.clone()));
        (Printer { format, ..Printer::to(options, Box::new(out), Box::new(err)) }, captured)
    }

    /// What is on stdout so far.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(lock(&self.out).clone()).unwrap()
    }

    /// What is on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(lock(&self.err).clone()).unwrap()
    }
}

#[cfg(test)]
struct Shared(std::sync::Arc<Mutex<Vec<u8>>>);

#[cfg(test)]
impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speak(printer: &Printer) {
        printer.data("data\n").unwrap();
        printer.note("reading 3 kinds");
        printer.warn("the gateway is outside the subnet");
        printer.error("no pool is called \"lba\"\x1b[2J");
        printer.hint("did you mean lab?");
    }

    #[test]
    fn data_goes_to_stdout_and_all_else_to_stderr() {
        let (printer, captured) = Captured::printer(Format::Table, false, 1);
        speak(&printer);
        assert_eq!(captured.stdout(), "data\n");
        insta::assert_snapshot!(captured.stderr(), @r#"
        reading 3 kinds
        warning: the gateway is outside the subnet
        error: no pool is called "lba"\u{1b}[2J

        hint: did you mean lab?
        "#);
    }

    #[test]
    fn for_programs_every_line_on_stderr_is_an_object() {
        let (printer, captured) = Captured::printer(Format::Table, false, 1);
        let clock = || "2026-01-31T12:00:00Z".to_owned();
        let printer = Printer { log: LogFormat::Json, clock, ..printer };
        speak(&printer);
        printer.aside("--- a\n+++ b\n");
        let details = serde_json::json!({ "message": "not this one", "address": "10.0.0.9/24" });
        printer.event(Level::Info, "a has 10.0.0.9/24", &details);
        assert_eq!(captured.stdout(), "data\n");
        insta::assert_snapshot!(captured.stderr(), @r#"
        {"time":"2026-01-31T12:00:00Z","level":"debug","message":"reading 3 kinds"}
        {"time":"2026-01-31T12:00:00Z","level":"warning","message":"the gateway is outside the subnet"}
        {"time":"2026-01-31T12:00:00Z","level":"error","message":"no pool is called \"lba\"\u001b[2J"}
        {"time":"2026-01-31T12:00:00Z","level":"info","message":"hint: did you mean lab?"}
        {"time":"2026-01-31T12:00:00Z","level":"info","message":"--- a\n+++ b"}
        {"time":"2026-01-31T12:00:00Z","level":"info","message":"a has 10.0.0.9/24","address":"10.0.0.9/24"}
        "#);
    }

    #[test]
    fn quiet_leaves_data_errors_and_hints() {
        let (printer, captured) = Captured::printer(Format::Table, true, 1);
        speak(&printer);
        assert_eq!(captured.stdout(), "data\n");
        insta::assert_snapshot!(captured.stderr(), @r#"
        error: no pool is called "lba"\u{1b}[2J

        hint: did you mean lab?
        "#);
    }

    #[test]
    fn notes_need_to_be_asked_for_and_labels_are_coloured() {
        let (printer, captured) = Captured::printer(Format::Table, false, 0);
        speak(&Printer { stderr: Stderr { color: true, ..Stderr::default() }, ..printer });
        insta::assert_snapshot!(captured.stderr(), @"
        \u{1b}[1;33mwarning:\u{1b}[0m the gateway is outside the subnet
        \u{1b}[1;31merror:\u{1b}[0m no pool is called \"lba\"\\u{1b}[2J

        \u{1b}[1;36mhint:\u{1b}[0m did you mean lab?
        ");
    }

    /// Fails every write with an error of this kind.
    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_left_is_no_error_and_a_full_disk_is() {
        let printer = |kind| {
            let (printer, _) = Captured::printer(Format::Table, false, 0);
            Printer { out: Mutex::new(Some(Box::new(Broken(kind)))), ..printer }
        };
        let left = printer(io::ErrorKind::BrokenPipe);
        assert!(left.data("a").is_ok() && left.data("b").is_ok());
        assert!(printer(io::ErrorKind::StorageFull).data("a").is_err());
    }
}
