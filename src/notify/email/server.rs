//! Where the mail server is, and how it is spoken to: `smtps://` is TLS from the first byte, `smtp://` is STARTTLS.

use std::{fmt, net::IpAddr, str::FromStr};

use lettre::transport::smtp::authentication::Credentials;
use url::Url;

use super::{
    tls::{self, Authority},
    way::{Line, Way},
};
use crate::error::Result;

/// The setting `SMTP_URL`.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpUrl {
    host: String,
    port: u16,
    security: Security,
    /// User and password.
    account: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    Tls,
    StartTls,
    None,
}

impl SmtpUrl {
    /// The way to this server.
    ///
    /// # Errors
    /// `Internal` when TLS can't be set up.
    pub(super) fn way(&self, authority: Option<&Authority>) -> Result<Way> {
        let line = match self.security {
            Security::Tls => Line::Tls(tls::connector(authority)?),
            Security::StartTls => Line::StartTls(tls::connector(authority)?),
            Security::None => Line::Open,
        };
        let account = self.account.as_ref();
        Ok(Way {
            host: self.host.clone(),
            port: self.port,
            line,
            account: account.map(|(user, password)| Credentials::new(user.clone(), password.clone())),
        })
    }
}

/// Without user and password.
impl fmt::Display for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let security = match self.security {
            Security::Tls => "TLS",
            Security::StartTls => "STARTTLS",
            Security::None => "no encryption",
        };
        write!(f, "{}:{} with {security}", self.host, self.port)
    }
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpUrl({self})")
    }
}

impl FromStr for SmtpUrl {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let form = "must be smtp:// or smtps://, with user and password where needed, and a host, such as \
                    smtp://user:password@mail.example.com:587; a mark such as # / ? % @ in a password is written %23 %2F \
                    %3F %25 %40";
        let url = Url::parse(text).map_err(|_| form)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(form)?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(form.to_owned());
        }
        let host = decoded(host).ok_or(form)?.trim_matches(['[', ']']).to_owned();
        let security = match (url.scheme(), url.query()) {
            ("smtps", None) => Security::Tls,
            ("smtp", None) => Security::StartTls,
            ("smtp", Some("tls=none")) => Security::None,
            ("smtp" | "smtps", Some(_)) => {
                return Err("takes no parameters but smtp://…?tls=none".to_owned());
            }
            _ => return Err(form.to_owned()),
        };
        let account = match (url.username(), url.password()) {
            ("", None) => None,
            (user, Some(password)) if !user.is_empty() => {
                Some((decoded(user).ok_or(form)?, decoded(password).ok_or(form)?))
            }
            _ => return Err("needs both a user and a password, or neither".to_owned()),
        };
        if account.is_some() && security == Security::None && !is_here(&host) {
            return Err("would send the password without encryption; leave tls=none out".to_owned());
        }
        let port = url.port().unwrap_or(if security == Security::Tls { 465 } else { 587 });
        if port == 0 {
            return Err(form.to_owned());
        }
        Ok(Self {
            host,
            port,
            security,
            account,
        })
    }
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn decoded(part: &str) -> Option<String> {
    percent_encoding::percent_decode_str(part)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<SmtpUrl>().unwrap().to_string()
    }

    #[test]
    fn servers() {
        assert_eq!(shown("smtp://mail.example.com"), "mail.example.com:587 with STARTTLS");
        assert_eq!(shown("smtps://u:p@mail.example.com"), "mail.example.com:465 with TLS");
        assert_eq!(shown("smtp://u:p@127.0.0.1:1025?tls=none"), "127.0.0.1:1025 with no encryption");
        assert_eq!(shown("smtp://[::1]:25/"), "::1:25 with STARTTLS");
        let url: SmtpUrl = "smtps://us%40er:p%2Fw@mail.example.com".parse().unwrap();
        assert_eq!(url.account, Some(("us@er".to_owned(), "p/w".to_owned())));
    }

    #[test]
    fn what_is_none_is_refused_without_repeating_it() {
        for bad in [
            "",
            "mail.example.com",
            "http://mail.example.com",
            "smtp://",
            "smtp://user@mail.example.com",
            "smtp://:hunter2@mail.example.com",
            "smtp://u:hunter2@mail.example.com/inbox",
            "smtp://u:hunter2#@mail.example.com",
            "smtp://u:hunter2@mail.example.com?tls=none",
            "smtp://u:hunter2@mail.example.com?tls=maybe",
            "smtps://mail.example.com?tls=none",
            "smtp://mail.example.com:0",
            "smtp://mail.example.com:70000",
            "smtp://u:%ff@mail.example.com",
        ] {
            let why = bad.parse::<SmtpUrl>().unwrap_err();
            assert!(!why.contains("hunter2"), "{bad}: {why}");
        }
    }

    #[test]
    fn the_password_is_never_shown() {
        let url: SmtpUrl = "smtp://user:hunter2@mail.example.com".parse().unwrap();
        assert!(!format!("{url} {url:?}").contains("hunter2"));
    }
}
