//! The settings of node-ipam-controller, by their flags and by their variables: whoever has run that need not learn new
//! ones.

use super::until;
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use crate::nodes::{check, cluster_cidr, node};
use serde_json::json;
use std::process::{Command, Output, Stdio};

/// mipam with these variables and no others.
fn mipam(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mipam"));
    command.env_clear().envs(variables.iter().copied());
    command
}

/// What it says to these arguments.
fn said(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = mipam(variables).args(arguments).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn every_setting_has_both_names() {
    let watch = ["reconcile", "--watch", "--apiserver", "http://127.0.0.1:1"];
    let (renew, retry) =
        ("longer than --leader-elect-renew-deadline", "1.2 times --leader-elect-retry-period");
    for (flag, variable, value, why) in [
        ("--apiserver", "IPAM_API_SERVER_URL", "here", "https://HOST:PORT"),
        ("--kubeconfig", "IPAM_KUBECONFIG", "/no/such/file", "/no/such/file"),
        ("--enable-leader-election", "IPAM_ENABLE_LEADER_ELECTION", "maybe", "--enable-leader-election"),
        ("--leader-elect-lease-duration", "IPAM_LEASE_DURATION", "9s", renew),
        ("--leader-elect-renew-deadline", "IPAM_RENEW_DEADLINE", "16s", renew),
        ("--leader-elect-retry-period", "IPAM_RESOURCE_LOCK", "9s", retry),
        ("--leader-elect-retry-period", "IPAM_RETRY_PERIOD", "9s", retry),
        (
            "--leader-elect-resource-lock",
            "IPAM_RESOURCE_LOCK_NAME",
            "endpoints",
            "Kubernetes no longer has it",
        ),
        (
            "--leader-elect-resource-lock",
            "IPAM_RESOURCE_LOCK_NAME",
            "configmaps",
            "Kubernetes no longer has it",
        ),
        ("--leader-elect-resource-name", "IPAM_RESOURCE_NAME", "A B", "--leader-elect-resource-name"),
    ] {
        let plain: &[&str] = if flag == "--apiserver" { &watch[..2] } else { &watch };
        let typed = format!("{flag}={value}");
        let by_flag = said(&[plain, &[&typed]].concat(), &[]);
        let by_variable = said(plain, &[(variable, value)]);
        for (code, err) in [by_flag, by_variable] {
            assert!(code == Some(2) && err.contains(why), "{flag} or {variable} as {value}: {err}");
        }
        // What is typed counts, and a variable that is empty is none.
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ipam-config.yaml"), "ipam-config: {systems: [nodes]}").unwrap();
        let dir = dir.path().to_str().unwrap();
        let (code, err) = said(&["reconcile", "--dir", dir], &[(variable, "")]);
        assert_eq!(code, Some(0), "{variable}: {err}");
    }
    // Who stands for election by nobody's leave has no terms to keep.
    let alone = [("IPAM_ENABLE_LEADER_ELECTION", "false"), ("IPAM_RETRY_PERIOD", "9s")];
    let (_, err) = said(&[&watch[..], &["--kubeconfig", "/no/such/file"]].concat(), &alone);
    assert!(err.contains("/no/such/file"), "{err}");
}

#[test]
fn a_port_that_another_program_has_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, "ipam-config: {systems: [nodes]}").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let watch =
        ["reconcile", "--watch", "--apiserver", "http://127.0.0.1:1", "--health-probe-address", &address];
    let (code, err) = said(&[&watch[..], &["--config", config.to_str().unwrap()]].concat(), &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(&format!("cannot listen on {address}")) && err.contains("another program"), "{err}");
}

#[test]
fn the_server_alone_is_enough_to_ask_it() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, "ipam-config: {systems: [nodes]}").unwrap();
    let status = ["status", "--config", config.to_str().unwrap()];
    let (code, err) = said(&status, &[("IPAM_API_SERVER_URL", "http://127.0.0.1:1")]);
    assert!(code == Some(2) && err.contains("asking http://127.0.0.1:1 what it serves"), "{err}");
    // A person who says who they are is not to be somebody else.
    let nobody = [("IPAM_API_SERVER_URL", "http://127.0.0.1:1"), ("KUBECONFIG", "/no/such/file")];
    let (code, err) = said(&status, &nobody);
    assert!(code == Some(2) && err.contains("/no/such/file"), "{err}");
}

#[test]
fn variables_alone_are_enough_to_serve_nodes() {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all((0..20).map(node).collect());
    bed.create_all(vec![cluster_cidr("all", json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/16" }))]);
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, "ipam-config: {systems: [nodes]}").unwrap();
    let (kubeconfig, probes) = (bed.kubeconfig(ADMIN), format!("127.0.0.1:{}", bed::free_port()));
    let variables = [
        ("MIPAM_CONFIG", config.to_str().unwrap()),
        ("IPAM_KUBECONFIG", kubeconfig.to_str().unwrap()),
        ("IPAM_HEALTH_PROBE_ADDR", &probes),
        ("IPAM_ENABLE_LEADER_ELECTION", "True"),
        ("IPAM_LEASE_DURATION", "21s"),
        ("IPAM_RENEW_DEADLINE", "14s"),
        ("IPAM_RESOURCE_LOCK", "1s"),
        ("IPAM_RESOURCE_LOCK_NAME", "leases"),
        // As it was called there: the Lease is beside the ledger, and no sign of another controller.
        ("IPAM_RESOURCE_NAME", "node-ipam-controller"),
    ];
    let mut child =
        Ended(mipam(&variables).args(["reconcile", "--watch", "-q"]).stdout(Stdio::null()).spawn().unwrap());
    let served = || bed.list("v1", "Node").iter().all(|n| n["spec"]["podCIDR"].is_string());
    until("all Nodes are served", || {
        assert!(child.0.try_wait().unwrap().is_none(), "it has ended");
        served()
    });
    check(&bed, 20, 1);
    let lease = bed.get("coordination.k8s.io/v1", "Lease", "mipam-system", "node-ipam-controller").unwrap();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 21);
    // It holds the Lease while it makes the next pass, and goes on serving.
    bed.create_all(vec![node(20)]);
    until("one more is served", served);
    assert!(std::net::TcpStream::connect(&probes).is_ok(), "the probes");
}

struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
