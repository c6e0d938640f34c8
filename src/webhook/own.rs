//! A certificate of the webhook's own: made here, kept in a Secret that all replicas share, and announced to the API
//! server in the configuration of the webhook.

use super::review::{base64, unbase64};
use super::tls::Certificate;
use crate::apply::{self, Written};
use crate::cluster::{Cluster, ClusterError};
use crate::model::{
    Action, Edit, Edited, Kind, Make, Object, ObjectRef, Observed, Seconds, Write, parse_timestamp, timestamp,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde_json::{Value, json};

/// Where the certificate is kept.
const SECRET: Kind = Kind::namespaced("", &["v1"], "Secret", "secrets");

/// Where an API server reads whom to ask, and whose certificates to believe.
const CONFIGURATION: Kind = Kind {
    group: "admissionregistration.k8s.io",
    versions: &["v1"],
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    namespaced: false,
};

const NAMES: &str = "mipam.io/names";
const RENEW: &str = "mipam.io/renew-after";
const DAY: Seconds = 86_400;

/// What is kept, and where.
#[derive(Clone, Debug)]
pub struct Place {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
    /// The configuration of the webhook.
    pub configuration: String,
    /// Whom the certificate is for: names and addresses under which the API server reaches the webhook.
    pub names: Vec<String>,
}

/// A certificate with its key and its authority, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The authority, which signs.
    pub ca: String,
    ca_key: String,
    /// The certificate.
    pub chain: String,
    /// Its key.
    pub key: String,
}

/// The certificate to show now: that of the Secret, or a new one where it has none, for other names, or an old one.
/// The API server is told whose certificates to believe.
pub async fn ensure(cluster: &dyn Cluster, place: &Place, now: Seconds) -> Result<Pair, String> {
    const TRIES: usize = 5;
    let target = SECRET.at(&place.namespace, &place.secret);
    for _ in 0..TRIES {
        let found = get(cluster, &target).await?;
        if let Some(pair) = found.as_ref().and_then(|secret| current(secret, place, now)) {
            announce(cluster, place, &pair).await?;
            return Ok(pair);
        }
        // An authority that is believed already goes on.
        let pair =
            make(&place.names, found.as_ref().and_then(read), now).map_err(|error| error.to_string())?;
        let wanted = secret(place, &pair, now);
        let action = match &found {
            None => Action::Create(Make::new(move |_| wanted.clone(), |_| true)),
            Some(_) => Action::Update(Edit::new(move |old| {
                let mut new = wanted.clone();
                new.0["metadata"]["resourceVersion"] = json!(old.resource_version());
                Edited::To(Box::new(new))
            })),
        };
        // Whoever was faster has made one, too: it is read next.
        write(cluster, &target, found, action).await?;
    }
    Err(format!("{target} changes faster than it can be read"))
}

async fn announce(cluster: &dyn Cluster, place: &Place, pair: &Pair) -> Result<(), String> {
    let target = CONFIGURATION.at("", &place.configuration);
    let Some(found) = get(cluster, &target).await? else {
        return Err(format!("{target} does not exist: apply manifests/kubevirt-webhook.yaml"));
    };
    let bundle = json!(base64(pair.ca.as_bytes()));
    let edit = Edit::new(move |object| {
        let mut edited = object.clone();
        let hooks = edited.0.get_mut("webhooks").and_then(Value::as_array_mut);
        for hook in hooks.into_iter().flatten().filter(|hook| hook["clientConfig"].is_object()) {
            hook["clientConfig"]["caBundle"] = bundle.clone();
        }
        if edited == *object { Edited::Already } else { Edited::To(Box::new(edited)) }
    });
    write(cluster, &target, Some(found), Action::Update(edit)).await
}

async fn get(cluster: &dyn Cluster, target: &ObjectRef) -> Result<Option<Object>, String> {
    match cluster.get(target).await {
        Ok(object) => Ok(Some(object)),
        Err(ClusterError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

async fn write(
    cluster: &dyn Cluster,
    target: &ObjectRef,
    found: Option<Object>,
    action: Action,
) -> Result<(), String> {
    let mut observed = Observed::default();
    observed.insert(target.kind, found);
    let chain = vec![Write { target: target.clone(), uid: String::new(), action }];
    let ran = apply::write(cluster, &observed, &[chain], 1, &|| ()).await;
    match ran.into_iter().flat_map(|r| r.written).next_back() {
        Some(Written::Failed(target, error)) => Err(format!("{target}: {error}")),
        _ => Ok(()),
    }
}

/// What a Secret holds.
fn read(secret: &Object) -> Option<Pair> {
    let text = |key: &str| {
        let data = secret.at("/data").and_then(|data| data.get(key)).and_then(Value::as_str);
        String::from_utf8(unbase64(data?)?).ok()
    };
    let [ca, ca_key, chain, key] = ["ca.crt", "ca.key", "tls.crt", "tls.key"].map(text);
    Some(Pair { ca: ca?, ca_key: ca_key?, chain: chain?, key: key? })
}

/// What a Secret holds, if it is for these names, not too old, and can be shown.
fn current(secret: &Object, place: &Place, now: Seconds) -> Option<Pair> {
    let for_us = secret.annotation(NAMES) == Some(&place.names.join(","));
    let young = secret.annotation(RENEW).and_then(parse_timestamp).is_some_and(|renew| now < renew);
    let is_whole =
        |pair: &Pair| Certificate::default().set(pair.chain.as_bytes(), pair.key.as_bytes()).is_ok();
    read(secret).filter(|pair| for_us && young && is_whole(pair))
}

fn secret(place: &Place, pair: &Pair, now: Seconds) -> Object {
    let Pair { ca, ca_key, chain, key } = pair;
    let data = [("ca.crt", ca), ("ca.key", ca_key), ("tls.crt", chain), ("tls.key", key)];
    let data: serde_json::Map<String, Value> =
        data.into_iter().map(|(key, text)| (key.to_owned(), json!(base64(text.as_bytes())))).collect();
    Object(json!({
        "apiVersion": "v1",
        "kind": SECRET.kind,
        "metadata": {
            "name": place.secret,
            "namespace": place.namespace,
            "labels": { "app.kubernetes.io/managed-by": "mipam" },
            "annotations": { (NAMES): place.names.join(","), (RENEW): timestamp(now + 240 * DAY) },
        },
        "data": data,
    }))
}

/// Makes a certificate for a year, signed by an authority for ten.
fn make(names: &[String], before: Option<Pair>, now: Seconds) -> Result<Pair, rcgen::Error> {
    let known = before.and_then(|pair| KeyPair::from_pem(&pair.ca_key).ok().map(|key| (pair.ca, key)));
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "mipam webhook");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    lasts(&mut authority, now - 2 * DAY, now + 3650 * DAY);
    let (ca, ca_key) = if let Some(known) = known {
        known
    } else {
        let key = KeyPair::generate()?;
        (authority.self_signed(&key)?.pem(), key)
    };
    let ca_key_text = ca_key.serialize_pem();
    let issuer = Issuer::new(authority, ca_key);
    let mut leaf = CertificateParams::new(names.to_vec())?;
    leaf.distinguished_name.push(DnType::CommonName, "mipam webhook server");
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    lasts(&mut leaf, now - 2 * DAY, now + 365 * DAY);
    let key = KeyPair::generate()?;
    let chain = leaf.signed_by(&key, &issuer)?.pem();
    Ok(Pair { ca, ca_key: ca_key_text, chain, key: key.serialize_pem() })
}

/// The day of a time, as certificates have it.
fn day(seconds: Seconds) -> (i32, u8, u8) {
    let day = jiff::Timestamp::from_second(seconds).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    let number = |n: i8| u8::try_from(n).unwrap_or(1);
    (i32::from(day.year()), number(day.month()), number(day.day()))
}

/// Is valid from one day to the other.
fn lasts(params: &mut CertificateParams, from: Seconds, to: Seconds) {
    let ((year, month, first), (last_year, last_month, last)) = (day(from), day(to));
    params.not_before = date_time_ymd(year, month, first);
    params.not_after = date_time_ymd(last_year, last_month, last);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Seconds = 1_800_000_000;

    fn place() -> Place {
        let names = vec!["mipam-webhook.mipam-system.svc".to_owned(), "127.0.0.1".to_owned()];
        let (namespace, secret, configuration) = ("ns".to_owned(), "s".to_owned(), "c".to_owned());
        Place { namespace, secret, configuration, names }
    }

    #[test]
    fn what_is_made_can_be_used_and_read_back() {
        let pair = make(&place().names, None, NOW).unwrap();
        Certificate::default().set(pair.chain.as_bytes(), pair.key.as_bytes()).unwrap();
        let kept = secret(&place(), &pair, NOW);
        assert_eq!(current(&kept, &place(), NOW), Some(pair.clone()));
        assert_eq!(current(&kept, &place(), NOW + 250 * DAY), None, "too old");
        let other = Place { names: vec!["other".to_owned()], ..place() };
        assert_eq!(current(&kept, &other, NOW), None, "for others");

        let mut broken = kept.clone();
        broken.0["data"]["tls.crt"] = json!(base64(b"not a certificate"));
        assert_eq!(current(&broken, &place(), NOW), None, "nobody could be shown it");

        let next = make(&place().names, Some(pair.clone()), NOW + 250 * DAY).unwrap();
        assert_eq!((&next.ca, &next.ca_key), (&pair.ca, &pair.ca_key), "the authority goes on");
        assert_ne!((&next.chain, &next.key), (&pair.chain, &pair.key));
        let mixed = Certificate::default().set(next.chain.as_bytes(), pair.key.as_bytes());
        assert!(mixed.unwrap_err().contains("do not go together"));
    }
}
