//! What reaches the disk, and when nothing does.

use super::*;
use serde_json::json;

#[test]
fn only_the_changed_document_is_written_anew() {
    let head = "# licence\n\n---\n# the first,   oddly   formatted\n";
    let odd = "apiVersion:    v1   # core\nkind: Node\nmetadata: {name: a,   labels: { 'x':  \"y\" }}\n\n\n";
    let tail = "--- # three\nanything: [ 1,2 ]\n...\n# the end";
    let text = format!("{head}{odd}---\n\n# about b\n{}# after b\n\n{tail}", machine("b"));
    let world = World::with(&[("x.yaml", &text), ("y.yaml", odd.replace("name: a", "name: z").as_str())]);
    let before = tree(&world.dir());
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "b");
    assert_eq!(tree(&world.dir()), before, "nothing is written before it settles");
    now(cluster.settle()).unwrap();
    let b = format!("{}  annotations:\n    changed: by the test\n", machine("b"));
    assert_eq!(world.text("x.yaml"), format!("{head}{odd}---\n\n# about b\n{b}# after b\n\n{tail}"));
    assert_eq!(world.text("y.yaml"), before["y.yaml"]);
    drop(cluster);
    let cluster = world.open();
    assert_eq!(now(cluster.get(&MACHINE.at("ns", "b"))).unwrap().annotation("changed"), Some("by the test"));
}

#[test]
fn windows_line_ends_stay() {
    let text = format!("# c\n{}---\n{}", machine("a"), machine("b")).replace('\n', "\r\n");
    let world = World::with(&[("x.yaml", &text)]);
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "b");
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("x.yaml"), format!("{text}  annotations:\r\n    changed: by the test\r\n"));
}

#[test]
fn json_stays_json() {
    let text = r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},{"other":[1]}]}"#;
    let world = World::with(&[("x.json", &format!("{text}\n")), ("y.json", r#"{ "a":   1 }"#)]);
    let cluster = world.open();
    annotate(&cluster, NODE, "", "a");
    now(cluster.settle()).unwrap();
    let mut expected: Value = serde_json::from_str(text).unwrap();
    expected["items"][0]["metadata"]["annotations"] = json!({"changed": "by the test"});
    assert_eq!(world.text("x.json"), format!("{}\n", serde_json::to_string_pretty(&expected).unwrap()));
    assert_eq!(world.text("y.json"), r#"{ "a":   1 }"#);
}

#[test]
fn settling_twice_writes_once_and_later_changes_after_it() {
    let world = World::with(&[("x.yaml", &format!("{}---\n{}", machine("a"), machine("b")))]);
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "a");
    now(cluster.settle()).unwrap();
    let first = world.text("x.yaml");
    let stamp = fs::metadata(world.dir().join("x.yaml")).unwrap().modified().unwrap();
    now(cluster.settle()).unwrap();
    assert_eq!(fs::metadata(world.dir().join("x.yaml")).unwrap().modified().unwrap(), stamp);
    annotate(&cluster, MACHINE, "ns", "b");
    assert_eq!(world.text("x.yaml"), first);
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("x.yaml"), format!("{first}  annotations:\n    changed: by the test\n"));
}

#[test]
fn a_broken_file_anywhere_stops_everything() {
    let world = World::with(&[("a.yaml", &machine("a")), ("z/b.yaml", "a: [\n")]);
    let before = tree(&world.dir());
    assert!(world.try_open(Mode::InPlace).is_err());
    assert!(world.try_open(Mode::Out(world.out())).is_err());
    assert_eq!(tree(&world.dir()), before);
    assert!(!world.out().exists());
}

type Meddle = fn(&World);

#[test]
fn a_file_that_changed_meanwhile_is_a_conflict_and_nothing_is_written() {
    let node = object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    let meddling: [(&str, Meddle); 4] = [
        ("b.yaml", |w| w.put("b.yaml", &machine("other"))),
        ("b.yaml", |w| fs::remove_file(w.dir().join("b.yaml")).unwrap()),
        ("mipam/nodes/n.yaml", |w| w.put("mipam/nodes/n.yaml", "")),
        ("mipam/nodes/n.yaml", |w| fs::create_dir_all(w.dir().join("mipam/nodes/n.yaml")).unwrap()),
    ];
    for (name, meddle) in meddling {
        let world = World::with(&[("a.yaml", &machine("a")), ("b.yaml", &machine("b"))]);
        let cluster = world.open();
        annotate(&cluster, MACHINE, "ns", "a");
        annotate(&cluster, MACHINE, "ns", "b");
        now(cluster.create(NODE, &node)).unwrap();
        meddle(&world);
        let before = tree(&world.dir());
        let conflict = now(cluster.settle()).unwrap_err();
        assert!(matches!(&conflict, ClusterError::Conflict(what) if what.ends_with(name)), "{conflict}");
        assert_eq!(tree(&world.dir()), before);
    }
}

#[test]
fn a_file_that_is_not_written_may_change_meanwhile() {
    let world = World::with(&[("a.yaml", &machine("a")), ("b.yaml", &machine("b"))]);
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "a");
    world.put("b.yaml", "changed: true\n");
    now(cluster.settle()).unwrap();
    assert!(world.text("a.yaml").contains("by the test"));
    assert_eq!(world.text("b.yaml"), "changed: true\n");
}

#[test]
fn read_only_writes_nothing_and_takes_no_lock() {
    let world = World::with(&[("a.yaml", &machine("a"))]);
    let _other = world.open();
    let cluster = world.try_open(Mode::ReadOnly).unwrap();
    annotate(&cluster, MACHINE, "ns", "a");
    now(cluster.settle()).unwrap();
    assert_eq!(world.text("a.yaml"), machine("a"));
    assert_eq!(cluster.changes().len(), 1);
}

#[test]
fn a_second_run_is_told_of_the_first() {
    let world = World::with(&[("a.yaml", &machine("a"))]);
    let first = world.open();
    let error = world.try_open(Mode::InPlace).unwrap_err();
    assert!(matches!(error, DirError::Locked(_)), "{error}");
    drop(first);
    drop(world.open());
    #[cfg(unix)]
    assert!(!world.dir().join(".mipam.lock").exists());
}

#[test]
fn drafts_that_a_killed_run_left_are_neither_read_nor_in_the_way() {
    let world = World::with(&[("a.yaml", &machine("a"))]);
    let cluster = world.open();
    let draft = format!(".mipam-{:016x}.tmp", crate::model::hash(*b"a.yaml"));
    world.put(&draft, "half");
    annotate(&cluster, MACHINE, "ns", "a");
    now(cluster.settle()).unwrap();
    assert_eq!(tree(&world.dir()).len(), 1);
}

#[test]
fn what_cannot_be_written_leaves_everything_as_it_was() {
    let world = World::with(&[("a.yaml", &machine("a")), ("b.yaml", &machine("b"))]);
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "a");
    annotate(&cluster, MACHINE, "ns", "b");
    let in_the_way = world.dir().join(format!(".mipam-{:016x}.tmp", crate::model::hash(*b"b.yaml")));
    fs::create_dir(&in_the_way).unwrap();
    let before = tree(&world.dir());
    let error = now(cluster.settle()).unwrap_err().to_string();
    assert!(error.contains("cannot be written"), "{error}");
    assert_eq!(tree(&world.dir()), before);
    fs::remove_dir(&in_the_way).unwrap();
    now(cluster.settle()).unwrap();
    assert!(world.text("b.yaml").contains("by the test"));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::with(&[("a.yaml", &machine("a"))]);
    fs::set_permissions(world.dir().join("a.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let elsewhere = world.dir().parent().unwrap().join("real.yaml");
    fs::write(&elsewhere, machine("b")).unwrap();
    symlink("../real.yaml", world.dir().join("b.yaml")).unwrap();
    let cluster = world.open();
    annotate(&cluster, MACHINE, "ns", "a");
    annotate(&cluster, MACHINE, "ns", "b");
    now(cluster.settle()).unwrap();
    let mode = fs::metadata(world.dir().join("a.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(fs::symlink_metadata(world.dir().join("b.yaml")).unwrap().is_symlink());
    assert!(fs::read_to_string(elsewhere).unwrap().contains("by the test"));
}

#[cfg(unix)]
#[test]
fn new_objects_never_go_where_the_next_run_would_not_look() {
    let world = World::with(&[("a.yaml", &machine("a"))]);
    fs::create_dir(world.out()).unwrap();
    let cluster = world.open();
    std::os::unix::fs::symlink(world.out(), world.dir().join("mipam")).unwrap();
    annotate(&cluster, MACHINE, "ns", "a");
    let node = object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    now(cluster.create(NODE, &node)).unwrap();
    let error = now(cluster.settle()).unwrap_err().to_string();
    assert!(error.contains("mipam: is not a folder of its own"), "{error}");
    assert_eq!(world.text("a.yaml"), machine("a"));
    assert_eq!(fs::read_dir(world.out()).unwrap().count(), 0);
}
