//! The program as kubectl's plugin.

use std::path::Path;
use std::process::Command;

/// The plugin and its completion, on a path of their own.
fn installed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mipam"), dir.path().join("kubectl-mipam")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions/kubectl_complete-mipam");
    std::fs::copy(script, dir.path().join("kubectl_complete-mipam")).unwrap();
    dir
}

fn run(dir: &Path, program: &str, words: &[&str]) -> String {
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    let ran = Command::new(dir.join(program)).args(words).env("PATH", path).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn it_calls_itself_what_people_type() {
    let dir = installed();
    let help = run(dir.path(), "kubectl-mipam", &["status", "--help"]);
    assert!(help.contains("Usage: kubectl mipam status"), "{help}");
    assert!(help.contains("\n  kubectl mipam status --pool lab --addresses"), "{help}");
}

#[test]
fn kubectl_can_ask_how_to_go_on() {
    let dir = installed();
    let asked = |words: &[&str]| run(dir.path(), "kubectl_complete-mipam", words);
    assert_eq!(
        asked(&["det"]),
        "detach\tTake mipam's hooks and finalizers off every object, so that it can be uninstalled\n:4\n"
    );
    assert_eq!(
        asked(&["--dir", "lab", "status", "--ma"]),
        "--map\tDraw each pool, one character for an address\n:4\n"
    );
    assert_eq!(asked(&["status", "--dir", ""]), ":16\n");
    assert!(asked(&[""]).contains("reconcile\t"));
}
