//! Reads and writes behave as an API server's do.

use super::*;
use serde_json::json;

fn new_machine(name: &str) -> Object {
    object(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "ns"},
    }))
}

fn deleted(name: &str, finalizers: &str) -> String {
    let extra = format!("  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n  finalizers: {finalizers}\n");
    format!("{}{extra}", machine(name))
}

fn set_finalizers(cluster: &DirCluster, name: &str, finalizers: Value) -> Result<Object, ClusterError> {
    let mut object = now(cluster.get(&MACHINE.at("ns", name))).unwrap();
    object.ensure_object(&["metadata"]).insert("finalizers".to_owned(), finalizers);
    now(cluster.replace(MACHINE, &object))
}

#[test]
fn namespaced_objects_without_a_namespace_live_in_default() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let world = World::with(&[
        ("a.yaml", text),
        ("n.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: node\n  namespace: odd\n"),
    ]);
    let cluster = world.open();
    assert_eq!(now(cluster.list(Feed::all(CONFIG_MAP))).unwrap()[0].namespace(), "default");
    assert_eq!(now(cluster.get(&CONFIG_MAP.at("default", "a"))).unwrap().namespace(), "default");
    assert_eq!(now(cluster.get(&NODE.at("", "node"))).unwrap().name(), "node");
    annotate(&cluster, CONFIG_MAP, "default", "a");
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("a.yaml"), format!("{text}  annotations:\n    changed: by the test\n"));
}

#[test]
fn the_resource_version_guards_every_replace() {
    let world = World::with(&[
        ("a.yaml", &machine("a")),
        ("b.yaml", &machine("b").replace("  namespace", "  resourceVersion: \"77\"\n  namespace")),
        ("c.yaml", &machine("c").replace("  namespace", "  resourceVersion: 78\n  namespace")),
    ]);
    let cluster = world.open();
    for (name, version) in [("a", "0"), ("b", "77"), ("c", "78")] {
        let old = now(cluster.get(&MACHINE.at("ns", name))).unwrap();
        assert_eq!(old.resource_version(), version);
        let new = annotate(&cluster, MACHINE, "ns", name);
        assert_ne!(new.resource_version(), version);
        assert_eq!(now(cluster.get(&MACHINE.at("ns", name))).unwrap(), new);
        let late = now(cluster.replace(MACHINE, &old)).unwrap_err();
        assert!(
            matches!(&late, ClusterError::Conflict(what) if *what == format!("Machine/ns/{name}")),
            "{late}"
        );
        assert!(matches!(now(cluster.replace(MACHINE, &new_machine(name))), Err(ClusterError::Conflict(_))));
    }
    now(cluster.settle()).unwrap();
    assert!(!world.text("a.yaml").contains("resourceVersion"));
    assert!(
        world.text("b.yaml").contains("  name: b\n  resourceVersion: \"77\"\n  namespace: ns\n"),
        "{}",
        world.text("b.yaml")
    );
    assert!(world.text("c.yaml").contains("  name: c\n  resourceVersion: 78\n  namespace: ns\n"));
}

#[test]
fn a_replace_without_a_difference_changes_nothing() {
    let world = World::with(&[("a.yaml", &machine("a"))]);
    let cluster = world.open();
    let a = now(cluster.get(&MACHINE.at("ns", "a"))).unwrap();
    assert_eq!(now(cluster.replace(MACHINE, &a)).unwrap(), a);
    assert!(cluster.changes().is_empty());
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("a.yaml"), machine("a"));
    assert_eq!(cluster.traffic().counts(), (1, 1));
}

#[test]
fn what_the_server_sets_cannot_be_changed() {
    let world = World::with(&[
        ("a.yaml", &deleted("a", "[x]").replace("  name:", "  uid: u1\n  name:")),
        ("b.yaml", &machine("b")),
    ]);
    let cluster = world.open();
    for (name, uid, deleting) in [("a", "u1", true), ("b", "", false)] {
        let mut object = now(cluster.get(&MACHINE.at("ns", name))).unwrap();
        let metadata = object.ensure_object(&["metadata"]);
        metadata.insert("uid".to_owned(), "other".into());
        metadata.insert("deletionTimestamp".to_owned(), if deleting { Value::Null } else { "now".into() });
        object.annotate("k", "v");
        let new = now(cluster.replace(MACHINE, &object)).unwrap();
        assert_eq!((new.uid(), new.deleting(), new.annotation("k")), (uid, deleting, Some("v")));
    }
}

#[test]
fn the_last_finalizer_of_a_deleted_object_takes_it_along() {
    let world = World::with(&[
        ("alone.yaml", &format!("# c\n{}", deleted("a", "[x]"))),
        (
            "many.yaml",
            &format!(
                "{}---\n# about b\n{}---\n# about c\n{}",
                machine("b0"),
                deleted("b", "[x, z]"),
                machine("c")
            ),
        ),
        ("keep.yaml", &deleted("k", "[]")),
    ]);
    let cluster = world.open();
    assert_eq!(set_finalizers(&cluster, "a", json!([])).unwrap().name(), "a");
    assert!(matches!(now(cluster.get(&MACHINE.at("ns", "a"))), Err(ClusterError::NotFound(_))));
    set_finalizers(&cluster, "b", json!(["z"])).unwrap();
    assert!(now(cluster.get(&MACHINE.at("ns", "b"))).is_ok());
    set_finalizers(&cluster, "b", Value::Null).unwrap();
    annotate(&cluster, MACHINE, "ns", "k");
    let refused = set_finalizers(&cluster, "k", json!(["new"])).unwrap_err();
    assert!(matches!(refused, ClusterError::Refused { .. }), "{refused}");
    set_finalizers(&cluster, "c", json!(["x"])).unwrap();
    set_finalizers(&cluster, "c", json!([])).unwrap();
    now(cluster.settle()).unwrap();
    assert!(!world.dir().join("alone.yaml").exists());
    let c = format!("{}  finalizers: []\n", machine("c"));
    assert_eq!(world.text("many.yaml"), format!("{}---\n# about c\n{c}", machine("b0")));
    assert_eq!(names(&now(cluster.list(Feed::all(MACHINE))).unwrap()), ["ns/b0", "ns/c", "ns/k"]);
    assert!(matches!(now(cluster.replace(MACHINE, &new_machine("a"))), Err(ClusterError::NotFound(_))));
}

#[test]
fn an_end_marker_that_parts_two_documents_stays_when_one_goes() {
    let world = World::with(&[
        ("first.yaml", &format!("{}...\n{}", deleted("a", "[x]"), machine("b"))),
        ("middle.yaml", &format!("{}---\n{}...\n{}", machine("c"), deleted("d", "[x]"), machine("e"))),
    ]);
    let cluster = world.open();
    set_finalizers(&cluster, "a", json!([])).unwrap();
    set_finalizers(&cluster, "d", json!([])).unwrap();
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("first.yaml"), machine("b"));
    assert_eq!(world.text("middle.yaml"), format!("{}...\n{}", machine("c"), machine("e")));
    drop(cluster);
    assert_eq!(names(&now(world.open().list(Feed::all(MACHINE))).unwrap()), ["ns/b", "ns/c", "ns/e"]);
}

#[test]
fn an_item_goes_from_its_list() {
    let item = |text: String| format!("- {}\n", text.trim_end().replace('\n', "\n  "));
    let text = format!(
        "apiVersion: v1\nitems:\n{}{}- kind: Odd\nkind: List\n",
        item(deleted("a", "[x]")),
        item(machine("b"))
    );
    let world = World::with(&[("list.yaml", &text)]);
    let cluster = world.open();
    set_finalizers(&cluster, "a", json!([])).unwrap();
    now(cluster.settle()).unwrap();
    assert_eq!(
        world.text("list.yaml"),
        format!("apiVersion: v1\nitems:\n{}- kind: Odd\nkind: List\n", item(machine("b")))
    );
}

#[test]
fn made_objects_get_a_file_of_their_own() {
    let world = World::with(&[
        ("m.yaml", &machine("a")),
        ("mipam/machines.machine.openshift.io/ns.c.yaml", &machine("z")),
    ]);
    let cluster = world.open();
    assert!(matches!(now(cluster.create(MACHINE, &new_machine("a"))), Err(ClusterError::Exists(_))));
    let mut b = new_machine("b");
    b.ensure_object(&["metadata"]).insert("uid".to_owned(), "mine".into());
    let b = now(cluster.create(MACHINE, &b)).unwrap();
    assert_eq!(b.uid(), "");
    assert!(!b.resource_version().is_empty());
    assert!(matches!(now(cluster.create(MACHINE, &b)), Err(ClusterError::Exists(_))));
    now(cluster.create(MACHINE, &new_machine("c"))).unwrap();
    let default = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}));
    assert_eq!(now(cluster.create(CONFIG_MAP, &default)).unwrap().namespace(), "default");
    let outside = object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "../../../evil"}}));
    now(cluster.create(NODE, &outside)).unwrap();
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("mipam/machines.machine.openshift.io/ns.b.yaml"), machine("b"));
    assert_eq!(world.text("mipam/machines.machine.openshift.io/ns.c.yaml"), machine("z"));
    assert_eq!(world.text("mipam/machines.machine.openshift.io/ns.c_1.yaml"), machine("c"));
    assert_eq!(
        world.text("mipam/configmaps/default.d.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\n"
    );
    assert_eq!(tree(&world.dir()).len(), 6, "{:?}", tree(&world.dir()).keys());
    assert_eq!(
        tree(world.dir().parent().unwrap()).len(),
        6 + usize::from(world.dir().join(".mipam.lock").exists())
    );
}

#[test]
fn a_recreated_object_is_not_taken_for_its_predecessor() {
    let world = World::with(&[("a.yaml", &deleted("a", "[x]"))]);
    let cluster = world.open();
    let old = now(cluster.get(&MACHINE.at("ns", "a"))).unwrap();
    set_finalizers(&cluster, "a", json!([])).unwrap();
    now(cluster.create(MACHINE, &new_machine("a"))).unwrap();
    assert!(matches!(now(cluster.replace(MACHINE, &old)), Err(ClusterError::Conflict(_))));
    now(cluster.settle()).unwrap();
    let path = "mipam/machines.machine.openshift.io/ns.a.yaml";
    assert_eq!(tree(&world.dir()), BTreeMap::from([(path.to_owned(), machine("a"))]));
    let mut new = now(cluster.get(&MACHINE.at("ns", "a"))).unwrap();
    new.annotate("k", "v");
    now(cluster.replace(MACHINE, &new)).unwrap();
    now(cluster.settle()).unwrap();
    assert!(world.text(path).contains("k: v"));
}

#[test]
fn kinds_are_served_by_a_document_a_definition_or_by_every_server() {
    let served = |files: &[(&str, &str)]| {
        let cluster = World::with(files).open();
        now(cluster.served(&KINDS)).unwrap().iter().map(|k| k.kind).collect::<Vec<_>>()
    };
    assert_eq!(served(&[]), ["Node", "ConfigMap", "CustomResourceDefinition"]);
    assert_eq!(served(&[("m.yaml", &machine("a"))])[0], "Machine");
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {group: ipam.metal3.io, names: {kind: IPAddress}}\n";
    assert_eq!(served(&[("crd.yaml", crd)])[2], "IPAddress");
    let empty = "apiVersion: machine.openshift.io/v1beta1\nkind: MachineList\nitems: []\n";
    assert_eq!(served(&[("empty.yaml", empty)])[0], "Machine");

    let cluster = World::with(&[("m.yaml", &machine("a"))]).open();
    assert!(now(cluster.list(Feed::all(IP_ADDRESS))).unwrap().is_empty());
    assert!(matches!(now(cluster.get(&IP_ADDRESS.at("ns", "x"))), Err(ClusterError::NotServed(_))));
    assert!(matches!(now(cluster.get(&MACHINE.at("ns", "x"))), Err(ClusterError::NotFound(_))));
    assert!(matches!(now(cluster.get(&NODE.at("", "x"))), Err(ClusterError::NotFound(_))));
    let unknown = Kind { group: "", versions: &["v1"], kind: "Pod", plural: "pods", namespaced: true };
    assert!(now(cluster.served(&[unknown])).unwrap().is_empty());
    assert!(matches!(now(cluster.list(Feed::all(unknown))), Err(ClusterError::NotServed(_))));
}

#[test]
fn objects_of_another_kind_or_without_a_name_are_refused() {
    let cluster = World::with(&[]).open();
    for value in [
        json!({"apiVersion": "v1", "kind": "Node"}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
    ] {
        let refused = now(cluster.create(NODE, &object(value))).unwrap_err();
        assert!(matches!(refused, ClusterError::Refused { .. }), "{refused}");
    }
}

#[test]
fn one_namespace_can_be_listed_alone() {
    let map = |name: &str, namespace: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n")
    };
    let world = World::with(&[("x.yaml", &[map("a", "a"), map("b", "b"), map("c", "a")].join("---\n"))]);
    let cluster = world.open();
    assert_eq!(names(&now(cluster.list(Feed::within(CONFIG_MAP, "a"))).unwrap()), ["a/a", "a/c"]);
    assert_eq!(cluster.traffic().counts(), (1, 0));
}

#[test]
fn changes_are_told_in_order_and_as_files_have_them() {
    let world = World::with(&[("x.yaml", &[deleted("a", "[x]"), machine("b"), machine("c")].join("---\n"))]);
    let cluster = world.try_open(Mode::ReadOnly).unwrap();
    let c = now(cluster.get(&MACHINE.at("ns", "c"))).unwrap();
    let edited = annotate(&cluster, MACHINE, "ns", "c");
    let mut back = c.clone();
    back.ensure_object(&["metadata"]).insert("resourceVersion".to_owned(), edited.resource_version().into());
    now(cluster.replace(MACHINE, &back)).unwrap();
    annotate(&cluster, MACHINE, "ns", "b");
    set_finalizers(&cluster, "a", json!([])).unwrap();
    now(cluster.create(
        CONFIG_MAP,
        &object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z"}})),
    ))
    .unwrap();
    now(cluster.settle()).unwrap();
    let changes = cluster.changes();
    let told: Vec<_> =
        changes.iter().map(|c| (c.target.to_string(), c.before.is_some(), c.after.is_some())).collect();
    assert_eq!(
        told,
        [
            ("ConfigMap/default/z".to_owned(), false, true),
            ("Machine/ns/a".to_owned(), true, false),
            ("Machine/ns/b".to_owned(), true, true),
        ]
    );
    assert!(
        changes.iter().flat_map(|c| [&c.before, &c.after]).flatten().all(|o| o.resource_version().is_empty())
    );
}
