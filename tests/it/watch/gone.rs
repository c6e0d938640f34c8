//! What a watch tells when its server forgets, cuts and ends it: a server that answers as it is told, one request after
//! the other.

use futures_util::StreamExt as _;
use mipam::cluster::kube::{Access, KubeCluster};
use mipam::cluster::{Cluster as _, News};
use mipam::model::{Feed, NODE};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

/// An answer and how it ends.
struct Says(u16, String, End);

enum End {
    /// Its end is where it says.
    Whole,
    /// The connection is closed in the middle.
    Cut,
}

fn list(names: &[(&str, u32)], version: u32) -> Says {
    let item = |(name, version): &(&str, u32)| json!({ "metadata": node(name, *version)["metadata"] });
    let items: Vec<Value> = names.iter().map(item).collect();
    let list =
        json!({ "kind": "NodeList", "metadata": { "resourceVersion": version.to_string() }, "items": items });
    Says(200, list.to_string(), End::Whole)
}

fn node(name: &str, version: u32) -> Value {
    let metadata = json!({ "name": name, "uid": name, "resourceVersion": version.to_string() });
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata })
}

fn line(what: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": what, "object": object }))
}

fn forgotten() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "too old resource version: 1 (2)",
    })
}

/// Gives these answers, and returns the requests; what is asked beyond them is never answered.
fn serve(listener: &TcpListener, answers: Vec<Says>) -> Vec<String> {
    let mut asked = Vec::new();
    for Says(code, body, end) in answers {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        asked.push(first.split(' ').nth(1).unwrap().to_owned());
        while !lines.next().unwrap().unwrap().is_empty() {}
        let more = if matches!(end, End::Cut) { 1_000 } else { 0 };
        let length = body.len() + more;
        let head = "Content-Type: application/json\r\nConnection: close\r\n";
        write!(stream, "HTTP/1.1 {code} As Said\r\n{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    }
    asked
}

#[test]
fn a_watch_that_is_cut_goes_on_and_one_that_the_server_forgot_begins_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kubeconfig");
    let server = format!("http://{}", listener.local_addr().unwrap());
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": server } }],
        "users": [{ "name": "c", "user": {} }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let answers = vec![
        list(&[("a", 5)], 5),
        // It is told that what it knows is too old, in the middle of the watch.
        Says(200, line("MODIFIED", &node("a", 7)) + &line("ERROR", &forgotten()), End::Whole),
        list(&[("a", 7), ("b", 9)], 10),
        // And when it begins one.
        Says(410, forgotten().to_string(), End::Whole),
        list(&[("b", 9)], 12),
        // Cut in the middle of a line: what came before it counts.
        Says(200, line("ADDED", &node("c", 13)) + "{\"type\":\"ADD", End::Cut),
        // Ended at once.
        Says(200, line("BOOKMARK", &node("", 20)), End::Whole),
        Says(200, line("DELETED", &node("b", 21)), End::Whole),
    ];
    let server = std::thread::spawn(move || serve(&listener, answers));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told: Vec<String> = runtime.block_on(async {
        let access = Access { kubeconfig: Some(file), timeout: Duration::from_secs(30), ..Access::default() };
        let cluster = KubeCluster::connect(&access).await.unwrap();
        let mut told = Vec::new();
        let mut news = cluster.watch(Feed::all(NODE));
        while told.last().is_none_or(|last| last != "gone b") {
            told.push(match news.next().await.unwrap() {
                Ok(News::All(all, version)) => {
                    let names: Vec<&str> = all.iter().map(|o| o.name()).collect();
                    format!("all {} at {version}", names.join(" "))
                }
                Ok(News::Now(object)) => format!("now {}", object.name()),
                Ok(News::Gone(object)) => format!("gone {}", object.name()),
                Ok(News::UpTo(version)) => format!("up to {version}"),
                Err(_) => "trouble".to_owned(),
            });
        }
        told
    });
    assert_eq!(
        told,
        [
            "all a at 5",
            "up to 5",
            "now a", // forgotten: the whole list comes again
            "all a b at 10",
            "trouble", // forgotten again
            "all b at 12",
            "up to 12",
            "now c",
            "trouble", // cut: it goes on from there
            "up to 13",
            "up to 20",
            "trouble", // ended at once: not asked again at once
            "up to 20",
            "gone b",
        ]
    );
    let asked: Vec<String> = server
        .join()
        .unwrap()
        .iter()
        .map(|path| match path.split_once("resourceVersion=") {
            Some((_, version)) => format!("watch {version}"),
            None => "list".to_owned(),
        })
        .collect();
    let expected = ["list", "watch 5", "list", "watch 10", "list", "watch 12", "watch 13", "watch 20"];
    assert_eq!(asked, expected);
}
