//! `/healthz`, `/readyz` and `/metrics` over HTTP, on one address.

use super::metrics::Metrics;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// What the probes tell.
#[derive(Default)]
pub struct Told {
    /// Counters and figures.
    pub metrics: Metrics,
    /// Why this process is of no use at the moment; `None`: it is at work or stands by.
    unready: Mutex<Option<String>>,
}

impl Told {
    /// Says why this process is of no use at the moment.
    pub fn unready(&self, why: Option<String>) {
        *self.unready.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

/// Answers for as long as it is awaited.
pub async fn serve(listener: TcpListener, told: Arc<Told>) -> io::Result<()> {
    let routes = Router::new()
        // All work is done on one thread, so an answer is proof that it goes on.
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(told);
    axum::serve(listener, routes).await
}

/// Listens on `HOST:PORT`, or on `:PORT`, which means all addresses that this host has.
pub async fn listen(address: &str) -> io::Result<TcpListener> {
    let Some(port) = address.strip_prefix(':') else { return TcpListener::bind(address).await };
    let port: u16 = port.parse().map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let any: [SocketAddr; 2] = [([0u16; 8], port).into(), ([0u8; 4], port).into()];
    // Hosts without IPv6 have only the second.
    TcpListener::bind(&any[..]).await
}

async fn ready(State(told): State<Arc<Told>>) -> (StatusCode, String) {
    match &*told.unready.lock().unwrap_or_else(PoisonError::into_inner) {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn metrics(State(told): State<Arc<Told>>) -> impl IntoResponse {
    text(told.metrics.text())
}

/// Figures, as Prometheus wants them.
pub(crate) fn text(figures: Result<String, std::fmt::Error>) -> impl IntoResponse {
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match figures {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, TEXT)], text),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, "text/plain")], error.to_string())
        }
    }
}
