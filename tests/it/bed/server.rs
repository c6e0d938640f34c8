//! etcd, kube-apiserver and the two controllers without which nothing owned ever goes away.

use super::accounts::{self, Tokens};
use super::process::Guarded;
use super::{audit, binaries};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

/// The names of the two that can be killed and come back.
pub const ETCD: &str = "etcd";
pub const APISERVER: &str = "kube-apiserver";

/// Machines that run tests are noisy; a warm start takes two or three seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// A socket in the bed's folder, by a name relative to it: no port to race for, nobody else's etcd to
/// meet, no limit on the folder's length.
const ETCD_URL: &str = "unix://etcd:0";
const ETCD_SOCKET: &str = "etcd:0";

/// Starts etcd, on the data that is there, and returns when it listens.
pub fn etcd(dir: &Path) -> Guarded {
    // One that was killed has left its socket behind.
    let _ = std::fs::remove_file(dir.join(ETCD_SOCKET));
    let peers = "http://localhost:2380";
    let args = [
        "--data-dir=etcd".to_owned(),
        // A bed that crashes is thrown away, so nothing needs to reach the disk.
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={ETCD_URL}"),
        format!("--advertise-client-urls={ETCD_URL}"),
        "--listen-peer-urls=unix://peer:0".to_owned(),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
        "--log-level=warn".to_owned(),
    ];
    let mut process = Guarded::spawn(ETCD, &binaries::locate(&binaries::ETCD), &args, dir, dir);
    let start = Instant::now();
    while !dir.join(ETCD_SOCKET).exists() {
        let ended = process.ended();
        assert!(ended.is_none() && start.elapsed() < PATIENCE, "etcd is not up\n{}", process.last_words());
        std::thread::sleep(Duration::from_millis(10));
    }
    process
}

/// Starts kube-apiserver on a loopback port, another one if that was taken, and returns it with its address
/// when it is ready and every account has a kubeconfig file in `dir`.
pub async fn apiserver(dir: &Path, mut port: impl FnMut() -> u16) -> (Guarded, String) {
    let binary = binaries::locate(&binaries::APISERVER);
    let tokens = Tokens::make();
    std::fs::write(dir.join("tokens.csv"), tokens.csv()).expect("the tokens");
    std::fs::write(dir.join("policy.yaml"), audit::POLICY).expect("the audit policy");
    for _ in 0..5 {
        // Certificates of an attempt before this one are of no use.
        let _ = std::fs::remove_dir_all(dir.join("certs"));
        let port = port();
        let mut process = Guarded::spawn(APISERVER, &binary, &flags(port), dir, dir);
        let url = format!("https://127.0.0.1:{port}");
        let start = Instant::now();
        let mut client = None;
        loop {
            client = client.or(connect(dir, &url, &tokens).await);
            if let Some(client) = &client
                && ready(client).await
            {
                return (process, url);
            }
            if process.ended().is_some() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "kube-apiserver is not ready\n{}", process.last_words());
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        // Another process may have taken the port meanwhile: that alone is worth another try.
        let taken = process.output().contains("address already in use");
        assert!(taken, "kube-apiserver ended\n{}", process.last_words());
    }
    panic!("five free ports in a row were taken by others before kube-apiserver had them");
}

/// Starts kube-apiserver again where it was, with the certificate and the tokens it had, and returns when it
/// is ready.
pub async fn apiserver_again(dir: &Path, url: &str) -> Guarded {
    let binary = binaries::locate(&binaries::APISERVER);
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let client = Client::try_from(config(dir, accounts::ADMIN).await).expect("a client");
    let start = Instant::now();
    loop {
        let mut process = Guarded::spawn(APISERVER, &binary, &flags(port), dir, dir);
        while process.ended().is_none() {
            if ready(&client).await {
                return process;
            }
            assert!(start.elapsed() < PATIENCE, "kube-apiserver is not ready\n{}", process.last_words());
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        // A connection of somebody else may have the port for a moment.
        let taken = process.output().contains("address already in use");
        assert!(taken && start.elapsed() < PATIENCE, "kube-apiserver ended\n{}", process.last_words());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Starts the garbage collector and the namespace controller. The collector looks for new kinds only every
/// 30 seconds, so CRDs that are there before it are the ones it knows.
pub fn controllers(dir: &Path) -> Guarded {
    let args = [
        format!("--kubeconfig={}", accounts::kubeconfig(dir, accounts::CONTROLLERS).display()),
        "--controllers=garbage-collector-controller,namespace-controller".to_owned(),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        "--kube-api-qps=1000".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ];
    Guarded::spawn("kube-controller-manager", &binaries::locate(&binaries::CONTROLLERS), &args, dir, dir)
}

/// How an account reaches the server whose files are in `dir`.
pub async fn config(dir: &Path, account: &str) -> Config {
    let file = Kubeconfig::read_from(accounts::kubeconfig(dir, account)).expect("a kubeconfig file");
    let mut config =
        Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.expect("a kubeconfig");
    // A proxy of the environment does not lead to this machine's loopback.
    config.proxy_url = None;
    config.read_timeout = Some(Duration::from_secs(60));
    config.reset_reader_on_write = true;
    config
}

/// A port that nobody has just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn flags(port: u16) -> Vec<String> {
    [
        &format!("--secure-port={port}"),
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        // A loopback address is refused as an endpoint of the service `kubernetes`, which nobody needs.
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        &format!("--etcd-servers={ETCD_URL}"),
        // The server makes its own certificate here; its key also signs for service accounts, so that no
        // key has to be kept in the repository.
        "--cert-dir=certs",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=certs/apiserver.key",
        "--service-account-signing-key-file=certs/apiserver.key",
        "--anonymous-auth=false",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        // No controller makes service accounts, and Nodes are to stay as tests wrote them.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        // As OpenShift has it: who is to block an owner's deletion needs a right on that owner.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        "--audit-policy-file=policy.yaml",
        &format!("--audit-log-path={}", audit::LOG),
        "--audit-log-mode=blocking",
        // Never rotated, for marks are places in the one file.
        "--audit-log-maxsize=100000",
        "--profiling=false",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Writes the kubeconfig files as soon as the server has made its certificate.
async fn connect(dir: &Path, url: &str, tokens: &Tokens) -> Option<Client> {
    let chain = std::fs::read_to_string(dir.join("certs/apiserver.crt")).ok()?;
    // The server's own certificate comes first, then that of the authority which it made to sign it.
    let authority = &chain[chain.rfind("-----BEGIN").filter(|&at| at > 0)?..];
    if !authority.trim_end().ends_with("-----END CERTIFICATE-----") {
        return None;
    }
    let ca = dir.join("ca.crt");
    std::fs::write(&ca, authority).expect("the authority");
    tokens.write_kubeconfigs(dir, url, &ca);
    Some(Client::try_from(config(dir, accounts::ADMIN).await).expect("a client"))
}

async fn ready(client: &Client) -> bool {
    let answer = client.request_text(http::Request::get("/readyz").body(vec![]).expect("a request"));
    matches!(tokio::time::timeout(Duration::from_secs(5), answer).await, Ok(Ok(text)) if text == "ok")
}
