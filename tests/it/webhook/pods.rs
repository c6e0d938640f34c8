//! What becomes of launcher pods that are made on a real API server which asks the webhook.

use super::running::{Authority, Hook, granted, is_asked};
use super::*;
use crate::bed::{self, Profile, eventually};
use std::time::Duration;

const CLAIMS: &str = "k8s.cni.cncf.io/v1alpha1";

#[test]
fn the_machine_of_the_documentation_starts_with_its_claim() {
    let bed = bed::shared(Profile::Own).lock();
    let authority = Authority::new("a");
    let hook = Hook::start(&granted(&bed, "mipam"), &authority, &[]);
    hook.install(&bed, &authority.ca);
    bed.create(&file("examples/kubevirt/network.yaml"));
    let machine = bed.create(&file("examples/kubevirt/vm.yaml")).objects.remove(0);
    let uid = machine["metadata"]["uid"].clone();
    reconcile(&bed);
    let claim = bed.get(CLAIMS, "IPAMClaim", "default", "vm-a.anet").unwrap();
    assert_eq!(claim["spec"], json!({ "network": "tenantblue", "interface": "" }));
    assert_eq!(claim["metadata"]["labels"], json!({ "kubevirt.io/vm": "vm-a" }));
    assert_eq!(claim["metadata"]["finalizers"], json!(["kubevirt.io/persistent-ipam"]));
    assert_eq!(
        claim["metadata"]["ownerReferences"],
        json!([{ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm-a", "uid": uid,
                 "controller": true, "blockOwnerDeletion": true }])
    );
    let mut running = vmi("vm-a", &machine["spec"]["template"]["spec"]["networks"]);
    running["metadata"]["ownerReferences"][0]["uid"] = uid;
    bed.create(&running.to_string());
    let networks =
        r#"[{"name":"mynet","namespace":"default","mac":"02:00:00:00:00:01","interface":"pod16477688c0e"}]"#;
    let pod = create(&bed, &launcher("vm-a", networks)).unwrap();
    let element = &serde_json::from_str::<Value>(pod["metadata"]["annotations"][NETWORKS].as_str().unwrap())
        .unwrap()[0];
    assert_eq!(
        *element,
        json!({ "name": "mynet", "namespace": "default", "mac": "02:00:00:00:00:01",
                "interface": "pod16477688c0e", "ipam-claim-reference": "vm-a.anet" })
    );
    // The pod that a live migration goes to has the same claim; and what is no launcher is not asked about.
    let mut target = launcher("vm-a", networks);
    target["metadata"]["name"] = json!("virt-launcher-vm-a-target");
    assert_eq!(references(&create(&bed, &target).unwrap()), [Some("vm-a.anet".to_owned())]);
    let mut other = launcher("nobody", networks);
    other["metadata"]["labels"] = json!({});
    other["metadata"]["name"] = json!("other");
    assert_eq!(references(&create(&bed, &other).unwrap()), [None]);
}

#[test]
fn every_form_of_networks_gets_its_claims_and_what_cannot_be_told_is_refused() {
    let bed = bed::shared(Profile::Own).lock();
    let authority = Authority::new("a");
    let hook = Hook::start(&granted(&bed, "mipam"), &authority, &[]);
    hook.install(&bed, &authority.ca);
    let list = json!({ "cniVersion": "1.0.0", "name": "listed", "plugins": [{ "type": "x", "allowPersistentIPs": true }] });
    let two = json!([
        { "name": "first", "multus": { "networkName": "blue" } },
        { "name": "second", "multus": { "networkName": "default/blue" } },
        { "name": "listed", "multus": { "networkName": "list" } },
        { "name": "plain", "multus": { "networkName": "plain" } },
    ]);
    let bad = json!([{ "name": "b", "multus": { "networkName": "broken" } }]);
    let gone = json!([{ "name": "b", "multus": { "networkName": "missing" } }]);
    let clash = json!([{ "name": "b_c", "multus": { "networkName": "blue" } }]);
    let mut broken = nad("default", "broken", &json!(null));
    broken["spec"]["config"] = json!("{");
    let objects = [
        nad("default", "blue", &persistent("blue")),
        nad("default", "list", &list),
        nad("default", "plain", &json!({ "name": "plain" })),
        broken,
        vm("vm-a", &two),
        vmi("vm-a", &two),
        vm("vm-b", &bad),
        vmi("vm-b", &bad),
        vm("vm-c", &gone),
        vmi("vm-c", &gone),
        vm("a", &clash),
        vmi("a", &clash),
    ];
    bed.create_all(objects.to_vec());
    let pod = create(&bed, &launcher("vm-a", "blue, default/blue@net2,list@net3,plain")).unwrap();
    let claims = ["vm-a.first", "vm-a.second", "vm-a.listed"].map(|c| Some(c.to_owned()));
    let expected: Vec<_> = claims.into_iter().chain([None]).collect();
    assert_eq!(references(&pod), expected);

    // A network that is plugged in later: what the pod has stays.
    let patch = json!({ "metadata": { "annotations": { NETWORKS:
        r#"[{"name":"blue","ipam-claim-reference":"vm-a.first"},{"name":"blue"},{"name":"list"}]"# } } });
    let changed = bed.merge("v1", "Pod", "default", "virt-launcher-vm-a", &patch);
    assert_eq!(references(&changed), expected[..3]);

    for (pod, code, why) in [
        (
            launcher("vm-b", "broken"),
            403,
            "NetworkAttachmentDefinition/default/broken: its spec.config is no JSON",
        ),
        (launcher("vm-c", "missing"), 403, "NetworkAttachmentDefinition/default/missing: it does not exist"),
        (launcher("vm-a", "[{"), 400, "k8s.v1.cni.cncf.io/networks cannot be read"),
        (launcher("vm-a", "a b"), 400, "is no namespace/name@interface"),
        (launcher("nobody", "blue"), 500, "VirtualMachineInstance/default/nobody"),
        // Another machine could have this name: only a pass decides.
        (launcher("a", "blue"), 403, "IPAMClaim a.b.c does not exist yet"),
    ] {
        let mut pod = pod;
        pod["metadata"]["name"] = json!("refused");
        let (came, message) = create(&bed, &pod).unwrap_err();
        assert!(came == code && message.contains(why), "{came} {message}");
    }
    bed.delete_all("kubevirt.io/v1", "VirtualMachineInstance");
    bed.create(&vmi("a", &clash).to_string().replace(
        "\"uid\":\"uid-of-a\"",
        &format!(
            "\"uid\":{}",
            bed.get("kubevirt.io/v1", "VirtualMachine", "default", "a").unwrap()["metadata"]["uid"]
        ),
    ));
    for machine in ["vm-b", "vm-c"] {
        bed.delete("kubevirt.io/v1", "VirtualMachine", "default", machine);
    }
    reconcile(&bed);
    let pod = create(&bed, &launcher("a", "blue")).unwrap();
    assert_eq!(references(&pod), [Some("a.b.c".to_owned())]);
}

#[test]
fn a_primary_network_is_asked_for_by_claim_mac_and_addresses() {
    let bed = bed::shared(Profile::Own).lock();
    let authority = Authority::new("a");
    let hook = Hook::start(&granted(&bed, "mipam"), &authority, &["--default-network-nad-namespace", "ovn"]);
    hook.install(&bed, &authority.ca);
    let mut config = persistent("space");
    config["role"] = json!("primary");
    config["subnets"] = json!("10.100.0.0/16,fd00:100::/60");
    let pods = json!([{ "name": "default", "pod": {} }]);
    let mut asks = vmi("asks", &pods);
    asks["metadata"]["annotations"] = json!({ "network.kubevirt.io/addresses": r#"{"default":["10.100.0.7","fd00:100::7"],"x":["1.1.1.1"]}"# });
    asks["spec"]["domain"]["devices"] = json!({ "interfaces": [{ "name": "default", "binding": { "name": "l2bridge" }, "macAddress": "02:03:04:05:06:07" }] });
    let mut mac = vmi("mac", &pods);
    mac["spec"]["domain"] = asks["spec"]["domain"].clone();
    let mut wrong = vmi("wrong", &pods);
    wrong["metadata"]["annotations"] =
        json!({ "network.kubevirt.io/addresses": r#"{"default":["10.9.0.7"]}"# });
    let mut unreadable = vmi("unreadable", &pods);
    unreadable["metadata"]["annotations"] = json!({ "network.kubevirt.io/addresses": "10.9.0.7" });
    let names = ["asks", "mac", "wrong", "unreadable", "plain"];
    let machines = names.iter().map(|name| vm(name, &pods));
    let objects = [nad("default", "primary", &config), asks, mac, wrong, unreadable, vmi("plain", &pods)];
    bed.create_all(machines.chain(objects).collect());
    reconcile(&bed);
    let annotations = |name: &str| {
        let pod = create(&bed, &launcher(name, "")).unwrap();
        let annotation = |key: &str| pod["metadata"]["annotations"][key].as_str().map(str::to_owned);
        let default = annotation(DEFAULT).map(|text| serde_json::from_str::<Value>(&text).unwrap());
        (annotation(PRIMARY).unwrap(), default)
    };
    assert_eq!(annotations("plain"), ("plain.default".to_owned(), None));
    let element = json!([{ "name": "default", "namespace": "ovn", "mac": "02:03:04:05:06:07",
                           "ipam-claim-reference": "mac.default" }]);
    assert_eq!(annotations("mac"), ("mac.default".to_owned(), Some(element)));
    let element = json!([{ "name": "default", "namespace": "ovn", "ips": ["10.100.0.7/16", "fd00:100::7/60"],
                           "mac": "02:03:04:05:06:07", "ipam-claim-reference": "asks.default" }]);
    assert_eq!(annotations("asks"), ("asks.default".to_owned(), Some(element)));
    for (name, why) in
        [("wrong", "10.9.0.7 is in no IPv4 subnet of network space"), ("unreadable", "it is no JSON")]
    {
        let (code, message) = create(&bed, &launcher(name, "")).unwrap_err();
        assert!(code == 400 && (message.contains(why) || name == "unreadable"), "{code} {message}");
        assert!(message.contains("network.kubevirt.io/addresses"), "{message}");
    }
    let mut pod = launcher("plain", "");
    pod["metadata"]["name"] = json!("with-default");
    pod["metadata"]["annotations"][DEFAULT] = json!("x/y");
    let (code, message) = create(&bed, &pod).unwrap_err();
    assert!(code == 403 && message.contains(DEFAULT), "{code} {message}");
    // One that cannot be read may be this network or none of anybody's: who has a claim is not started without it,
    // and nobody else is kept from starting.
    bed.create_all(vec![vm("new", &pods), vmi("new", &pods)]);
    let broken = json!({ "spec": { "config": "{" } });
    bed.merge("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "default", "primary", &broken);
    let mut pod = launcher("plain", "");
    pod["metadata"]["name"] = json!("unreadable");
    let (code, message) = create(&bed, &pod).unwrap_err();
    assert!(
        code == 403 && message.contains("default/primary: its spec.config is no JSON"),
        "{code} {message}"
    );
    let pod = create(&bed, &launcher("new", "")).unwrap();
    assert_eq!(pod["metadata"]["annotations"][PRIMARY], json!(null));
    // Later changes of a pod that runs are let through.
    bed.merge(
        "v1",
        "Pod",
        "default",
        "virt-launcher-plain",
        &json!({ "metadata": { "labels": { "a": "b" } } }),
    );
}

#[test]
fn what_leaves_the_networks_of_a_pod_as_they_are_is_not_refused() {
    let bed = bed::shared(Profile::Own).lock();
    let authority = Authority::new("a");
    let hook = Hook::start(&granted(&bed, "mipam"), &authority, &[]);
    hook.install(&bed, &authority.ca);
    let networks = json!([{ "name": "anet", "multus": { "networkName": "blue" } }]);
    let objects =
        [nad("default", "blue", &persistent("blue")), vm("vm-a", &networks), vmi("vm-a", &networks)];
    bed.create_all(objects.to_vec());
    reconcile(&bed);
    let mut pod = launcher("vm-a", "blue");
    pod["metadata"]["finalizers"] = json!(["test.mipam.io/hold"]);
    create(&bed, &pod).unwrap();
    let path = "/api/v1/namespaces/default/pods/virt-launcher-vm-a";
    let change = |patch: Value| match bed.block_on(rest::merge(&bed.client(ADMIN), path, &patch)) {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(other) => panic!("{other}"),
    };
    let label = |value: &str| json!({ "metadata": { "labels": { "seen": value } } });
    let plug = json!({ "metadata": { "annotations": { NETWORKS: "blue,blue" } } });

    // Its network cannot be told any more.
    let broken = json!({ "spec": { "config": "{" } });
    bed.merge("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "default", "blue", &broken);
    assert_eq!(change(label("a")), (200, String::new()));
    let (code, why) = change(plug.clone());
    assert!(code == 403 && why.contains("its spec.config is no JSON"), "{code} {why}");
    // What it ran is gone, and so is to be the pod: nobody may keep it by refusing that.
    bed.delete("kubevirt.io/v1", "VirtualMachineInstance", "default", "vm-a");
    assert_eq!(change(label("b")), (200, String::new()));
    assert_eq!(change(plug).0, 500);
    bed.delete("v1", "Pod", "default", "virt-launcher-vm-a");
    assert_eq!(change(json!({ "metadata": { "finalizers": null } })), (200, String::new()));
    assert_eq!(bed.get("v1", "Pod", "default", "virt-launcher-vm-a"), None);
}

#[test]
fn a_certificate_of_its_own_is_shared_by_replicas_and_told_to_the_api_server() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    let kubeconfig = granted(&bed, "mipam");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    bed.create(&configuration(&format!("https://127.0.0.1:{port}")).to_string());
    let mut first = Hook::self_signed(&kubeconfig, port);
    bed.block_on(is_asked(&bed));
    let secret = || bed.get("v1", "Secret", "mipam-system", "mipam-webhook-tls").unwrap();
    let made = secret();
    assert!(made["data"]["tls.key"].is_string(), "{made}");
    let second = Hook::self_signed(&kubeconfig, {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    });
    assert_eq!(secret(), made, "the second replica uses what the first one has made");
    drop(second);
    first.terminate();
    assert_eq!(first.stopped(), Some(0), "it ends well when it is asked to");
    // With the webhook gone launcher pods wait, and no other pod does.
    let (_, message) = create(&bed, &launcher("nobody", "")).unwrap_err();
    assert!(message.contains("failed calling webhook"), "{message}");
    let mut other = launcher("nobody", "");
    other["metadata"]["labels"] = json!({});
    create(&bed, &other).unwrap();

    // An authority that is gone from the configuration is put back.
    bed.merge(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "",
        "mipam-webhook",
        &json!({ "webhooks": configuration(&format!("https://127.0.0.1:{port}"))["webhooks"] }),
    );
    let _again = Hook::self_signed(&kubeconfig, port);
    bed.block_on(eventually("the authority to be back", Duration::from_secs(30), async || {
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/mipam-webhook";
        let found = rest::get(&bed.client(ADMIN), path).await.unwrap();
        found["webhooks"][0]["clientConfig"]["caBundle"].is_string().then_some(())
    }));
    bed.block_on(is_asked(&bed));
}
