//! A client that asks as an API server does, and sees more of the answer.

use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub struct Client {
    port: u16,
    tls: TlsConnector,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn response(&self) -> Value {
        let review: Value = serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body));
        review["response"].clone()
    }

    /// What the webhook itself has taken, in milliseconds.
    pub fn own(&self) -> f64 {
        let line = self.head.lines().find(|l| l.to_lowercase().starts_with("server-timing")).unwrap();
        line.rsplit("dur=").next().unwrap().trim().parse().unwrap()
    }
}

impl Client {
    /// Believes these authorities.
    pub fn new(port: u16, authorities: &[&str]) -> Self {
        let mut roots = RootCertStore::empty();
        for ca in authorities {
            roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { port, tls: TlsConnector::from(Arc::new(config)) }
    }

    /// Sends a body over a connection of its own.
    pub async fn send(&self, path: &str, body: &[u8]) -> std::io::Result<Answer> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let mut stream = self.tls.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        stream.flush().await?;
        let mut bytes = Vec::new();
        // A server that closes without a word of TLS has still answered.
        if let Err(error) = stream.read_to_end(&mut bytes).await
            && bytes.is_empty()
        {
            return Err(error);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
    }

    pub async fn review(&self, pod: &Value, operation: &str) -> std::io::Result<Answer> {
        self.send(mipam::webhook::server::PATH, review(pod, operation).to_string().as_bytes()).await
    }
}

/// A review as an API server sends it.
pub fn review(pod: &Value, operation: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": { "group": "", "version": "v1", "kind": "Pod" },
            "resource": { "group": "", "version": "v1", "resource": "pods" },
            "namespace": pod["metadata"]["namespace"], "operation": operation, "object": pod,
        },
    })
}
