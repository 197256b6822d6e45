//! How often something may happen, as the settings write it: `120/min:60`.

use std::{num::NonZeroU32, str::FromStr, time::Duration};

use chrono::TimeDelta;
use governor::Quota;

use crate::workflow::WriteLimit;

/// Calls in a time, and how many may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    Off,
    Limit {
        calls: NonZeroU32,
        per: Duration,
        burst: NonZeroU32,
    },
}

impl Rate {
    /// The token bucket (GCRA) of this rate.
    pub fn quota(self) -> Option<Quota> {
        match self {
            Self::Off => None,
            Self::Limit { calls, per, burst } => {
                Quota::with_period(per / calls.get()).map(|quota| quota.allow_burst(burst))
            }
        }
    }

    /// The same bucket, as the database keeps it.
    pub fn write_limit(self) -> Option<WriteLimit> {
        match self {
            Self::Off => None,
            Self::Limit { calls, per, burst } => {
                let interval = TimeDelta::from_std(per / calls.get()).unwrap_or(TimeDelta::MAX);
                Some(WriteLimit {
                    interval,
                    burst: burst.get(),
                })
            }
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Limit { calls, per, burst } => write!(f, "{calls} in {} s, {burst} at once", per.as_secs()),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let form = "must be a rate and a burst such as 120/min:60, or off";
        let (rate, burst) = text.split_once(':').ok_or(form)?;
        let (calls, unit) = rate.split_once('/').ok_or(form)?;
        let per = match unit {
            "s" => Duration::from_secs(1),
            "min" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return Err("must count per s, min or h".to_owned()),
        };
        let count = |text: &str| {
            let count =
                text.parse::<u32>().ok().filter(|count| *count <= 1_000_000).and_then(NonZeroU32::new);
            count.ok_or("must have numbers from 1 to 1000000")
        };
        Ok(Self::Limit {
            calls: count(calls)?,
            per,
            burst: count(burst)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!("off".parse(), Ok(Rate::Off));
        let rate: Rate = "120/min:60".parse().unwrap();
        assert_eq!(rate.to_string(), "120 in 60 s, 60 at once");
        for bad in [
            "",
            "120",
            "120/min",
            "0/min:1",
            "1/min:0",
            "-1/s:1",
            "1/day:1",
            "9999999999/s:1",
            "OFF",
            "1/s:1:1",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }
}
