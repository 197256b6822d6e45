//! `/audit/export`: what the log's page shows, as a file.

use actix_web::{
    HttpResponse,
    http::header,
    web::{Bytes, Query},
};
use futures_util::stream;
use serde::Deserialize;

use super::Choice;
use crate::{
    audit::{
        export::{Export, Format},
        log,
    },
    error::{Denial, Error},
    web::{refused::Refused, site::Site},
    workflow::Gate,
};

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Form {
    format: String,
}

/// The file, in order, page by page while the log is read.
pub async fn file(site: Site, choice: Query<Choice>, form: Query<Form>) -> Result<HttpResponse, Refused> {
    let format: Format = form.format.parse().map_err(|problem| Denial::invalid("format", problem))?;
    let gate = Gate::clone(&site.gate);
    let now = site.gate.db.read(move |conn| gate.clock.now(conn)).await?;
    let filter = log::filter(&site.gate.db, choice.wanted(now)).await?;
    let export = Export::of(&site.gate.db, format, filter);
    let pieces = stream::try_unfold(export, |mut export| async {
        match export.next().await? {
            Some(piece) => Ok(Some((Bytes::from(piece), export))),
            // A connection that breaks says that the file is not whole.
            None if export.is_cut_short() => Err(Error::Unavailable("a transaction does not end".into())),
            None => Ok(None),
        }
    });
    let (media_type, name) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "countersign-audit.csv"),
        Format::Jsonl => ("application/jsonl; charset=utf-8", "countersign-audit.jsonl"),
    };
    Ok(HttpResponse::Ok()
        .content_type(media_type)
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        .streaming(pieces))
}
