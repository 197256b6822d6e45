//! `/audit/export`: what the log's page shows, as a file.

use actix_web::{HttpResponse, http::header, web::Bytes};
use futures_util::stream;

use super::{Choice, not_understood};
use crate::{
    audit::{
        export::{Export, Format},
        log,
    },
    error::{Denial, Error},
    query::Query,
    web::{
        asked::{Asked, Question},
        refused::Refused,
        site::Site,
    },
    workflow::Gate,
};

/// Which events, and in which form.
pub struct File {
    choice: Choice,
    format: Format,
}

impl Question for File {
    const KNOWN: &'static [&'static str] = &["format", "period", "category", "denied", "actor", "action"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        let format = query.parsed("format")?;
        Ok(Self {
            choice: Choice::read(query)?,
            format: format.ok_or_else(|| Denial::invalid("format", "format is missing: csv or jsonl."))?,
        })
    }
}

/// The file, in order, page by page while the log is read.
pub async fn file(site: Site, Asked(File { choice, format }): Asked<File>) -> Result<HttpResponse, Refused> {
    let gate = Gate::clone(&site.gate);
    let now = site.gate.db.read(move |conn| gate.clock.now(conn)).await?;
    let filter = log::filter(&site.gate.db, choice.wanted(now)).await.map_err(not_understood)?;
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
