//! A child process that neither outlives this one nor leaves its folder behind.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs `"$@"` until standard input closes, which it does even when this process is killed: the kernel
/// closes the pipe. Then the child is killed and its folder goes. Signals of the terminal are ignored,
/// because they reach the test process too and the pipe tells the rest.
///
/// The signal is repeated, as one that arrives just before `wait` would not end it, and ignored once it was
/// heard, as the second `wait` has to see the child's end. Should the shell itself have been killed, the
/// reader kills the child in its place. Several watchdogs remove one folder, each after its own child's end,
/// and may fail for getting in each other's way: so they try again. A line on standard input is the order to
/// kill the child alone: the folder stays, for its successor.
const WATCHDOG: &str = r#"
trap '' INT HUP TERM
over=
trap over=1 USR1
dir=$1
shift
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
{
  if read -r _ <&3; then kill -9 "$child"; exit; fi
  while kill -USR1 $$; do sleep 0.2; done
  kill -9 "$child"
} 2>/dev/null &
reader=$!
exec 3<&-
wait "$child"
code=$?
if [ -n "$over" ]; then
  trap '' USR1
  kill -9 "$child"
  wait "$child"
fi 2>/dev/null
kill -9 "$reader" 2>/dev/null
tries=50
while [ -n "$over" ] && [ $((tries -= 1)) -gt 0 ] && ! rm -rf "$dir" 2>/dev/null; do sleep 0.1; done
exit "$code"
"#;

/// A running program; dropped, it is killed and reaped, and its folder removed.
pub struct Guarded {
    name: String,
    shell: Child,
    log: PathBuf,
}

impl Guarded {
    /// Starts a program, with all it prints in `<dir>/<name>.log`. `dir` is removed at the end.
    pub fn spawn<S: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        args: &[S],
        dir: &Path,
        workdir: &Path,
    ) -> Self {
        let log = dir.join(format!("{name}.log"));
        let out = File::create(&log).unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let shell = Command::new("sh")
            .args(["-c", WATCHDOG, "sh"])
            .arg(dir)
            .arg(program)
            .args(args)
            .current_dir(workdir)
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::piped())
            .stdout(out.try_clone().expect("a second handle on the log"))
            .stderr(out)
            .spawn()
            .unwrap_or_else(|e| panic!("sh could not be started for {name}: {e}"));
        Self { name: name.to_owned(), shell, log }
    }

    /// Which program this is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kills it as `kill -9` would, and leaves its folder; returns when it is gone.
    pub fn crash(mut self) {
        let order = self.shell.stdin.as_mut().expect("its standard input");
        order.write_all(b"\n").unwrap_or_else(|e| panic!("{} cannot be killed: {e}", self.name));
        self.finish();
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.shell.try_wait().expect("the state of a child")
    }

    /// Waits for its end.
    pub fn finish(&mut self) -> ExitStatus {
        // `Child::wait` would close standard input, which is the order to kill.
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// All that it printed.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The end of what it printed, for a message.
    pub fn last_words(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        let tail = lines[lines.len().saturating_sub(25)..].join("\n");
        format!("last lines of {}:\n{tail}", self.name)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
