//! The certificate that the webhook shows, replaced while it runs.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// A client that says nothing is not waited for.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The certificate that is shown now.
#[derive(Debug, Default)]
pub struct Certificate(RwLock<Option<Arc<CertifiedKey>>>);

impl Certificate {
    /// Shows this one from now on, given as PEM; where it cannot be used, the one before stays.
    pub fn set(&self, chain: &[u8], key: &[u8]) -> Result<(), String> {
        let certified = certified(chain, key)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Is there one?
    pub fn is_set(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn certified(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, String> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate cannot be read: {error}"))?;
    if chain.is_empty() {
        return Err("the certificate has no PEM block CERTIFICATE".to_owned());
    }
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key cannot be read: {error}"))?;
    // Both files change, one after the other: a key that is not that of the certificate is one of them too early.
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|error| format!("the certificate and the key do not go together: {error}"))
}

/// Certificate and key as files, read again when they change.
#[derive(Debug)]
pub struct Files {
    chain: PathBuf,
    key: PathBuf,
    last: Option<(Vec<u8>, Vec<u8>)>,
}

impl Files {
    /// These files.
    pub fn new(chain: &Path, key: &Path) -> Self {
        Self { chain: chain.to_owned(), key: key.to_owned(), last: None }
    }

    /// Looks at the files; whether they have changed, or why what they hold cannot be used.
    pub fn refresh(&mut self, certificate: &Certificate) -> Result<bool, String> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let now = (read(&self.chain)?, read(&self.key)?);
        if self.last.as_ref() == Some(&now) {
            return Ok(false);
        }
        certificate
            .set(&now.0, &now.1)
            .map_err(|why| format!("{} and {}: {why}", self.chain.display(), self.key.display()))?;
        self.last = Some(now);
        Ok(true)
    }
}

/// Takes connections and shakes hands, each apart from the others.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Listens here, with whichever certificate is set at the time.
    pub fn new(tcp: TcpListener, certificate: Arc<Certificate>) -> io::Result<Self> {
        let address = tcp.local_addr()?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(certificate);
        let acceptor = TlsAcceptor::from(Arc::new(with_http1(config)));
        let (send, ready) = mpsc::channel(64);
        let task = tokio::spawn(async move {
            loop {
                match tcp.accept().await {
                    Ok((stream, from)) => {
                        let (acceptor, send) = (acceptor.clone(), send.clone());
                        tokio::spawn(async move {
                            // What fails here is the client's to notice.
                            if let Ok(Ok(stream)) =
                                tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await
                            {
                                let _ = send.send((stream, from)).await;
                            }
                        });
                    }
                    // Too many open files, say: it passes.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(Self { address, ready, task })
    }
}

fn with_http1(mut config: ServerConfig) -> rustls::ServerConfig {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
