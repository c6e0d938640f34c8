//! `mipam webhook`: serves reviews of launcher pods until it is asked to stop.

use super::context::{self, Context};
use super::{ExitStatus, Failure, listen, stop};
use crate::cli::Webhook;
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, Patient};
use crate::webhook::own::{self, Place};
use crate::webhook::server::{self, Options};
use crate::webhook::tls::{Certificate, Files};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How often files are looked at, and the Secret.
const FILES: Duration = Duration::from_secs(1);
const SECRET: Duration = Duration::from_secs(60);

pub(super) async fn run(context: &Context<'_>, command: &Webhook) -> Result<ExitStatus, Failure> {
    if context.options.dir.is_some() {
        return Err(Failure::error("webhook answers the API server of a cluster, and --dir names files")
            .hint("leave --dir and MIPAM_DIR out"));
    }
    let mut stop = pin!(stop()?);
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let certificate = Arc::new(Certificate::default());
    let mut source = match (&command.tls_cert, &command.tls_key) {
        (Some(chain), Some(key)) => Source::Files(Files::new(chain, key)),
        _ => Source::Own(place(command)),
    };
    let refreshed = tokio::select! {
        refreshed = source.refresh(&*cluster, &certificate) => refreshed,
        () = &mut stop => return Ok(ExitStatus::Fine),
    };
    refreshed.map_err(|why| {
        Failure::error(format!("there is no certificate to show: {why}"))
            .hint("name one with --tls-cert and --tls-key, or say --self-signed with the rights that the README lists")
    })?;
    let reviews = listen("--listen", &command.listen).await?;
    let health = listen("--health-probe-address", &command.health_probe_address).await?;
    let options = Options {
        default_namespace: command.default_network_nad_namespace.clone(),
        timeout: command.review_timeout,
    };
    context.printer.note(&format!("reviews of pods are answered on {}", command.listen));
    let serving = server::serve(&*cluster, &options, certificate.clone(), (reviews, health), stop);
    let renewing = async {
        let mut said = String::new();
        loop {
            tokio::time::sleep(source.pause()).await;
            match source.refresh(&*cluster, &certificate).await {
                Ok(true) => context.printer.note("the certificate is a new one"),
                Ok(false) => said.clear(),
                // The one before is shown as long as it lasts.
                Err(why) if why != said => {
                    context.printer.warn(&why);
                    said = why;
                }
                Err(_) => {}
            }
        }
    };
    tokio::select! {
        served = serving => served.map_err(|error| Failure::error(format!("cannot serve: {error}")))?,
        never = renewing => never,
    }
    Ok(ExitStatus::Fine)
}

fn place(command: &Webhook) -> Place {
    let service = [format!("{}.{}.svc", command.service, command.service_namespace)];
    Place {
        namespace: command.service_namespace.clone(),
        secret: command.secret.clone(),
        configuration: command.configuration.clone(),
        names: service.into_iter().chain(command.tls_names.iter().cloned()).collect(),
    }
}

/// Where the certificate comes from.
enum Source {
    Files(Files),
    Own(Place),
}

impl Source {
    fn pause(&self) -> Duration {
        match self {
            Self::Files(_) => FILES,
            Self::Own(_) => SECRET,
        }
    }

    async fn refresh(&mut self, cluster: &dyn Cluster, certificate: &Certificate) -> Result<bool, String> {
        match self {
            Self::Files(files) => files.refresh(certificate),
            Self::Own(place) => {
                let pair = own::ensure(&Patient(cluster), place, context::now()).await?;
                certificate.set(pair.chain.as_bytes(), pair.key.as_bytes())?;
                Ok(false)
            }
        }
    }
}
