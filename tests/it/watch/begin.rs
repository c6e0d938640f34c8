//! How a process begins where the server does not answer, and how it ends before anything is read.

use super::{Watcher, until};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A server that takes connections and never says a word, for as long as this lives.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn a_process_that_waits_for_its_configuration_says_so_and_ends_when_it_is_told_to() {
    let (_server, url) = silent();
    let dir = tempfile::tempdir().unwrap();
    let config = Path::new("configmap/mipam-system/mipam-config");
    let kubeconfig = dir.path().join("kubeconfig");
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: '{url}'}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}],
        users: [{{name: u, user: {{}}}}], current-context: c}}"
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let watcher = Watcher::start(dir.path(), &kubeconfig, config, &[]);
    until("it lives", || watcher.ask("/healthz").is_some_and(|(code, _)| code == 200));
    let (code, why) = watcher.ask("/readyz").unwrap();
    assert_eq!((code, why.trim()), (503, "the configuration is not read yet"));
    until("it says so", || watcher.stderr().contains("the API server has not said yet"));
    let (status, took, stderr) = watcher.stop();
    assert_eq!((status.code(), status.signal()), (Some(0), None), "{stderr}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_single_pass_that_is_told_to_end_says_that_it_was_not_all() {
    let (server, url) = silent();
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, "ipam-config: {systems: [nodes]}").unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_mipam"))
        .args(["reconcile", "--apiserver", &url, "--config"])
        .arg(&config)
        .env_clear()
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It is in the middle of its pass when it has asked the server for something.
    let _asked = server.accept().unwrap();
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("told to end before all was done"), "{stderr}");
}
