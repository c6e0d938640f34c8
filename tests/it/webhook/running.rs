//! The program as it runs in a pod, here as a process of its own.

use super::{configuration, file};
use crate::bed::accounts::ADMIN;
use crate::bed::{Bed, eventually, rest};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// An authority, and a certificate for this machine that it has signed.
pub struct Authority {
    pub ca: String,
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let ca = params.self_signed(&key).unwrap().pem();
        Self { ca, issuer: rcgen::Issuer::new(params, key) }
    }

    /// Writes a certificate and its key to files, one after the other.
    pub fn sign(&self, folder: &Path) {
        let params =
            rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let chain = params.signed_by(&key, &self.issuer).unwrap().pem();
        std::fs::write(folder.join("tls.crt"), chain).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        std::fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
    }
}

pub struct Hook {
    child: Child,
    pub port: u16,
    probes: u16,
    pub folder: TempDir,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Hook {
    /// With a certificate in files.
    pub fn start(kubeconfig: &Path, authority: &Authority, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        authority.sign(folder.path());
        let path = |name: &str| folder.path().join(name).display().to_string();
        let files = ["--tls-cert".to_owned(), path("tls.crt"), "--tls-key".to_owned(), path("tls.key")];
        let more = files.into_iter().chain(more.iter().map(ToString::to_string)).collect();
        Self::run(kubeconfig, folder, more, free_port())
    }

    /// With a certificate of its own.
    pub fn self_signed(kubeconfig: &Path, port: u16) -> Self {
        let more = ["--self-signed", "--tls-name", "127.0.0.1"].map(str::to_owned).to_vec();
        Self::run(kubeconfig, tempfile::tempdir().unwrap(), more, port)
    }

    fn run(kubeconfig: &Path, folder: TempDir, more: Vec<String>, port: u16) -> Self {
        let probes = free_port();
        let child = Command::new(env!("CARGO_BIN_EXE_mipam"))
            .args(["webhook", "--kubeconfig"])
            .arg(kubeconfig)
            .args([
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--health-probe-address",
                &format!("127.0.0.1:{probes}"),
            ])
            .args(more)
            .env("NO_COLOR", "1")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut hook = Self { child, port, probes, folder };
        hook.wait_until_ready();
        hook
    }

    fn wait_until_ready(&mut self) {
        for _ in 0..600 {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the webhook ended with {status}: {}", self.said());
            }
            if self.probe("/readyz").is_some_and(|text| text.starts_with("HTTP/1.1 200")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the webhook is not ready");
    }

    pub fn probe(&self, path: &str) -> Option<String> {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.probes)).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Waits until it has stopped; its exit status.
    pub fn stopped(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    fn said(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut err) = self.child.stderr.take() {
            err.read_to_string(&mut text).unwrap();
        }
        text
    }

    /// Tells the API server to ask it, and waits until it does.
    pub fn install(&self, bed: &Bed, ca: &str) {
        let mut configuration = configuration(&self.url());
        configuration["webhooks"][0]["clientConfig"]["caBundle"] =
            serde_json::json!(mipam::webhook::review::base64(ca.as_bytes()));
        bed.create(&configuration.to_string());
        bed.block_on(is_asked(bed));
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the API server asks: a launcher pod without a machine is refused from then on.
pub async fn is_asked(bed: &Bed) {
    let mut probe = super::launcher("nobody", "");
    probe["metadata"]["name"] = serde_json::json!("probe");
    eventually("the API server to ask the webhook", Duration::from_secs(60), async || {
        let path = "/api/v1/namespaces/default/pods?dryRun=All";
        let answer = rest::send(&bed.client(ADMIN), "POST", path, &probe).await;
        let refused = matches!(&answer, Err(kube::Error::Api(s)) if s.message.contains("VirtualMachineInstance/default/nobody"));
        refused.then_some(())
    })
    .await;
}

/// The rights of the manifest, for an account of the test bed.
pub fn granted(bed: &Bed, account: &str) -> PathBuf {
    bed.grant(account, &file("manifests/kubevirt-webhook.yaml"));
    bed.kubeconfig(account)
}
