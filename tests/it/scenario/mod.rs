//! Scenarios as data: `tests/scenarios/<system>/<name>` holds the objects before, the configuration, the steps,
//! and what is expected of every step and of the objects at the end. The same folder runs on a directory and
//! on the real API server, and must lead to the same.
//!
//! `MIPAM_UPDATE=1` writes `expected.yaml` anew from the run on the directory.

mod api;
mod dir;
pub(crate) mod normal;

use crate::bed::Profile;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use dir::merge;

/// Where a scenario is played.
trait Stage {
    /// Makes the objects of a YAML text.
    fn create(&mut self, yaml: &str);
    /// Deletes an object; with `hold`, a finalizer keeps it terminating.
    fn delete(&mut self, target: &Target, hold: bool);
    /// A JSON merge patch.
    fn merge(&mut self, target: &Target, patch: &Value);
    /// The arguments that make mipam work here.
    fn arguments(&self) -> Vec<String>;
    /// All Machines and ledger objects.
    fn objects(&self) -> Vec<Value>;
    /// Notes where the counting of writes begins.
    fn begin(&mut self);
    /// Writes since then, to machines and to the ledger; `None` where nobody counts.
    fn writes(&self) -> Option<(usize, usize)>;
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    about: String,
    #[serde(default = "hooked")]
    pub(crate) profiles: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

impl Scenario {
    /// The last run of the program.
    pub(crate) fn last_run(&self) -> &str {
        let mut runs = self.steps.iter().filter_map(|s| match s {
            Step::Run { run, .. } => Some(run.as_str()),
            _ => None,
        });
        runs.next_back().unwrap_or_default()
    }
}

/// The profiles whose CRD keeps the hook.
fn hooked() -> Vec<String> {
    vec!["own".to_owned(), "upstream".to_owned()]
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Step {
    Run {
        run: String,
        exit: i32,
        #[serde(rename = "machine-writes")]
        machine_writes: Option<usize>,
        #[serde(rename = "ledger-writes")]
        ledger_writes: Option<usize>,
    },
    Create {
        create: String,
    },
    Delete {
        delete: Target,
        #[serde(default)]
        hold: bool,
    },
    Patch {
        patch: Target,
        merge: Value,
    },
    Config {
        config: String,
    },
}

/// `Kind/namespace/name`, or `Kind.group/namespace/name`, with nothing for the namespace of what has none; without a
/// group, the one that most scenarios mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Target {
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [kind, namespace, name] = parts.as_slice() else {
            return Err(format!("{text}: Kind/namespace/name"));
        };
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) => (kind, group),
            None if kind.starts_with("Machine") => (*kind, "machine.openshift.io"),
            None if kind.starts_with("Elf") => (*kind, "infrastructure.cluster.x-k8s.io"),
            None if kind.starts_with("IPAddressClaim") || kind.ends_with("InClusterIPPool") => {
                (*kind, "ipam.cluster.x-k8s.io")
            }
            None if kind.starts_with("VirtualMachine") => (*kind, "kubevirt.io"),
            None if *kind == "NetworkAttachmentDefinition" => (*kind, "k8s.cni.cncf.io"),
            None if kind.starts_with("IP") => (*kind, "ipam.metal3.io"),
            None if *kind == "ClusterCIDR" => (*kind, "networking.x-k8s.io"),
            None if *kind == "Cluster" => (*kind, "cluster.x-k8s.io"),
            None if *kind == "Deployment" => (*kind, "apps"),
            None if kind.ends_with("Job") => (*kind, "batch"),
            None if *kind == "Lease" => (*kind, "coordination.k8s.io"),
            None => (*kind, ""),
        };
        let (kind, group) = (kind.to_owned(), group.to_owned());
        Ok(Self { kind, group, namespace: (*namespace).into(), name: (*name).into() })
    }
}

impl Target {
    pub(crate) fn api_version(&self) -> &'static str {
        match self.group.as_str() {
            "" => "v1",
            "machine.openshift.io" => "machine.openshift.io/v1beta1",
            "cluster.k8s.io" => "cluster.k8s.io/v1alpha1",
            "machine.k8s.io" => "machine.k8s.io/v1alpha1",
            "infrastructure.cluster.x-k8s.io" => "infrastructure.cluster.x-k8s.io/v1beta1",
            "ipam.metal3.io" => "ipam.metal3.io/v1alpha1",
            "cluster.x-k8s.io" => "cluster.x-k8s.io/v1beta1",
            "ipam.cluster.x-k8s.io" if self.kind.ends_with("InClusterIPPool") => {
                "ipam.cluster.x-k8s.io/v1alpha2"
            }
            "ipam.cluster.x-k8s.io" => "ipam.cluster.x-k8s.io/v1beta1",
            "ipamcontroller.openshift.io" => "ipamcontroller.openshift.io/v1",
            "kubevirt.io" => "kubevirt.io/v1",
            "k8s.cni.cncf.io" if self.kind == "IPAMClaim" => "k8s.cni.cncf.io/v1alpha1",
            "k8s.cni.cncf.io" => "k8s.cni.cncf.io/v1",
            "apps" => "apps/v1",
            "batch" => "batch/v1",
            "coordination.k8s.io" => "coordination.k8s.io/v1",
            "networking.x-k8s.io" => "networking.x-k8s.io/v1",
            other => panic!("no scenario has named the group {other} yet"),
        }
    }
}

/// Versions and kinds of all that scenarios compare, beside the ledger.
pub(crate) const COMPARED: [(&str, &str); 17] = [
    ("v1", "Node"),
    ("networking.x-k8s.io/v1", "ClusterCIDR"),
    ("machine.openshift.io/v1beta1", "Machine"),
    ("cluster.k8s.io/v1alpha1", "Machine"),
    ("machine.k8s.io/v1alpha1", "Machine"),
    ("infrastructure.cluster.x-k8s.io/v1beta1", "ElfMachine"),
    ("ipam.metal3.io/v1alpha1", "IPPool"),
    ("ipam.metal3.io/v1alpha1", "IPClaim"),
    ("ipam.metal3.io/v1alpha1", "IPAddress"),
    ("ipam.cluster.x-k8s.io/v1beta1", "IPAddressClaim"),
    ("ipam.cluster.x-k8s.io/v1beta1", "IPAddress"),
    ("ipam.cluster.x-k8s.io/v1beta2", "IPAddressClaim"),
    ("ipam.cluster.x-k8s.io/v1beta2", "IPAddress"),
    ("ipam.cluster.x-k8s.io/v1alpha2", "InClusterIPPool"),
    ("ipam.cluster.x-k8s.io/v1alpha2", "GlobalInClusterIPPool"),
    ("ipamcontroller.openshift.io/v1", "IPPool"),
    ("k8s.cni.cncf.io/v1alpha1", "IPAMClaim"),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Does this scenario end well on an API server where the account has the rights of these roles?
pub(crate) fn passes_with(name: &str, roles: &str) -> bool {
    let folder = root().join(name);
    let scenario = load(&folder);
    let played = || play(&folder, &scenario, &mut api::Api::with(profile(name), roles));
    let came = std::panic::catch_unwind(std::panic::AssertUnwindSafe(played));
    came.is_ok_and(|came| came == expected(&folder))
}

/// The server on which a scenario is played alone.
pub(crate) fn profile(name: &str) -> Profile {
    let own = load(&root().join(name)).profiles.iter().any(|p| p == "own");
    if own { Profile::Own } else { Profile::OwnStock }
}

/// The folders of all scenarios.
pub(crate) fn folders() -> Vec<PathBuf> {
    let read = |dir: &Path| -> Vec<PathBuf> {
        let mut found: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        found.retain(|p| p.is_dir());
        found.sort();
        found
    };
    read(&root()).iter().flat_map(|system| read(system)).collect()
}

/// Runs the program as a person would.
pub(crate) fn mipam(arguments: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mipam"));
    for variable in ["KUBECONFIG", "MIPAM_CONFIG", "MIPAM_DIR", "IPAM_KUBECONFIG", "IPAM_API_SERVER_URL"] {
        command.env_remove(variable);
    }
    command.env("NO_COLOR", "1").args(arguments).output().expect("mipam runs")
}

/// Plays a scenario and returns what came of it, in the form of `expected.yaml`.
fn play(folder: &Path, scenario: &Scenario, stage: &mut dyn Stage) -> Value {
    let scratch = tempfile::tempdir().unwrap();
    let config = scratch.path().join("config.yaml");
    // Without one, the pools are on the command line.
    if folder.join("config.yaml").exists() {
        std::fs::copy(folder.join("config.yaml"), &config).unwrap();
    }
    // What the run before has printed: `{last}` in a run.
    let last = scratch.path().join("last.json");
    stage.create(&std::fs::read_to_string(folder.join("before.yaml")).unwrap());
    let mut runs = Vec::new();
    for step in &scenario.steps {
        match step {
            Step::Create { create } => stage.create(create),
            Step::Delete { delete, hold } => stage.delete(delete, *hold),
            Step::Patch { patch, merge } => stage.merge(patch, merge),
            Step::Config { config: text } => std::fs::write(&config, text).unwrap(),
            Step::Run { run, exit, machine_writes, ledger_writes } => {
                stage.begin();
                let output = execute(&run.replace("{last}", &last.display().to_string()), &config, stage);
                std::fs::write(&last, &output.stdout).unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr)
                    .replace(&config.display().to_string(), "config.yaml")
                    .replace(&last.display().to_string(), "last.json");
                assert_eq!(
                    output.status.code(),
                    Some(*exit),
                    "exit of `{run}`\n{}\n{stderr}",
                    String::from_utf8_lossy(&output.stdout)
                );
                if let Some((machines, ledger)) = stage.writes() {
                    let wanted = (machine_writes.unwrap_or(machines), ledger_writes.unwrap_or(ledger));
                    assert_eq!((machines, ledger), wanted, "writes of `{run}` to machines and to the ledger");
                }
                runs.push(json!({ "run": run, "out": normal::output(&output.stdout), "err": normal::text(&stderr) }));
            }
        }
    }
    let after = normal::objects(stage.objects());
    // A scenario may end in anything; if it ends in a whole pass, the next one has nothing to do already.
    let last = scenario.last_run();
    let whole =
        format!("reconcile{}", networks(last).iter().map(|n| format!(" --network {n}")).collect::<String>());
    if !matches!(scenario.steps.last(), Some(Step::Run { run, .. }) if *run == whole) {
        execute(&whole, &config, stage);
    }
    idle(&whole, &config, stage);
    json!({ "runs": runs, "after": after })
}

/// The networks that a run has on its command line.
pub(crate) fn networks(run: &str) -> Vec<String> {
    let words: Vec<&str> = run.split_whitespace().collect();
    words.windows(2).filter(|w| w[0] == "--network").map(|w| w[1].to_owned()).collect()
}

/// The configuration of a run: the file, if there is one, and what is on the command line.
pub(crate) fn config(file: Option<&str>, run: &str) -> mipam::config::Config {
    let file = file.map(|text| ("config.yaml", text.as_bytes()));
    let config = mipam::config::parse_with(file, &networks(run)).unwrap();
    let publish = run.contains("--publish-capacity").then_some(600);
    mipam::config::Config { allow_shrink: run.contains("--allow-shrink"), publish, ..config }
}

/// The pass after the last one has nothing to write.
fn idle(run: &str, config: &Path, stage: &mut dyn Stage) {
    let before = normal::objects(stage.objects());
    stage.begin();
    let output = execute(run, config, stage);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    assert_eq!(
        report["writes"],
        json!(0),
        "an idle pass writes: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    if let Some(writes) = stage.writes() {
        assert_eq!(writes, (0, 0), "an idle pass writes, says the API server");
    }
    assert_eq!(normal::objects(stage.objects()), before, "the idle pass changed something");
}

fn execute(run: &str, config: &Path, stage: &dyn Stage) -> Output {
    let mut arguments: Vec<String> = run.split_whitespace().map(str::to_owned).collect();
    let has_format = arguments.iter().any(|a| a == "-o");
    if !has_format && arguments.first().is_none_or(|verb| verb != "render-nmstate") {
        arguments.extend(["-o".to_owned(), "json".to_owned()]);
    }
    if config.exists() {
        arguments.extend(["--config".to_owned(), config.display().to_string()]);
    }
    arguments.extend(stage.arguments());
    mipam(&arguments)
}

pub(crate) fn load(folder: &Path) -> Scenario {
    let text = std::fs::read_to_string(folder.join("scenario.yaml")).unwrap();
    let scenario: Scenario =
        serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    assert!(!scenario.about.is_empty());
    scenario
}

pub(crate) fn expected(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("expected.yaml"));
    let text =
        text.unwrap_or_else(|_| panic!("{} has no expected.yaml: run with MIPAM_UPDATE=1", folder.display()));
    serde_yaml::from_str(&text).unwrap()
}

/// Runs all scenarios, one after the other, and reports all that fail.
fn all(wanted: impl Fn(&Scenario) -> bool, play_one: impl Fn(&Path, &Scenario) -> Value) {
    let only = std::env::var("MIPAM_SCENARIO").ok();
    let update = std::env::var_os("MIPAM_UPDATE").is_some();
    let mut failed = Vec::new();
    let mut played = 0;
    for folder in folders() {
        let name = folder.strip_prefix(root()).unwrap().display().to_string();
        let scenario = load(&folder);
        if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) || !wanted(&scenario) {
            continue;
        }
        played += 1;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let came = play_one(&folder, &scenario);
            if update {
                std::fs::write(folder.join("expected.yaml"), serde_yaml::to_string(&came).unwrap()).unwrap();
            }
            let (want, got) =
                (serde_yaml::to_string(&expected(&folder)).unwrap(), serde_yaml::to_string(&came).unwrap());
            if want != got {
                let diff = similar::TextDiff::from_lines(&want, &got);
                panic!(
                    "not as expected:\n{}",
                    diff.unified_diff().context_radius(4).header("expected", "came")
                );
            }
        }));
        if let Err(cause) = result {
            let text = cause
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| cause.downcast_ref::<&str>().map(ToString::to_string));
            failed.push(format!("=== {name}\n{}", text.unwrap_or_default()));
        }
    }
    assert!(failed.is_empty(), "{} of {played} scenarios failed:\n{}", failed.len(), failed.join("\n"));
    assert!(played > 0 || only.is_some(), "no scenario was played");
}

#[test]
fn on_a_directory() {
    all(
        |s| s.profiles.iter().any(|p| p == "own"),
        |folder, scenario| play(folder, scenario, &mut dir::Directory::new(None)),
    );
    // With the stock CRD among the files, mipam knows what an API server would drop.
    all(
        |s| s.profiles.iter().any(|p| p == "own-stock"),
        |folder, scenario| play(folder, scenario, &mut dir::Directory::new(Some(Profile::OwnStock))),
    );
}

fn on_api_server(profile: Profile, name: &str) {
    assert!(std::env::var_os("MIPAM_UPDATE").is_none(), "MIPAM_UPDATE is for the run on the directory");
    all(
        |s| s.profiles.iter().any(|p| p == name),
        |folder, scenario| play(folder, scenario, &mut api::Api::new(profile)),
    );
}

#[test]
fn on_an_api_server_with_our_own_crds() {
    on_api_server(Profile::Own, "own");
    on_api_server(Profile::OwnStock, "own-stock");
}

#[test]
fn on_an_api_server_with_the_upstream_crds() {
    for (profile, name) in [(Profile::Upstream, "upstream"), (Profile::Openshift, "openshift")] {
        if Profile::available().any(|p| p == profile) {
            on_api_server(profile, name);
        }
    }
}
