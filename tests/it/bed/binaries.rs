//! Where etcd, kube-apiserver, kube-controller-manager, helm and kustomize come from: `KUBEBUILDER_ASSETS`, or built once
//! with Go into `target/testbed`.

use super::process::Guarded;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

const VERSION: &str = "v1.36.3";

/// How the names of folders begin in which a build is under way.
const SCRATCH: &str = "build-";

/// A program of the test bed and the Go package that it is built from.
pub struct Program {
    pub name: &'static str,
    package: &'static str,
    /// The Go module that says which version.
    module: &'static str,
}

const SERVERS: &str = "tests/testbed";
const TOOLS: &str = "tests/packaging";

pub const ETCD: Program = Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: SERVERS };
pub const APISERVER: Program =
    Program { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver", module: SERVERS };
pub const CONTROLLERS: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    module: SERVERS,
};
pub const HELM: Program = Program { name: "helm", package: "helm.sh/helm/v3/cmd/helm", module: TOOLS };
pub const KUSTOMIZE: Program =
    Program { name: "kustomize", package: "sigs.k8s.io/kustomize/kustomize/v5", module: TOOLS };

/// The program's path; builds it if that has to be.
pub fn locate(program: &Program) -> PathBuf {
    if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") {
        let path = Path::new(&assets).join(program.name);
        if path.is_file() {
            return path;
        }
    }
    // target/tmp, whatever the target folder is called.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let builder = Builder {
        go: Path::new("go"),
        module: &Path::new(env!("CARGO_MANIFEST_DIR")).join(program.module),
        out: &target.join("testbed"),
        // Not `eprintln`, which the test harness holds back until the test has ended.
        tell: |what| drop(writeln!(std::io::stderr(), "{what}")),
    };
    builder.build(program)
}

/// Builds programs once.
pub struct Builder<'a> {
    pub go: &'a Path,
    /// The Go module that says which versions.
    pub module: &'a Path,
    /// Where programs are kept.
    pub out: &'a Path,
    /// Says why it takes so long.
    pub tell: fn(&str),
}

impl Builder<'_> {
    /// The program in `out`, built unless it is there and of this very module.
    pub fn build(&self, program: &Program) -> PathBuf {
        let Self { go, module, out, tell } = *self;
        fs::create_dir_all(out).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
        // One builder at a time among all tests and processes; the lock goes with its process.
        let lock = File::create(out.join("lock")).expect("the lock file of the test bed");
        lock.lock().expect("the lock of the test bed");

        let path = out.join(program.name);
        let stamp = out.join(format!("{}.stamp", program.name));
        let flags = flags(program);
        let wanted = recipe(&flags, module);
        if path.is_file() && fs::read(&stamp).is_ok_and(|found| found == wanted) {
            return path;
        }
        tell(&format!("building {} into {}: minutes, once", program.name, out.display()));

        for left in fs::read_dir(out).expect("the folder of the test bed").flatten() {
            if left.file_name().to_string_lossy().starts_with(SCRATCH) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        // Never the same folder twice, as the watchdog of a build that was killed may still be removing its own.
        let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(out).expect("a scratch folder");
        let scratch = scratch.path();
        let fresh = scratch.join(program.name);
        let mut args = flags;
        args.extend(["-o".to_owned(), fresh.display().to_string(), program.package.to_owned()]);
        let mut build = Guarded::spawn("go", go, &args, scratch, module);
        let status = build.finish();
        assert!(
            status.success(),
            "the test bed needs {name}, and it could not be built ({status}).\n\
             Either install Go 1.26 or newer (`go` in PATH, with access to a Go module proxy or a filled module \
             cache) and run again: it is built once, into {out}.\n\
             Or set KUBEBUILDER_ASSETS to a folder that holds {name} (Kubernetes {VERSION}, etcd 3.6, or near).\n{why}",
            name = program.name,
            out = out.display(),
            why = build.last_words(),
        );
        // The stamp comes last and whole: whatever is interrupted before leads to another build.
        fs::rename(&fresh, &path).expect("the built program in its place");
        let fresh_stamp = scratch.join("stamp");
        fs::write(&fresh_stamp, wanted).expect("the stamp");
        fs::rename(&fresh_stamp, &stamp).expect("the stamp in its place");
        path
    }
}

fn flags(program: &Program) -> Vec<String> {
    // Without a version clients take the server for v0.0.0.
    let versions = [
        format!("k8s.io/component-base/version.gitVersion={VERSION}"),
        "k8s.io/component-base/version.gitMajor=1".to_owned(),
        "k8s.io/component-base/version.gitMinor=36".to_owned(),
        format!("k8s.io/client-go/pkg/version.gitVersion={VERSION}"),
    ];
    let mut linker = "-s -w".to_owned();
    if program.package.starts_with("k8s.io/") {
        for version in versions {
            linker.push_str(" -X ");
            linker.push_str(&version);
        }
    }
    ["build", "-trimpath", "-ldflags", &linker].map(str::to_owned).to_vec()
}

/// All that decides what is built, kept beside it: equal bytes need no hash.
fn recipe(flags: &[String], module: &Path) -> Vec<u8> {
    let mut recipe = flags.join(" ").into_bytes();
    for file in ["go.mod", "go.sum"] {
        let path = module.join(file);
        recipe.push(b'\n');
        recipe.extend(fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    }
    recipe
}
