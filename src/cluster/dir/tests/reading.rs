//! Which documents are read, as what, and which are refused.

use super::*;
use crate::cluster::dir::load::Loader;
use crate::cluster::dir::scan::Format;
use proptest::prelude::*;

fn machines(world: &World) -> Vec<String> {
    names(&now(world.open().list(Feed::all(MACHINE))).unwrap())
}

#[test]
fn documents_of_all_forms_are_found() {
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n{}",
        ["c", "d"].map(|n| machine(n).replace("apiVersion", "- apiVersion").replace('\n', "\n  ")).join("\n")
    );
    let world = World::with(&[
        ("two.yaml", &format!("# head\n{}---\n{}", machine("b"), machine("a"))),
        ("deep/er/list.yml", &list),
        (
            "one.json",
            r#"{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"e"}}"#,
        ),
        (
            "flow.yaml",
            "--- {apiVersion: machine.openshift.io/v9, kind: Machine, metadata: {name: f, namespace: x}}\n",
        ),
        ("bom.yaml", &format!("\u{feff}---\r\n{}", machine("g").replace('\n', "\r\n"))),
        ("versioned.yaml", &format!("%YAML 1.2\n---\n{}...\n", machine("h"))),
        (".hidden/x.yaml", "{{ broken"),
        ("README.md", "{{ broken"),
        ("empty.yaml", ""),
        ("empty.json", " \n"),
        ("void.yaml", "---\n# nothing\n---\n"),
    ]);
    assert_eq!(machines(&world), ["default/e", "ns/a", "ns/b", "ns/c", "ns/d", "ns/g", "ns/h", "x/f"]);
    assert!(world.notes().is_empty());
    let other = now(world.open().get(&MACHINE.at("x", "f"))).unwrap();
    assert_eq!(other.text("/apiVersion"), Some("machine.openshift.io/v9"), "its own version stays");
}

#[test]
fn items_of_typed_lists_take_their_kind_from_the_list() {
    let text = "apiVersion: machine.openshift.io/v1beta1\nkind: MachineList\nmetadata: {}\nitems:\n- metadata:\n    name: a\n";
    let world = World::with(&[("list.yaml", text)]);
    let cluster = world.open();
    let a = now(cluster.get(&MACHINE.at("", "a"))).unwrap();
    assert_eq!((a.group(), a.kind(), a.namespace()), ("machine.openshift.io", "Machine", "default"));
    annotate(&cluster, MACHINE, "default", "a");
    now(cluster.settle()).unwrap();
    assert_eq!(
        world.text("list.yaml"),
        format!("{text}    annotations:\n      changed: by the test\n"),
        "the item gains nothing else"
    );
}

#[test]
fn merge_keys_are_seen() {
    let world = World::with(&[(
        "m.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: &m {name: a, labels: {x: z}}\nother: {<<: *m, name: b}\n",
    )]);
    let node = now(world.open().get(&NODE.at("", "a"))).unwrap();
    assert_eq!(node.text("/other/labels/x"), Some("z"));
}

#[test]
fn what_is_no_object_is_left_alone_and_half_objects_are_noted() {
    let world = World::with(&[
        ("ipam-config.yaml", "ipam-config:\n  pools: []\n"),
        ("values.json", "[1, 2]"),
        (
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
        ),
        ("a.yaml", "# c\nkind: Machine\n---\napiVersion: v1\n---\n\n# c\napiVersion: v1\nkind: Pod\n"),
        (
            "b.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: 7}\n",
        ),
        (
            "c.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n- apiVersion: v1\n  kind: List\n  items: []\n",
        ),
    ]);
    assert_eq!(
        world.notes(),
        [
            "a.yaml:2: has a kind and no apiVersion: ignored",
            "a.yaml:4: has an apiVersion and no kind: ignored",
            "a.yaml:8: is a Pod without metadata.name: ignored",
            "b.yaml:1: is a Pod whose metadata.name is not text; put it in quotes: ignored",
            "b.yaml:5: is a Secret whose metadata.namespace is not text; put it in quotes: ignored",
            "c.yaml:4: is a Node without metadata.name: ignored",
            "c.yaml:6: is a list inside a list: ignored",
        ]
    );
}

#[test]
fn what_uses_addresses_is_never_ignored_for_its_name() {
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: 5}\n";
    let world = World::with(&[("a.yaml", node), ("b.yaml", &machine("a").replace(": ns", ": 7"))]);
    let error = world.error();
    assert!(error.contains("a.yaml:1: is a Node whose metadata.name is not text"), "{error}");
    assert!(error.contains("b.yaml:1: is a Machine whose metadata.namespace is not text"), "{error}");
}

#[test]
fn notes_are_bounded() {
    let world = World::with(&[("a.yaml", &"---\nkind: X\n".repeat(30))]);
    assert_eq!(world.notes().len(), 21);
    assert_eq!(world.notes()[20], "and 10 more documents that are ignored");
}

#[test]
fn every_broken_file_is_named_with_its_line() {
    let world = World::with(&[
        ("a.yaml", &format!("{}---\nmetadata: [\n", machine("a"))),
        ("b.yaml", &format!("{}---\n{}  name: twice\n", machine("b"), machine("c"))),
        ("c.json", "{\n  \"a\": 1,\n  \"a\": 2\n}"),
        ("d.yaml", &machine("d")),
    ]);
    let error = world.error();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].ends_with("cannot be used, nothing was written:"), "{error}");
    assert!(lines[1].starts_with("  a.yaml:8: ") || lines[1].starts_with("  a.yaml:7: "), "{error}");
    assert_eq!(lines[2], "  b.yaml:12: metadata: key \"name\" is given twice", "{error}");
    assert!(lines[3].starts_with("  c.json:3: key \"a\" is given twice"), "{error}");
    assert_eq!(lines.len(), 4, "{error}");
}

#[test]
fn the_list_of_broken_files_is_bounded() {
    let broken: Vec<(String, &str)> = (0..25).map(|n| (format!("{n:02}.yaml"), "a: [")).collect();
    let broken: Vec<(&str, &str)> = broken.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let error = World::with(&broken).error();
    assert_eq!(error.lines().count(), 22, "{error}");
    assert!(error.ends_with("  and 5 more"), "{error}");
}

#[test]
fn the_same_object_in_two_places_is_refused() {
    let unnamed = machine("x").replace("  namespace: ns\n", "");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
    let world = World::with(&[
        ("a.yaml", &format!("# c\n{}---\n{}", machine("a"), machine("a").replace("v1beta1", "v1"))),
        ("b.yaml", &format!("{unnamed}---\n{}", machine("x").replace("namespace: ns", "namespace: default"))),
        ("c/p.yaml", pod),
        (
            "d.yaml",
            &format!("apiVersion: v1\nkind: List\nitems:\n- {}", pod.trim_end().replace('\n', "\n  ")),
        ),
    ]);
    let error = world.error();
    let lines: Vec<&str> = error.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  a.yaml:8: Machine/ns/a is also in a.yaml:2; keep one of them",
            "  b.yaml:6: Machine/default/x is also in b.yaml:1; keep one of them",
            "  d.yaml:4: Pod/p is also in c/p.yaml:1; keep one of them",
        ]
    );
}

#[test]
fn words_that_kubectl_reads_otherwise_are_refused_where_mipam_reads_them() {
    let world = World::with(&[("m.yaml", &format!("---\n{}spec:\n  paused: yes\n", machine("a")))]);
    assert!(
        world.error().contains("m.yaml:8: yes without quotes is not text to kubectl"),
        "{}",
        world.error()
    );
    let elsewhere =
        World::with(&[("x.yaml", "apiVersion: x/v1\nkind: X\nmetadata: {name: a}\npaused: yes\n")]);
    elsewhere.open();
}

#[test]
fn files_that_are_no_text_are_named() {
    let world = World::with(&[]);
    fs::write(world.dir().join("latin.yaml"), b"a: \xe9\n").unwrap();
    assert!(world.error().contains("latin.yaml:1: is not UTF-8"), "{}", world.error());
}

#[test]
fn more_documents_than_markers_show_is_an_error() {
    let world = World::with(&[("a.yaml", "a: 1\r---\rb: 2\n")]);
    assert!(world.error().contains("more than one document"), "{}", world.error());
}

#[test]
fn a_folder_that_is_not_there_is_said_so() {
    let world = World::with(&[("a.yaml", "")]);
    let error = DirCluster::open(&world.out(), &KINDS, Mode::InPlace).unwrap_err().to_string();
    assert!(error.contains("no such folder; give --dir"), "{error}");
    assert!(!world.out().exists());
    let error = DirCluster::open(&world.dir().join("a.yaml"), &KINDS, Mode::InPlace).unwrap_err().to_string();
    assert!(error.contains("not a folder"), "{error}");
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("...\n".to_owned()),
        Just("apiVersion: v1\n".to_owned()),
        Just("kind: Node\n".to_owned()),
        Just("kind: List\n".to_owned()),
        Just("metadata: {name: a}\n".to_owned()),
        Just("items:\n".to_owned()),
        Just("- ".to_owned()),
        Just("  ".to_owned()),
        Just("a: &a *a\n".to_owned()),
        Just("<<: {a: yes}\n".to_owned()),
        any::<String>(),
    ];
    prop_oneof![any::<String>(), prop::collection::vec(piece, 0..20).prop_map(|v| v.concat())]
}

proptest! {
    #[test]
    fn reading_any_text_never_panics(text in any_text()) {
        for format in [Format::Yaml, Format::Json] {
            let mut loader = Loader::new(Path::new("."), &KINDS);
            loader.file(PathBuf::from("x"), format, text.clone());
            let (state, faults, _) = loader.finish();
            prop_assert!(faults.is_empty() || !faults.to_string().is_empty());
            prop_assert_eq!(state.files[0].on_disk.as_deref(), Some(text.as_str()));
        }
    }
}
