//! One file per verb: settings in, report out. This file opens what they need and maps how they end to the
//! exit status.

mod allocate;
mod capacity;
mod configured;
mod context;
mod detach;
mod failure;
mod reconcile;
mod release;
mod render;
mod reported;
mod status;
mod watch;
mod webhook;

pub use failure::{ExitStatus, Failure};

use crate::cli::{self, Cli, Command, Format};
use crate::cluster::Cluster;
use crate::model::Seconds;
use crate::output::Printer;
use crate::watch::probes;
use context::Context;
use std::future::Future;
use std::io::ErrorKind;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Runs what was typed.
pub fn run(cli: &Cli) -> ExitStatus {
    let printer = Printer::new(cli.output, format(&cli.command));
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&printer, &Failure::error(format!("cannot start: {error}"))),
    };
    let context = Context { options: &cli.cluster, printer: &printer, lent: None };
    runtime.block_on(async {
        match &cli.command {
            Command::Reconcile(once) if !once.watching.watch => {
                until_told(Box::pin(finished(cli, &context)), &printer).await
            }
            _ => finished(cli, &context).await,
        }
    })
}

/// A pass, unless it is told to end before: the first process of a container is not ended by a signal that it does not
/// ask for.
async fn until_told(pass: impl Future<Output = ExitStatus> + Unpin, printer: &Printer) -> ExitStatus {
    let stop = match stop() {
        Ok(stop) => stop,
        Err(failure) => return failed(printer, &failure),
    };
    tokio::select! {
        status = pass => status,
        () = stop => {
            let told = Failure::error("told to end before all was done");
            failed(printer, &told.hint("nothing is half done: run it again"))
        }
    }
}

/// Runs what was typed on a cluster and at a time of the caller's.
pub async fn run_on(cli: &Cli, cluster: &dyn Cluster, now: Seconds, printer: &Printer) -> ExitStatus {
    finished(cli, &Context { options: &cli.cluster, printer, lent: Some((cluster, now)) }).await
}

fn format(command: &Command) -> Format {
    match command {
        Command::Reconcile(c) => c.format.format,
        Command::Allocate(c) => c.format.format,
        Command::Release(c) => c.format.format,
        Command::Status(c) => c.format.format,
        Command::Detach(c) => c.format.format,
        Command::CheckCapacity(c) => c.format.format,
        Command::RenderNmstate(_)
        | Command::Webhook(_)
        | Command::Completions(_)
        | Command::Man
        | Command::Complete(_) => Format::Table,
    }
}

/// Listens where a flag says.
async fn listen(flag: &str, address: &str) -> Result<TcpListener, Failure> {
    probes::listen(address).await.map_err(|error| {
        let failure = Failure::error(format!("cannot listen on {address}: {error}"));
        match error.kind() {
            ErrorKind::AddrInUse => {
                failure.hint(format!("another program has that port: choose another one with {flag}"))
            }
            _ => failure.hint(format!("{flag} names an address of this host and a port, or only :PORT")),
        }
    })
}

/// Ready when whoever runs this process tells it to end. It counts from now on, whenever it is awaited.
fn stop() -> Result<impl Future<Output = ()>, Failure> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn finished(cli: &Cli, context: &Context<'_>) -> ExitStatus {
    match dispatch(cli, context).await {
        Ok(status) => status,
        Err(failure) => failed(context.printer, &failure),
    }
}

async fn dispatch(cli: &Cli, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    match &cli.command {
        Command::Reconcile(command) => reconcile::run(context, command).await,
        Command::Allocate(command) => allocate::run(context, command).await,
        Command::Release(command) => release::run(context, command).await,
        Command::Status(command) => status::run(context, command).await,
        Command::RenderNmstate(command) => render::run(context, command).await,
        Command::CheckCapacity(command) => capacity::run(context, command).await,
        Command::Detach(command) => detach::run(context, command).await,
        Command::Webhook(command) => webhook::run(context, command).await,
        Command::Completions(command) => {
            printer.data(&cli::completion(command.shell))?;
            Ok(ExitStatus::Fine)
        }
        Command::Man => {
            printer.data(&cli::man_pages())?;
            Ok(ExitStatus::Fine)
        }
        Command::Complete(words) => {
            printer.data(&cli::complete(words))?;
            Ok(ExitStatus::Fine)
        }
    }
}

fn failed(printer: &Printer, failure: &Failure) -> ExitStatus {
    printer.error(&failure.message);
    if let Some(hint) = &failure.hint {
        printer.hint(hint);
    }
    failure.status
}
