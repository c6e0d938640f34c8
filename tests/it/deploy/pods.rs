//! The pods of the manifests and of the chart: as whom they run, and who means which of them.

use super::manifests::{helm, kustomize, manifests, objects, ran};
use serde_json::{Value, json};

/// Everything that runs or selects pods, each text with where it is from.
fn installed() -> Vec<(&'static str, String)> {
    vec![
        ("chart, watch", ran(&helm(&["--set", "mode=watch"]))),
        ("chart, cronjob", ran(&helm(&["--set", "mode=cronjob"]))),
        ("overlay watch", kustomize(&manifests().join("overlays/watch"))),
        ("overlay cronjob", kustomize(&manifests().join("overlays/cronjob"))),
        ("webhook", std::fs::read_to_string(manifests().join("kubevirt-webhook.yaml")).unwrap()),
    ]
}

/// The templates of the pods that these objects start, with their kinds.
fn templates(yaml: &str) -> Vec<(String, Value)> {
    let template = |kind: &str, object: &Value| {
        let path = match kind {
            "Deployment" => "/spec/template",
            "CronJob" => "/spec/jobTemplate/spec/template",
            _ => return None,
        };
        object.pointer(path).cloned()
    };
    let all = objects(yaml).into_iter();
    all.filter_map(|((kind, ..), object)| Some((kind.clone(), template(&kind, &object)?))).collect()
}

#[test]
fn no_pod_chooses_its_user_and_none_is_root() {
    for (from, yaml) in installed() {
        let templates = templates(&yaml);
        assert_eq!(templates.len(), 1, "{from}");
        for (_, template) in templates {
            // OpenShift's SCC restricted-v2 refuses every user and group that is not one of the namespace's own.
            let text = template.to_string();
            for key in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"] {
                assert!(!text.contains(key), "{from}: {key} in {text}");
            }
            let spec = &template["spec"];
            assert_eq!(spec["securityContext"]["runAsNonRoot"], true, "{from}");
            assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{from}");
        }
    }
}

/// The labels of the one kind of pods that these objects start.
fn labels(yaml: &str) -> Value {
    let found = templates(yaml);
    assert_eq!(found.len(), 1, "{yaml}");
    found[0].1["metadata"]["labels"].clone()
}

/// Are all labels that are wanted there?
fn fits(wanted: &Value, labels: &Value) -> bool {
    let wanted = wanted.as_object().unwrap();
    assert!(!wanted.is_empty(), "a selector of everything");
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[test]
fn the_image_is_pulled_when_the_values_say_so() {
    // What is left out is `Always` for the tag latest.
    for policy in ["IfNotPresent", "Never", "Always"] {
        for mode in ["mode=watch", "mode=cronjob"] {
            let value = format!("image.tag=latest,image.pullPolicy={policy}");
            let yaml = ran(&helm(&["--set", mode, "--set", &value]));
            let container = &templates(&yaml)[0].1["spec"]["containers"][0];
            assert_eq!(
                (&container["image"], &container["imagePullPolicy"]),
                (&json!("mipam:latest"), &json!(policy))
            );
        }
    }
}

#[test]
fn the_network_policy_lets_out_to_the_ports_of_the_api_server() {
    let out = |yaml: &str| {
        let place = ("NetworkPolicy".to_owned(), "mipam-system".to_owned(), "mipam".to_owned());
        objects(yaml)[&place]["spec"]["egress"].clone()
    };
    let ports = |protocol: &str, ports: &[u16]| -> Vec<Value> {
        ports.iter().map(|port| json!({ "port": port, "protocol": protocol })).collect()
    };
    let dns = json!({ "ports": ([ports("UDP", &[53]), ports("TCP", &[53])].concat()) });
    // Policies look at the port behind the Service: that of MicroK8s, or a node's port.
    for (value, api) in [
        ("mode=watch", &[443, 6443][..]),
        ("apiServerPorts={16443}", &[16443]),
        ("apiServerPorts={443,30123}", &[443, 30123]),
    ] {
        assert_eq!(
            out(&ran(&helm(&["--set", value]))),
            json!([{ "ports": ports("TCP", api) }, dns]),
            "{value}"
        );
    }
    let readme = std::fs::read_to_string(manifests().join("../README.md")).unwrap();
    assert!(readme.contains("`apiServerPorts`") && readme.contains("manifests/base/network.yaml"));
}

#[test]
fn what_is_for_the_pods_that_watch_does_not_mean_those_of_the_jobs() {
    let all = installed();
    let of = |from: &str| &all.iter().find(|(name, _)| *name == from).unwrap().1;
    let always_on = ["chart, watch", "overlay watch"];
    let jobs = ["chart, cronjob", "overlay cronjob"].map(|from| labels(of(from)));
    let webhook = labels(of("webhook"));
    for from in always_on {
        let own = labels(of(from));
        let found = objects(of(from));
        let at = |kind: &str, path: &str| {
            let place = (kind.to_owned(), "mipam-system".to_owned(), "mipam".to_owned());
            found[&place].pointer(path).unwrap().clone()
        };
        let spread = "/spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm/labelSelector/matchLabels";
        for (what, selector) in [
            // Jobs have no scale, so that a budget which covers their pods allows no disruption at all.
            ("budget", at("PodDisruptionBudget", "/spec/selector/matchLabels")),
            ("service", at("Service", "/spec/selector")),
            ("deployment", at("Deployment", "/spec/selector/matchLabels")),
            ("affinity", at("Deployment", spread)),
        ] {
            assert!(fits(&selector, &own), "{from}, {what}: {selector} and {own}");
            for others in jobs.iter().chain([&webhook]) {
                assert!(!fits(&selector, others), "{from}, {what}: {selector} means {others}, too");
            }
        }
        // One that is not ready must not keep its node from being drained.
        assert_eq!(at("PodDisruptionBudget", "/spec/unhealthyPodEvictionPolicy"), "AlwaysAllow", "{from}");
        // The network policy is for both, and `mipam detach` knows both by it.
        let policy = at("NetworkPolicy", "/spec/podSelector/matchLabels");
        assert_eq!(policy, json!({ "app.kubernetes.io/name": "mipam" }), "{from}");
        assert!(jobs.iter().chain([&own]).all(|labels| fits(&policy, labels)), "{from}");
    }
}
