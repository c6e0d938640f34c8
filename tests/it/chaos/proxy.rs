//! A proxy before the API server that does to requests and answers what networks, load balancers and busy
//! servers do to them. It speaks HTTP/1.1 to mipam and uses the bed's client towards the server.

use super::run::{REQUEST, Run};
use crate::bed::Bed;
use kube::client::Body;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is done to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The connection is cut before the server has heard of the request.
    CutBefore,
    /// The connection is cut when the server has done what was asked.
    CutAfter,
    /// The request is late.
    Delay(Duration),
    /// The answer comes when nobody waits for it any more.
    Stall,
    /// 429, as the server says it when it has too many requests: plain text, perhaps with `Retry-After`.
    Busy(Option<u32>),
    /// 429 as a Status that asks for a pause.
    BusyStatus,
    /// 500 or 504 in place of the server.
    Fail(u16),
    /// 500 or 504 though the server has done what was asked.
    FailAfter(u16),
    /// An answer that ends before its `Content-Length`.
    Short,
    /// An answer in chunks that ends in the middle of one.
    ShortChunk,
    /// The first half of the answer, with a `Content-Length` to match.
    HalfJson,
    /// mipam is killed before the server has heard of the request.
    KillBefore,
    /// mipam is killed when the server has done what was asked.
    KillAfter,
}

/// A request as the proxy sees it.
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }
}

/// What the server did at mipam's request.
#[derive(Clone, Debug)]
pub struct Done {
    pub path: String,
    /// Was the change made?
    pub made: bool,
}

/// Decides what is done to a request; the number is that of the write, from 0.
pub type Tactic = Box<dyn FnMut(&Request, usize) -> Option<Fault> + Send>;

pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    acceptor: JoinHandle<()>,
}

struct Shared {
    bed: &'static Bed,
    account: &'static str,
    over: AtomicBool,
    tactic: Mutex<(Tactic, usize)>,
    victim: OnceLock<Arc<Run>>,
    writes: Mutex<Vec<Done>>,
    faults: Mutex<BTreeMap<Fault, usize>>,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

/// What a proxy saw and did.
pub struct Tally {
    pub writes: Vec<Done>,
    pub faults: BTreeMap<Fault, usize>,
}

impl Proxy {
    /// Starts a proxy that passes requests on as this account.
    pub fn start(bed: &'static Bed, account: &'static str, tactic: Tactic) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared {
            bed,
            account,
            over: AtomicBool::new(false),
            tactic: Mutex::new((tactic, 0)),
            victim: OnceLock::new(),
            writes: Mutex::default(),
            faults: Mutex::default(),
            connections: Mutex::default(),
        });
        let server = shared.clone();
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if server.over.load(Ordering::Relaxed) {
                    return;
                }
                let of_one = server.clone();
                let thread = std::thread::spawn(move || of_one.serve(&stream));
                server.connections.lock().expect("connections").push(thread);
            }
        });
        Self { port, shared, acceptor }
    }

    /// Writes a kubeconfig file that leads here.
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let file = dir.join(format!("{}.kubeconfig", self.port));
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": format!("http://127.0.0.1:{}", self.port)}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
            "current-context": "proxy",
        });
        std::fs::write(&file, config.to_string()).expect("a kubeconfig file");
        file
    }

    /// Says whom to kill.
    pub fn aim(&self, at: Arc<Run>) {
        assert!(self.shared.victim.set(at).is_ok(), "one victim per proxy");
    }

    /// Ends it when its clients are gone, and returns when the server has answered all that it passed on.
    pub fn finish(self) -> Tally {
        self.shared.over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.acceptor.join().expect("the proxy");
        let connections = std::mem::take(&mut *self.shared.connections.lock().expect("connections"));
        connections.into_iter().for_each(|c| c.join().expect("a connection"));
        Tally {
            writes: std::mem::take(&mut self.shared.writes.lock().expect("writes")),
            faults: std::mem::take(&mut self.shared.faults.lock().expect("faults")),
        }
    }
}

/// An answer of the server.
struct Answer {
    code: u16,
    kind: String,
    body: Vec<u8>,
}

impl Shared {
    /// Answers the requests of one connection until one of the two sides closes it.
    fn serve(&self, stream: &TcpStream) {
        stream.set_nodelay(true).expect("a socket option");
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            if !self.answer(stream, &request) {
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return;
            }
        }
    }

    /// False: the connection is to be cut.
    fn answer(&self, stream: &TcpStream, request: &Request) -> bool {
        let fault = {
            let (tactic, writes) = &mut *self.tactic.lock().expect("the tactic");
            let fault = tactic(request, *writes);
            *writes += usize::from(request.is_write());
            fault
        };
        if let Some(fault) = fault {
            *self.faults.lock().expect("faults").entry(fault).or_default() += 1;
        }
        match fault {
            Some(Fault::CutBefore) => return false,
            Some(Fault::KillBefore) => {
                self.victim.wait().kill();
                return false;
            }
            Some(Fault::Delay(time)) => std::thread::sleep(time),
            Some(Fault::Busy(pause)) => {
                let pause = pause.map_or(String::new(), |s| format!("Retry-After: {s}\r\n"));
                let text = "Too many requests, please try again later.";
                return send(stream, 429, "text/plain", &pause, text.as_bytes());
            }
            Some(Fault::BusyStatus) => {
                let body = serde_json::json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 429,
                    "reason": "TooManyRequests", "message": "the server is busy",
                    "details": {"retryAfterSeconds": 1},
                });
                return send(stream, 429, "application/json", "", body.to_string().as_bytes());
            }
            Some(Fault::Fail(code)) => return send(stream, code, "text/plain", "", b"try later"),
            _ => {}
        }
        let Some(answer) = self.forward(request) else { return false };
        let half = &answer.body[..answer.body.len() / 2];
        match fault {
            Some(Fault::CutAfter) => false,
            Some(Fault::KillAfter) => {
                self.victim.wait().kill();
                false
            }
            Some(Fault::Stall) => {
                std::thread::sleep(REQUEST + Duration::from_millis(200));
                false
            }
            Some(Fault::FailAfter(code)) => send(stream, code, "text/plain", "", b"try later"),
            Some(Fault::Short) => {
                let head =
                    head(answer.code, &answer.kind, &format!("Content-Length: {}\r\n", answer.body.len()));
                let _ = (&*stream).write_all(&[head.as_bytes(), half].concat());
                false
            }
            Some(Fault::ShortChunk) => {
                let head = head(answer.code, &answer.kind, "Transfer-Encoding: chunked\r\n");
                let size = format!("{:x}\r\n", answer.body.len());
                let _ = (&*stream).write_all(&[head.as_bytes(), size.as_bytes(), half].concat());
                false
            }
            Some(Fault::HalfJson) => send(stream, answer.code, &answer.kind, "", half),
            _ => send(stream, answer.code, &answer.kind, "", &answer.body),
        }
    }

    /// Passes a request on; `None` where the server does not answer.
    fn forward(&self, request: &Request) -> Option<Answer> {
        let mut builder = http::Request::builder().method(request.method.as_str()).uri(&request.path);
        for (name, value) in &request.headers {
            if ["accept", "content-type", "user-agent"].contains(&name.as_str()) {
                builder = builder.header(name, value);
            }
        }
        let sent = builder.body(Body::from(request.body.clone())).expect("a request");
        let client = self.bed.client(self.account);
        let answer = self.bed.block_on(async {
            let response = client.send(sent).await.ok()?;
            let code = response.status().as_u16();
            let kind = response.headers().get("content-type").and_then(|v| v.to_str().ok());
            let kind = kind.unwrap_or("text/plain").to_owned();
            let body = response.into_body().collect_bytes().await.ok()?.to_vec();
            Some(Answer { code, kind, body })
        });
        if request.is_write() {
            let made = answer.as_ref().is_some_and(|a| a.code < 300);
            self.writes.lock().expect("writes").push(Done { path: request.path.clone(), made });
        }
        answer
    }
}

fn head(code: u16, kind: &str, more: &str) -> String {
    format!("HTTP/1.1 {code} As Said\r\nContent-Type: {kind}\r\n{more}\r\n")
}

/// Sends a whole answer; false where nobody takes it.
fn send(mut stream: &TcpStream, code: u16, kind: &str, more: &str, body: &[u8]) -> bool {
    let head = head(code, kind, &format!("Content-Length: {}\r\n{more}", body.len()));
    stream.write_all(&[head.as_bytes(), body].concat()).is_ok()
}

/// Reads one request; `None` where the client has closed or died.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    let mut next = |reader: &mut BufReader<&TcpStream>| {
        line.clear();
        let size = reader.read_line(&mut line).ok()?;
        (size > 0).then(|| line.trim_end().to_owned())
    };
    let first = next(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = next(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, v)| v.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}
