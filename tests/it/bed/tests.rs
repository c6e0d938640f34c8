//! The bed itself.

use super::accounts::ADMIN;
use super::binaries::{Builder, ETCD};
use super::outage::Server;
use super::rest::{self, code};
use super::{Bed, Profile, eventually, server, shared};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MACHINE: &str = "
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: m, namespace: openshift-machine-api, uid: u-m}
spec:
  lifecycleHooks:
    preCreate: [{name: ipamController, owner: network-admin}]
    preProvision: [{name: ipamController, owner: network-admin}]
    preDrain: [{name: other, owner: somebody}]
  metadata: {labels: {role: worker}}
  providerSpec: {value: {anything: {goes: [1, two]}, network: {devices: [{networkName: lab}]}}}
status: {phase: Provisioning}
";

fn machine(bed: &Bed, name: &str) -> Option<Value> {
    bed.get("machine.openshift.io/v1beta1", "Machine", "openshift-machine-api", name)
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

/// On every profile that is here, since a shared server is started once.
#[test]
fn every_profile_is_served_and_prunes_as_it_should() {
    for profile in Profile::available() {
        let bed = shared(profile).lock();
        bed.create(MACHINE);
        let machine = machine(&bed, "m").expect("the machine");
        let hooks = &machine["spec"]["lifecycleHooks"];
        assert_eq!(hooks["preCreate"].is_array(), profile.keeps_draft_hooks(), "{profile:?}: {hooks}");
        assert_eq!(hooks["preProvision"].is_array(), profile.keeps_draft_hooks(), "{profile:?}: {hooks}");
        assert_eq!(hooks["preDrain"][0]["name"], "other");
        assert_eq!(machine["spec"]["providerSpec"]["value"]["anything"], json!({"goes": [1, "two"]}));
        assert_eq!(machine["spec"]["metadata"]["labels"]["role"], "worker");
        assert_eq!(machine["status"]["phase"], "Provisioning");
        let newest =
            bed.block_on(rest::discover(&bed.client(ADMIN), "ipam.cluster.x-k8s.io/v1beta2", "IPAddress"));
        assert_eq!(newest.is_some(), profile.keeps_draft_hooks(), "{profile:?}");
    }
    if Profile::available().count() < Profile::ALL.len() {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "no ../shared/crds: the upstream CRDs were not tried");
    }
}

#[test]
fn objects_are_made_as_their_documents_say() {
    let bed = shared(Profile::Own).lock();
    let made = bed.create(&format!(
        "{MACHINE}---
apiVersion: v1
kind: ConfigMap
metadata: {{name: of-m, ownerReferences: [{{apiVersion: machine.openshift.io/v1beta1, kind: Machine, name: m, uid: u-m}}]}}
data: {{entry: '{{\"uid\":\"u-m\",\"other\":\"u-gone\"}}'}}
---
apiVersion: v1
kind: List
items:
  - apiVersion: machine.openshift.io/v1beta1
    kind: Machine
    metadata:
      name: going
      namespace: openshift-machine-api
      deletionTimestamp: '2024-01-01T00:00:00Z'
    spec: {{}}
  - apiVersion: cluster.k8s.io/v1alpha1
    kind: Machine
    metadata: {{name: k, namespace: kube-system}}
    status: {{errorReason: InsufficientResources}}
  - apiVersion: v1
    kind: Node
    metadata: {{name: n}}
    spec: {{podCIDR: 10.1.0.0/24, podCIDRs: [10.1.0.0/24]}}
    status: {{addresses: [{{type: InternalIP, address: 192.168.101.65}}]}}
  - {{apiVersion: v1, kind: Namespace, metadata: {{name: openshift-machine-api, labels: {{a: b}}}}}}
"
    ));
    let uid = made.objects[0]["metadata"]["uid"].as_str().expect("a uid");
    assert_eq!(made.uids["u-m"], uid);
    assert_eq!(made.objects[1]["data"]["entry"], format!("{{\"uid\":\"{uid}\",\"other\":\"u-gone\"}}"));
    assert_eq!(made.objects[1]["metadata"]["ownerReferences"][0]["uid"], uid);
    let going = machine(&bed, "going").expect("held by a finalizer");
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        bed.list("cluster.k8s.io/v1alpha1", "Machine")[0]["status"]["errorReason"],
        "InsufficientResources"
    );
    let node = &bed.list("v1", "Node")[0];
    assert_eq!(node["status"]["addresses"][0]["address"], "192.168.101.65");
    assert!(node["spec"]["taints"].is_null(), "{node}");
    let space = bed.get("v1", "Namespace", "", "openshift-machine-api").expect("the namespace");
    assert_eq!(space["metadata"]["labels"]["a"], "b");

    bed.merge("v1", "Node", "", "n", &json!({"metadata": {"labels": {"zone": "x"}}}));
    bed.delete("v1", "Node", "", "n");
    assert!(bed.get("v1", "Node", "", "n").is_none());
    bed.delete_all("machine.openshift.io/v1beta1", "Machine");
    assert!(bed.list("machine.openshift.io/v1beta1", "Machine").is_empty());
}

#[test]
fn a_lock_gives_an_empty_server() {
    let bed = shared(Profile::Own);
    for _ in 0..3 {
        let bed = bed.lock();
        assert!(bed.list("machine.openshift.io/v1beta1", "Machine").is_empty());
        assert!(bed.list("v1", "Node").is_empty());
        assert!(bed.get("v1", "ConfigMap", "mipam-system", "ledger").is_none());
        assert!(bed.get("v1", "ConfigMap", "default", "left").is_none());
        bed.create(MACHINE);
        bed.create(
            "
apiVersion: v1
kind: ConfigMap
metadata: {name: ledger, namespace: mipam-system, finalizers: [example.com/held]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: left}}
---
{apiVersion: v1, kind: Node, metadata: {name: n, finalizers: [example.com/held]}}
---
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: going, namespace: elsewhere, deletionTimestamp: now}
",
        );
    }
}

#[test]
fn an_account_may_do_what_it_was_granted() {
    let bed = shared(Profile::Own).lock();
    let try_all = |account: &str| {
        let client = bed.client(account);
        bed.block_on(async {
            let machines = "/apis/machine.openshift.io/v1beta1/machines";
            let list = rest::list(&client, machines).await.map(drop);
            let maps = "/api/v1/namespaces/default/configmaps";
            let create = rest::send(&client, "POST", maps, &config_map("by-account")).await.map(drop);
            [list, create].map(|answer| answer.err().map_or(200, |e| code(&e)))
        })
    };
    assert_eq!(try_all("reader"), [403, 403]);
    bed.grant(
        "reader",
        "
kind: ClusterRole
metadata: {name: any}
rules: [{apiGroups: [machine.openshift.io], resources: [machines], verbs: [get, list]}]
---
kind: ServiceAccount
metadata: {name: ignored}
",
    );
    assert_eq!(try_all("reader"), [200, 403]);
    assert_eq!(try_all("nobody"), [403, 403]);
    bed.grant(
        "reader",
        "
kind: Role
metadata: {name: any, namespace: default}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [create]}]
",
    );
    assert_eq!(try_all("reader"), [200, 200]);
    drop(bed);
    let bed = shared(Profile::Own).lock();
    let client = bed.client("reader");
    let refused = bed.block_on(rest::list(&client, "/apis/machine.openshift.io/v1beta1/machines"));
    assert_eq!(refused.map_err(|e| code(&e)), Err(403), "grants end with the lock");
}

#[test]
fn a_kubeconfig_file_leads_to_the_server() {
    let bed = shared(Profile::Own);
    let text = std::fs::read_to_string(bed.kubeconfig("nobody")).expect("the file");
    let file: Value = serde_json::from_str(&text).expect("JSON, which is YAML too");
    assert_eq!(file["clusters"][0]["cluster"]["server"], bed.url());
    assert!(
        Path::new(file["clusters"][0]["cluster"]["certificate-authority"].as_str().unwrap_or("")).is_file()
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = bed.config("nobody");
    let version =
        runtime.block_on(async { kube::Client::try_from(config).unwrap().apiserver_version().await });
    assert_eq!(version.expect("a version").git_version, "v1.36.3");
}

#[test]
fn the_garbage_collector_removes_what_is_owned() {
    let bed = shared(Profile::Own).lock();
    bed.create(&format!(
        "{MACHINE}---
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata:
  name: owned
  namespace: openshift-machine-api
  ownerReferences: [{{apiVersion: machine.openshift.io/v1beta1, kind: Machine, name: m, uid: u-m}}]
"
    ));
    bed.delete("machine.openshift.io/v1beta1", "Machine", "openshift-machine-api", "m");
    let path = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines/owned";
    bed.block_on(eventually("the owned machine to go", Duration::from_secs(60), async || {
        rest::get(&bed.client(ADMIN), path).await.is_err_and(|e| code(&e) == 404).then_some(())
    }));
}

#[test]
fn the_namespace_controller_empties_a_namespace() {
    let bed = shared(Profile::Own).lock();
    bed.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: short}}");
    bed.delete("v1", "Namespace", "", "short");
    bed.block_on(eventually("the namespace to go", Duration::from_secs(60), async || {
        let found = rest::get(&bed.client(ADMIN), "/api/v1/namespaces/short").await;
        found.is_err_and(|e| code(&e) == 404).then_some(())
    }));
}

#[test]
fn the_audit_log_has_every_write_when_it_is_answered() {
    let bed = shared(Profile::Own).lock();
    bed.grant(
        "writer",
        "{kind: ClusterRole, rules: [{apiGroups: [''], resources: [configmaps], verbs: ['*']}]}",
    );
    let client = bed.client("writer");
    let maps = "/api/v1/namespaces/default/configmaps";
    for round in 0..20 {
        let mark = bed.mark();
        bed.block_on(async {
            let name = format!("c{round}");
            rest::send(&client, "POST", maps, &config_map(&name)).await.expect("made");
            let large = json!({"data": {"large": "x".repeat(100_000)}});
            rest::merge(&client, &format!("{maps}/{name}"), &large).await.expect("changed");
            rest::list(&client, maps).await.expect("listed");
            rest::get(&client, "/api/v1/nodes").await.expect_err("refused");
            rest::delete(&client, "/api/v1/nodes/n").await.expect_err("refused");
        });
        let writes = bed.writes_since(mark, "writer");
        let seen: Vec<_> = writes.iter().map(|w| (w.verb.as_str(), w.resource.as_str(), w.code)).collect();
        assert_eq!(
            seen,
            [("create", "configmaps", 201), ("patch", "configmaps", 200), ("delete", "nodes", 403)]
        );
        assert_eq!(writes[1].name, format!("c{round}"));
        assert_eq!(writes[1].namespace, "default");
        assert_eq!(bed.audit_since(mark).iter().filter(|line| line.user == "writer").count(), 5);
    }
}

#[test]
fn threads_share_a_bed() {
    let bed = shared(Profile::Own).lock();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let bed: &Bed = &bed;
            scope.spawn(move || {
                for count in 0..10 {
                    bed.create_all(vec![config_map(&format!("{thread}-{count}"))]);
                }
            });
        }
    });
    let made = bed.list("v1", "ConfigMap");
    assert_eq!(made.iter().filter(|map| map["metadata"]["namespace"] == "default").count(), 80);
}

#[test]
fn a_taken_port_is_given_up_for_another() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = (taken.local_addr().expect("its address").port(), taken);
    let mut tries = vec![server::free_port(), taken.0];
    let dir = tempfile::tempdir().expect("a folder");
    let _etcd = server::etcd(dir.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let start = server::apiserver(dir.path(), || tries.pop().unwrap_or_else(server::free_port));
    let (_apiserver, url) = runtime.block_on(start);
    assert!(!url.ends_with(&format!(":{}", taken.0)), "{url}");
}

#[test]
fn a_bed_of_ones_own_goes_when_it_is_dropped() {
    let bed = Bed::start();
    let (dir, url) = (bed.dir().to_owned(), bed.url().to_owned());
    assert!(running(&dir).len() >= 3, "{:?}", running(&dir));
    drop(bed);
    assert_gone(&dir, &url);
}

#[test]
fn servers_that_were_killed_come_back_with_their_data() {
    let bed = Bed::start();
    let url = bed.url().to_owned();
    for (round, servers) in [&[Server::Apiserver][..], &[Server::Etcd], &[Server::Apiserver, Server::Etcd]]
        .into_iter()
        .enumerate()
    {
        bed.create_all(vec![config_map(&format!("c{round}"))]);
        let outage = bed.kill(servers);
        let answer = bed.block_on(async {
            let client = bed.client(ADMIN);
            let get = rest::get(&client, "/api/v1/namespaces/default/configmaps/c0");
            tokio::time::timeout(Duration::from_secs(2), get).await
        });
        assert!(!matches!(answer, Ok(Ok(_))), "{servers:?} are still there");
        drop(outage);
        for before in 0..=round {
            assert!(bed.get("v1", "ConfigMap", "default", &format!("c{before}")).is_some());
        }
    }
    assert_eq!(bed.url(), url);
    let dir = bed.dir().to_owned();
    drop(bed);
    assert_gone(&dir, &url);
}

/// The same test is both sides: as a child it starts a bed, says where and waits to be killed.
#[test]
fn dies_with_its_parent() {
    const CHILD: &str = "MIPAM_BED_CHILD";
    if std::env::var_os(CHILD).is_some() {
        use std::io::Write as _;
        let bed = Bed::start();
        let _ = writeln!(std::io::stderr(), "bed {} {}", bed.url(), bed.dir().display());
        std::thread::sleep(Duration::from_secs(600));
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "bed::tests::dies_with_its_parent", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut lines = BufReader::new(child.stderr.take().expect("its stderr")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("bed ")).expect("a bed");
    let (url, dir) = line["bed ".len()..].split_once(' ').expect("address and folder");
    assert!(running(Path::new(dir)).len() >= 3);
    child.kill().expect("killed as by kill -9");
    child.wait().expect("reaped");
    assert_gone(Path::new(dir), url);
}

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

fn assert_gone(dir: &Path, url: &str) {
    let start = Instant::now();
    let address = url.strip_prefix("https://").expect("an address");
    loop {
        let left = running(dir);
        let listening = TcpStream::connect(address).is_ok();
        if left.is_empty() && !listening && !dir.exists() {
            return;
        }
        let folder = dir.exists();
        assert!(start.elapsed() < Duration::from_secs(20), "{left:?}, port {listening}, folder {folder}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The processes that were started in a bed's folder, where the system shows them.
fn running(dir: &Path) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let command = |path: &Path| {
        let home = std::fs::read_link(path.join("cwd")).ok()?;
        let text = std::fs::read(path.join("cmdline")).ok()?;
        // The kernel marks the path of a folder that was removed.
        let inside = home.to_str()?.strip_suffix(" (deleted)").unwrap_or(home.to_str()?) == dir.to_str()?;
        (inside && !text.is_empty()).then(|| String::from_utf8_lossy(&text).replace('\0', " "))
    };
    processes.filter_map(|process| command(&process.ok()?.path())).collect()
}
