//! One process of mipam: started, perhaps killed, and looked at when it has ended.

use serde_json::Value;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What one request may take.
pub const REQUEST: Duration = Duration::from_secs(3);

/// No run takes longer, whatever the cluster does: every request is tried six times at most, and a pass is a
/// handful of requests, one after the other.
const BOUND: Duration = Duration::from_secs(180);

/// A process, running or not.
pub struct Run {
    child: Mutex<Child>,
    killed: AtomicBool,
    files: [PathBuf; 2],
    started: Instant,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// `None`: it was killed.
    pub code: Option<i32>,
    pub stderr: String,
    pub took: Duration,
}

impl Run {
    /// Starts `mipam reconcile`. What it prints goes to files in `dir`.
    pub fn start(dir: &Path, kubeconfig: &Path, config: &Path, more: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let files = ["out", "err"].map(|kind| dir.join(format!("{number}.{kind}")));
        let child = Command::new(env!("CARGO_BIN_EXE_mipam"))
            .args(["reconcile", "-q", "-o", "json", "--request-timeout", &format!("{}s", REQUEST.as_secs())])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--config")
            .arg(config)
            .args(more)
            .env_clear()
            .stdout(File::create(&files[0]).expect("a file"))
            .stderr(File::create(&files[1]).expect("a file"))
            .spawn()
            .expect("mipam");
        Self { child: Mutex::new(child), killed: AtomicBool::new(false), files, started: Instant::now() }
    }

    /// Kills it as `kill -9` would; false if it had ended before.
    pub fn kill(&self) -> bool {
        let mut child = self.child.lock().expect("the process");
        let alive = child.try_wait().expect("its state").is_none();
        if alive {
            self.killed.store(true, Ordering::Relaxed);
            child.kill().expect("killed");
        }
        alive
    }

    /// Has it ended?
    pub fn ended(&self) -> bool {
        self.child.lock().expect("the process").try_wait().expect("its state").is_some()
    }

    /// Waits for its end, and checks that it ended as a program should.
    pub fn finish(&self) -> Ended {
        while !self.ended() {
            assert!(self.started.elapsed() < BOUND, "mipam hangs: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
        let took = self.started.elapsed();
        let status = self.child.lock().expect("the process").wait().expect("its end");
        let stdout = std::fs::read(&self.files[0]).expect("what it printed");
        let stderr = self.stderr();
        let killed = self.killed.load(Ordering::Relaxed);
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(
            matches!((status.code(), status.signal()), (Some(0..=2), None))
                || (killed && status.signal() == Some(9)),
            "{status}: {stderr}"
        );
        let report = serde_json::from_slice::<Value>(&stdout);
        if status.code().is_some() {
            let ended_well = report.is_ok() || (stdout.is_empty() && status.code() == Some(2));
            assert!(ended_well, "{status}: {}\n{stderr}", String::from_utf8_lossy(&stdout));
            let says = stderr.starts_with("error: ") && stderr.contains("hint: ");
            assert!(status.code() != Some(2) || says, "an error without a word: {stderr:?}");
        }
        Ended { code: status.code(), stderr, took }
    }

    fn stderr(&self) -> String {
        let bytes = std::fs::read(&self.files[1]).expect("what it printed");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.get_mut().expect("the process").wait();
    }
}
