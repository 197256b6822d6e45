//! Who may vouch for the mail server.

use std::{fmt, fs, str::FromStr, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_rustls::TlsConnector;

use crate::error::{Error, Result};

/// The setting `COUNTERSIGN_SMTP_CA`: who may vouch beside the usual authorities.
#[derive(Clone)]
pub struct Authority(Vec<CertificateDer<'static>>);

impl FromStr for Authority {
    type Err = String;

    /// Reads the PEM file of that name.
    fn from_str(path: &str) -> std::result::Result<Self, String> {
        let pem =
            fs::read(path).map_err(|error| format!("must name a PEM file that can be read: {error}"))?;
        let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let usable = |found: &Vec<CertificateDer<'static>>| {
            let mut roots = RootCertStore::empty();
            !found.is_empty() && found.iter().all(|certificate| roots.add(certificate.clone()).is_ok())
        };
        found
            .ok()
            .filter(usable)
            .map(Self)
            .ok_or_else(|| "must name a file that holds a certificate in PEM form".to_owned())
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

/// Makes lines secure for whose other end the usual authorities vouch, or `authority`.
///
/// # Errors
/// `Internal` when TLS can't be set up.
pub fn connector(authority: Option<&Authority>) -> Result<TlsConnector> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    for certificate in authority.into_iter().flat_map(|authority| &authority.0) {
        roots.add(certificate.clone()).map_err(Error::internal)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(Error::internal)?;
    Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}
