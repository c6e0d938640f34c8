//! The pods of the manifests and of the chart: as whom they run, and who means which of them.

use super::manifests::{helm, kustomize, manifests, objects, ran};
use serde_json::Value;

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
