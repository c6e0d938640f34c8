//! The server: reviews over TLS, probes without, an end when it is asked to stop.

use super::figures::Figures;
use super::look::{self, Settings};
use super::review::{self, Review};
use super::tls::{Certificate, Listener};
use crate::cluster::Cluster;
use crate::watch::probes;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};

pub use look::Settings as Options;

/// Where pods are reviewed.
pub const PATH: &str = "/mutate-pods";

/// A pod of the largest size, twice: as it would be and as it was.
const LARGEST: usize = 8 << 20;

/// Reviews that wait for their turn.
const QUEUE: usize = 1024;

/// After it is asked to stop, answers that are under way are waited for so long.
const PATIENCE: Duration = Duration::from_secs(15);

/// A review that waits for its answer.
struct Job {
    review: Review,
    answer: oneshot::Sender<(Value, Duration)>,
}

/// Serves until `stop` is done; then lets what is under way end.
pub async fn serve(
    cluster: &dyn Cluster,
    settings: &Settings,
    certificate: Arc<Certificate>,
    (reviews, health): (TcpListener, TcpListener),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (send, mut jobs) = mpsc::channel::<Job>(QUEUE);
    let (stopping, stopped) = watch::channel(false);
    let figures = Arc::new(Figures::new());
    let ready = Arc::new(Ready {
        certificate: certificate.clone(),
        stopping: AtomicBool::new(false),
        figures: figures.clone(),
    });
    let app = Router::new()
        .route(PATH, post(mutate))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(Desk { jobs: send, figures });
    let ended = |mut stopped: watch::Receiver<bool>| async move {
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let listener = Listener::new(reviews, certificate)?;
    let server = axum::serve(listener, app).with_graceful_shutdown(ended(stopped.clone()));
    let server = tokio::spawn(server.into_future());
    let app = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(is_ready))
        .route("/metrics", get(async |State(ready): State<Arc<Ready>>| probes::text(ready.figures.text())))
        .with_state(ready.clone());
    let health = axum::serve(health, app).with_graceful_shutdown(ended(stopped));
    let health = tokio::spawn(health.into_future());
    // Requests to a cluster stay on this thread; the server's tasks hand reviews over to it.
    let mut under_way = FuturesUnordered::new();
    let mut stop = pin!(stop);
    let mut deadline = pin!(tokio::time::sleep(Duration::MAX / 4));
    let mut asked = false;
    loop {
        tokio::select! {
            () = &mut stop, if !asked => {
                asked = true;
                ready.stopping.store(true, Ordering::Relaxed);
                let _ = stopping.send(true);
                deadline.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
            }
            () = &mut deadline, if asked => break,
            Some(()) = under_way.next() => {}
            job = jobs.recv() => match job {
                Some(job) => under_way.push(answer(cluster, settings, job)),
                // The server has ended, and with it all that could ask.
                None => break,
            },
        }
    }
    health.abort();
    server.abort();
    match server.await {
        Ok(ended) => ended,
        Err(error) if error.is_cancelled() => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

async fn answer(cluster: &dyn Cluster, settings: &Settings, job: Job) {
    let (decision, own) = timed(look::decide(cluster, settings, &job.review)).await;
    // Who does not wait any more needs no answer.
    let _ = job.answer.send((review::answer(&job.review, &decision), own));
}

/// What a future has itself taken, without what it has waited for.
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let mut future = pin!(future);
    let mut own = Duration::ZERO;
    std::future::poll_fn(move |context| {
        let start = Instant::now();
        let polled = future.as_mut().poll(context);
        own += start.elapsed();
        match polled {
            Poll::Ready(done) => Poll::Ready((done, own)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Where reviews are handed in.
#[derive(Clone)]
struct Desk {
    jobs: mpsc::Sender<Job>,
    figures: Arc<Figures>,
}

async fn mutate(State(Desk { jobs, figures }): State<Desk>, body: Bytes) -> Response {
    let start = Instant::now();
    let review = match review::read(&body) {
        Ok(review) => review,
        Err(why) => {
            figures.invalid();
            return (StatusCode::BAD_REQUEST, format!("mipam: {why}\n")).into_response();
        }
    };
    let read = start.elapsed();
    let (answer, answered) = oneshot::channel();
    if jobs.send(Job { review, answer }).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "mipam: stopping\n").into_response();
    }
    match answered.await {
        Ok((answer, own)) => {
            let own = read + own;
            figures.answered(&answer, start.elapsed(), own);
            let own = format!("own;dur={:.3}", own.as_secs_f64() * 1000.0);
            let headers = [
                (header::CONTENT_TYPE, "application/json".to_owned()),
                (HeaderName::from_static("server-timing"), own),
            ];
            (headers, answer.to_string()).into_response()
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "mipam: stopping\n").into_response(),
    }
}

struct Ready {
    certificate: Arc<Certificate>,
    stopping: AtomicBool,
    figures: Arc<Figures>,
}

async fn is_ready(State(ready): State<Arc<Ready>>) -> Response {
    if ready.stopping.load(Ordering::Relaxed) {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response()
    } else if ready.certificate.is_set() {
        "ok".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "there is no certificate yet\n").into_response()
    }
}
