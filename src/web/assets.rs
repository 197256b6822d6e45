//! The files beside the pages, embedded in the binary. Their addresses name their content, so browsers keep them.

use std::{collections::BTreeMap, sync::LazyLock};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, EntityTag, Header, IfNoneMatch},
    web::Path,
};
use sha2::{Digest, Sha256};

use crate::kinds::canonical::hex;

/// The rows' path in the table of routes.
pub const PATH: &str = "/static/{version}/{name}";

struct Asset {
    media_type: &'static str,
    content: &'static [u8],
    version: String,
}

static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let files: [(_, _, &[u8]); 4] = [
        (
            "countersign.css",
            "text/css; charset=utf-8",
            include_bytes!("../../static/countersign.css"),
        ),
        (
            "countersign.js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../static/countersign.js"),
        ),
        (
            "htmx-2.0.11.min.js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../static/htmx-2.0.11.min.js"),
        ),
        ("favicon.svg", "image/svg+xml", include_bytes!("../../static/favicon.svg")),
    ];
    let asset = |(name, media_type, content)| {
        let version = hex(&Sha256::digest(content)[..8]);
        (
            name,
            Asset {
                media_type,
                content,
                version,
            },
        )
    };
    files.into_iter().map(asset).collect()
});

/// The address of a file.
///
/// # Panics
/// When there is no such file.
pub fn url(name: &str) -> String {
    format!("/static/{}/{name}", ASSETS[name].version)
}

/// Serves a file. A page of an older version gets today's file, which it must not keep.
pub async fn get(request: HttpRequest, path: Path<(String, String)>) -> HttpResponse {
    let (version, name) = path.into_inner();
    let Some(asset) = ASSETS.get(name.as_str()) else {
        return super::not_found();
    };
    let keep = if version == asset.version {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let tag = EntityTag::new_weak(asset.version.clone());
    let known = match IfNoneMatch::parse(&request) {
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(&tag)),
        Ok(IfNoneMatch::Any) => true,
        Err(_) => false,
    };
    let mut response = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response.insert_header((header::CACHE_CONTROL, keep)).insert_header(header::ETag(tag));
    if known {
        return response.finish();
    }
    response.content_type(asset.media_type).body(asset.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_content() {
        for (name, asset) in ASSETS.iter() {
            assert_eq!(url(name), format!("/static/{}/{name}", asset.version));
            assert_eq!(asset.version.len(), 16, "{name}");
        }
    }
}
