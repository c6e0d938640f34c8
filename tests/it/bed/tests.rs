//! The bed itself.

use super::binaries::{Builder, ETCD};
use std::path::Path;

/// What a person reads who has neither Go nor the programs.
#[test]
fn without_go_it_says_what_to_install() {
    let out = tempfile::tempdir().expect("a folder");
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed");
    let go = Path::new("no-such-go");
    let builder = Builder { go, module: &module, out: out.path(), tell: |_| () };
    let cause = std::panic::catch_unwind(|| builder.build(&ETCD)).expect_err("no Go, no etcd");
    let message = cause.downcast_ref::<String>().expect("a message");
    assert!(message.contains("install Go 1.26 or newer"), "{message}");
    assert!(message.contains("set KUBEBUILDER_ASSETS to a folder that holds etcd"), "{message}");
    assert!(message.contains("no-such-go"), "{message}");
}

/// A program that is there is built again only when the module changed, and never left half built.
#[test]
fn programs_are_built_once_and_again_when_the_module_changes() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a folder");
    let (module, out, go) = (dir.path().join("module"), dir.path().join("out"), dir.path().join("go"));
    std::fs::create_dir(&module).unwrap();
    std::fs::write(module.join("go.mod"), "one").unwrap();
    std::fs::write(module.join("go.sum"), "sum").unwrap();
    // Stands in for Go: notes each build, and builds nothing where the module says so.
    let script = "#!/bin/sh\necho built >>../builds\nwhile [ \"$1\" != -o ]; do shift; done\n\
                  ! grep -q broken go.mod && cp go.mod \"$2\"\n";
    std::fs::write(&go, script).unwrap();
    std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).unwrap();
    let builds = || std::fs::read_to_string(dir.path().join("builds")).unwrap_or_default().lines().count();
    let builder = Builder { go: &go, module: &module, out: &out, tell: |_| () };
    let build = || std::fs::read_to_string(builder.build(&ETCD)).unwrap();

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(build(), "one"));
        }
    });
    assert_eq!(builds(), 1);
    std::fs::write(module.join("go.mod"), "two").unwrap();
    assert_eq!((build(), builds()), ("two".to_owned(), 2));
    std::fs::write(module.join("go.mod"), "broken").unwrap();
    assert!(std::panic::catch_unwind(build).is_err());
    assert!(std::panic::catch_unwind(build).is_err());
    assert_eq!(builds(), 4);
    std::fs::write(module.join("go.mod"), "two").unwrap();
    assert_eq!((build(), builds()), ("two".to_owned(), 4));
}
