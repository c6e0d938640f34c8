//! A line on the terminal about work that takes longer than half a second.

use super::Printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::borrow::Cow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work that is done sooner shows nothing: a line that flashes by tells nobody anything.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the line moves, to show that mipam is alive.
const TICK: Duration = Duration::from_millis(100);

/// Shows how far some work is, and takes the line away when it is dropped.
pub struct Progress<'a> {
    bar: ProgressBar,
    printer: &'a Printer,
    late: Option<(Sender<()>, JoinHandle<()>)>,
}

impl<'a> Progress<'a> {
    /// Begins, with the words for what is done ("reading the cluster"). Off a terminal, and with `-q`, nothing
    /// is ever shown.
    pub fn start(printer: &'a Printer, message: impl Into<Cow<'static, str>>) -> Self {
        if printer.shows_progress() {
            Self::on(printer, message.into(), PATIENCE, ProgressDrawTarget::stderr())
        } else {
            Self { bar: ProgressBar::hidden(), printer, late: None }
        }
    }

    fn on(
        printer: &'a Printer,
        message: Cow<'static, str>,
        patience: Duration,
        target: ProgressDrawTarget,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(style("{spinner} {msg}"))
            .with_message(message);
        let (done, wait) = mpsc::channel();
        let late = bar.clone();
        // A thread, because the work may be one long request that gives no sign in between.
        let thread = std::thread::spawn(move || {
            if wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                late.set_draw_target(target);
                late.enable_steady_tick(TICK);
            }
        });
        printer.set_bar(Some(bar.clone()));
        Self { bar, printer, late: Some((done, thread)) }
    }

    /// How many steps there are in all.
    pub fn set(&self, len: u64) {
        self.bar.set_length(len);
        self.bar.set_style(style("{spinner} {msg} {bar:30} {pos}/{len}"));
    }

    /// One more step is done.
    pub fn inc(&self) {
        self.bar.inc(1);
    }

    /// From now on something else is done.
    pub fn message(&self, message: impl Into<Cow<'static, str>>) {
        self.bar.set_message(message);
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.late.take() {
            drop(done);
            // The thread must not show the line after it was taken away.
            let _ = thread.join();
            self.printer.set_bar(None);
        }
        self.bar.finish_and_clear();
    }
}

/// Characters that every terminal and font has.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .tick_chars("|/-\\ ")
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::super::Captured;
    use super::*;
    use crate::cli::Format;
    use indicatif::TermLike;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// Notes what is drawn.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn text(&self) -> String {
            self.0.lock().unwrap().clone()
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("<clear>")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn run(patience: Duration, work: impl FnOnce(&Printer, &Progress<'_>, &Screen)) -> String {
        let screen = Screen::default();
        let (printer, _) = Captured::printer(Format::Table, false, 0);
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let progress = Progress::on(&printer, "reading the cluster".into(), patience, target);
        work(&printer, &progress, &screen);
        drop(progress);
        screen.text()
    }

    #[test]
    fn quick_work_shows_nothing() {
        let shown = run(Duration::from_secs(3600), |_, progress, _| {
            progress.set(2);
            progress.inc();
            progress.message("writing");
        });
        assert_eq!(shown, "");
    }

    #[test]
    fn long_work_shows_a_line_that_is_cleared_at_the_end() {
        let shown = run(Duration::ZERO, |printer, progress, screen| {
            progress.set(2);
            progress.inc();
            for _ in 0..500 {
                if screen.text().contains("1/2") {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            printer.warn("printed beside it");
        });
        assert!(shown.contains("reading the cluster") && shown.contains("1/2"), "{shown}");
        assert!(shown.trim_end().ends_with("<clear>"), "{shown}");
    }

    #[test]
    fn nothing_is_shown_off_a_terminal() {
        let (printer, captured) = Captured::printer(Format::Table, false, 0);
        let progress = Progress::start(&printer, "reading the cluster");
        progress.inc();
        assert!(progress.late.is_none());
        drop(progress);
        assert_eq!(captured.stderr(), "");
    }
}
