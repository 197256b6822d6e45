//! Settings with a form of their own. A value that is not in it is named in one sentence.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use ipnet::IpNet;

use crate::{auth::Secret, workflow::RetryWindows};

/// The longest duration a setting takes: ten years.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A duration that is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime(Duration);

impl Lifetime {
    /// The duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match duration(text)? {
            Duration::ZERO => Err("must be longer than 0".to_owned()),
            duration => Ok(Self(duration)),
        }
    }
}

/// `24h`, or `refund=24h,stock_adjustment=5m`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows(pub RetryWindows);

impl FromStr for Windows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('=') {
            return Ok(Self(RetryWindows {
                every: Some(duration(text)?),
                by_kind: BTreeMap::new(),
            }));
        }
        let mut by_kind = BTreeMap::new();
        for part in text.split(',') {
            let (kind, window) =
                part.split_once('=').ok_or("must be one duration or KIND=DURATION, separated by commas")?;
            if by_kind.insert(kind.trim().to_owned(), duration(window)?).is_some() {
                return Err(format!("names the kind {} twice", kind.trim()));
            }
        }
        Ok(Self(RetryWindows { every: None, by_kind }))
    }
}

/// The origin at which the server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(url::Url);

impl PublicUrl {
    /// The URL.
    pub fn url(&self) -> &url::Url {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut url =
            url::Url::parse(text).map_err(|_| "must be a whole URL such as https://gate.example.com")?;
        let plain = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || !plain {
            return Err("must be http:// or https:// and a host, without a path".to_owned());
        }
        // With the dot of the root at its end it is the same name, which browsers, mail and certificates write without.
        if let Some(name) = url.domain().map(|name| name.trim_end_matches('.').to_owned()) {
            url.set_host(Some(&name))
                .map_err(|_| "must be http:// or https:// and a host, without a path")?;
        }
        Ok(Self(url))
    }
}

/// Networks of reverse proxies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// The networks.
    pub fn networks(&self) -> &[IpNet] {
        &self.0
    }
}

impl FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = |part: &str| {
            let part = part.trim();
            let network = part.parse::<IpNet>().ok().or_else(|| part.parse::<IpAddr>().ok().map(IpNet::from));
            network.ok_or("must be addresses or networks such as 10.0.0.0/8, separated by commas".to_owned())
        };
        text.split(',').map(network).collect::<Result<_, _>>().map(Self)
    }
}

/// What is logged, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStyle {
    pub level: tracing::Level,
    pub json: bool,
}

impl FromStr for LogStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut style = Self {
            level: tracing::Level::INFO,
            json: false,
        };
        for part in text.split(',') {
            match part.trim() {
                "json" => style.json = true,
                "error" | "warn" | "info" | "debug" | "trace" => {
                    style.level = part.trim().parse().map_err(|_| "must be a level")?;
                }
                _ => {
                    return Err(
                        "must be error, warn, info, debug or trace, and json, separated by commas".to_owned()
                    );
                }
            }
        }
        Ok(style)
    }
}

/// An address to listen on.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "must be an address and a port, such as 127.0.0.1:8080".to_owned())
}

/// The address of a server: an origin, as [`PublicUrl`], or what agents connect to there.
pub fn server(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    text.strip_suffix("/mcp")
        .unwrap_or(text)
        .parse::<PublicUrl>()
        .map(|url| url.0.to_string())
}

/// Whether something is wanted.
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

/// A text that can key the tokens.
pub(super) fn secret(text: &str) -> Result<String, String> {
    text.parse::<Secret>().map(|_| text.to_owned())
}

/// A number of pieces.
pub(super) fn pieces(text: &str) -> Result<i64, String> {
    let pieces = text.parse().ok().filter(|pieces| (1..=1_000_000_000).contains(pieces));
    pieces.ok_or_else(|| "must be a whole number from 1 to 1000000000".to_owned())
}

/// A token that a header can carry.
pub(super) fn token(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be ASCII letters, digits and signs without a space".to_owned());
    }
    Ok(text.to_owned())
}

/// A whole number with a unit; `0` needs none.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let unit = text.chars().last().filter(char::is_ascii_alphabetic);
    let seconds = match unit {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86400,
        _ => return Err("must be a whole number with s, m, h or d, such as 30m".to_owned()),
    };
    let number = text[..text.len() - 1]
        .parse::<u64>()
        .map_err(|_| "must be a whole number with s, m, h or d, such as 30m")?;
    let duration = number
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .filter(|duration| *duration <= LONGEST);
    duration.ok_or_else(|| "must be at most ten years".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for bad in [
            "",
            " ",
            "-1s",
            "1.5h",
            "30",
            "30w",
            "s",
            "1ms",
            "99999999999999999999s",
            "18446744073709551615d",
            "１s",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert!("0s".parse::<Lifetime>().is_err());
    }

    #[test]
    fn windows() {
        let Windows(windows) = "refund=24h,stock_adjustment=0".parse().unwrap();
        assert_eq!(windows.by_kind["refund"], Duration::from_secs(86400));
        assert_eq!(windows.by_kind["stock_adjustment"], Duration::ZERO);
        for bad in ["", "refund=", "refund=24h,", "refund=1h,refund=2h", "refund=-1h", "forever"] {
            assert!(bad.parse::<Windows>().is_err(), "{bad}");
        }
    }

    #[test]
    fn urls_and_networks() {
        assert_eq!(
            "https://gate.example.com".parse::<PublicUrl>().unwrap().url().as_str(),
            "https://gate.example.com/"
        );
        assert_eq!(
            "https://gate.example.com.:8443".parse::<PublicUrl>().unwrap().url().as_str(),
            "https://gate.example.com:8443/"
        );
        for bad in [
            "",
            "gate.example.com",
            "ftp://x",
            "https://x/path",
            "https://u@x/",
            "https://:p@x/",
            "https://.",
            "javascript:alert(1)",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
        assert_eq!("10.0.0.0/8, ::1".parse::<TrustedProxies>().unwrap().networks().len(), 2);
        for bad in ["", "10.0.0.0/33", "proxy"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
        assert_eq!(
            "debug,json".parse(),
            Ok(LogStyle {
                level: tracing::Level::DEBUG,
                json: true
            })
        );
        assert!("verbose".parse::<LogStyle>().is_err());
    }
}
