//! For those who run the server: is it alive, can it work, what does it measure.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentType, WWW_AUTHENTICATE},
    web,
};

use crate::{
    audit::Door,
    auth::guard::{bearer, source},
    config::Config,
    error::{Denial, Error},
    metrics::Metrics,
    notify::Notifier,
    workflow::Gate,
};

/// The process answers. Says nothing of the database, so that nobody restarts a process whose database is away.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The database can be reached, has the schema of this binary, and took the latest write.
pub(super) async fn ready(gate: web::Data<Gate>) -> HttpResponse {
    match gate.db.check_schema().await {
        Err(error) => {
            tracing::warn!(%error, "not ready");
            not_ready()
        }
        Ok(()) if gate.db.writes_falter() => {
            tracing::warn!("not ready: the database refused to write just now");
            not_ready()
        }
        Ok(()) => HttpResponse::Ok().content_type(ContentType::plaintext()).body("ready\n"),
    }
}

fn not_ready() -> HttpResponse {
    HttpResponse::ServiceUnavailable()
        .content_type(ContentType::plaintext())
        .body("not ready\n")
}

/// Prometheus metrics, for the configured token; without one, for this machine only.
pub(super) async fn metrics(
    request: HttpRequest,
    config: web::Data<Config>,
    metrics: web::Data<Metrics>,
    gate: web::Data<Gate>,
    notifier: web::Data<Notifier>,
) -> HttpResponse {
    let may = match &config.metrics_token {
        Some(token) => bearer(&request).is_some_and(|given| crate::auth::same_secret(&given, token)),
        None => {
            let local = |address: String| address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
            let forwarded = ["forwarded", "x-forwarded-for", "via"];
            !forwarded.iter().any(|name| request.headers().contains_key(*name))
                && source(&request, Door::Internal).address.is_some_and(local)
        }
    };
    if !may {
        return HttpResponse::Unauthorized()
            .insert_header((WWW_AUTHENTICATE, "Bearer realm=\"countersign\""))
            .content_type(ContentType::plaintext())
            .body("unauthenticated\n");
    }
    match metrics.render(&gate, &notifier).await {
        Ok(text) => HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text),
        Err(error) => unavailable(error),
    }
}

/// How these routes say no.
pub(super) fn refuse(_: &HttpRequest, denial: Denial) -> HttpResponse {
    HttpResponse::Forbidden()
        .content_type(ContentType::plaintext())
        .body(format!("{}\n", denial.message))
}

fn unavailable(error: Error) -> HttpResponse {
    let denial = error.into_denial();
    HttpResponse::ServiceUnavailable()
        .content_type(ContentType::plaintext())
        .body(format!("{}\n", denial.code.as_str()))
}
