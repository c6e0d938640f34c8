//! A process of `mipam reconcile --watch`: started, asked by its probes, stopped, paused, killed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No process takes longer to get where a test waits for it to be.
const BOUND: Duration = Duration::from_secs(90);

pub struct Watcher {
    child: Child,
    port: u16,
    files: [PathBuf; 2],
}

impl Watcher {
    /// Starts it, with reports as JSON unless `more` says otherwise. What it prints goes to files in `dir`.
    pub fn start(dir: &Path, kubeconfig: &Path, config: &Path, more: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let files = ["out", "err"].map(|kind| dir.join(format!("watch-{number}.{kind}")));
        let port = crate::bed::free_port();
        let child = Command::new(env!("CARGO_BIN_EXE_mipam"))
            .args(["reconcile", "--watch"])
            .args(if more.contains(&"-o") { &[][..] } else { &["-o", "json"] })
            .arg("--health-probe-address")
            .arg(format!("127.0.0.1:{port}"))
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--config")
            .arg(config)
            .args(more)
            .env_clear()
            .env("HOSTNAME", format!("host-{number}"))
            .stdout(File::create(&files[0]).expect("a file"))
            .stderr(File::create(&files[1]).expect("a file"))
            .spawn()
            .expect("mipam");
        Self { child, port, files }
    }

    /// Status and body of one of its pages; `None` where it does not listen.
    pub fn ask(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The value of a metric, by its name with labels.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.ask("/metrics")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.to_owned();
        line.parse().ok()
    }

    pub fn is_ready(&self) -> bool {
        self.ask("/readyz").is_some_and(|(code, _)| code == 200)
    }

    /// Waits until it is ready, whether it is at work or stands by.
    pub fn ready(mut self) -> Self {
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended: {}", self.stderr());
            let why = || (self.ask("/readyz"), self.stderr());
            assert!(begun.elapsed() < BOUND, "it does not get ready: {:?}", why());
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status();
        assert!(status.expect("kill").success(), "kill -{signal}");
    }

    /// Asks it to end, and says how and how fast it did.
    pub fn stop(mut self) -> (ExitStatus, Duration, String) {
        let begun = Instant::now();
        self.signal("TERM");
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, begun.elapsed(), self.stderr());
            }
            assert!(begun.elapsed() < BOUND, "it does not end: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, and expects that to go well.
    pub fn stop_well(self) {
        let (status, took, stderr) = self.stop();
        assert_eq!((status.code(), status.signal()), (Some(0), None), "{stderr}");
        assert!(took < Duration::from_secs(25), "{took:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.files[1]).unwrap_or_default()).into_owned()
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.files[0]).unwrap_or_default()).into_owned()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}\n{}", self.ask("/readyz"), self.stderr());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it is so; panics when that takes too long.
pub fn until(what: &str, so: impl FnMut() -> bool) -> Duration {
    within(what, BOUND, so)
}

pub fn within(what: &str, bound: Duration, mut so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < bound, "waited {bound:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}
