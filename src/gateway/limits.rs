//! Token buckets per agent (GCRA), in this process's memory: reads, and a loose one for all requests, which bounds joins
//! and replays. The budget of new writes is shared by all processes; see [`crate::workflow::WriteLimit`].

use governor::{
    DefaultKeyedRateLimiter, RateLimiter,
    clock::{Clock, DefaultClock},
};

use super::Rate;
use crate::error::{Code, Denial};

/// How much looser the bucket for repeated requests is than the one for new ones.
const FLOOD_FACTOR: u32 = 10;

/// The buckets of every agent.
pub struct AgentLimits {
    reads: Option<DefaultKeyedRateLimiter<String>>,
    flood: Option<DefaultKeyedRateLimiter<String>>,
}

impl AgentLimits {
    /// Buckets of these rates.
    pub fn new(reads: Rate, writes: Rate) -> Self {
        let looser = match writes {
            Rate::Off => Rate::Off,
            Rate::Limit { calls, per, burst } => Rate::Limit {
                calls: calls.saturating_mul(FLOOD_FACTOR.try_into().expect("not zero")),
                per,
                burst: burst.saturating_mul(FLOOD_FACTOR.try_into().expect("not zero")),
            },
        };
        let limiter = |rate: Rate| rate.quota().map(RateLimiter::keyed);
        Self {
            reads: limiter(reads),
            flood: limiter(looser),
        }
    }

    /// Takes a token for a read.
    pub(super) fn read(&self, agent_id: &str) -> Result<(), Denial> {
        take(self.reads.as_ref(), agent_id).map_err(too_many_calls)
    }

    /// Takes a token for a request of any disposition.
    pub(super) fn flood(&self, agent_id: &str) -> Result<(), Denial> {
        take(self.flood.as_ref(), agent_id).map_err(too_many_calls)
    }
}

fn take(limiter: Option<&DefaultKeyedRateLimiter<String>>, agent_id: &str) -> Result<(), u64> {
    let Some(limiter) = limiter else { return Ok(()) };
    limiter
        .check_key(&agent_id.to_owned())
        .map_err(|refused| refused.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
}

fn too_many_calls(seconds: u64) -> Denial {
    Denial {
        retry_after_seconds: Some(seconds),
        ..Denial::new(
            Code::RateLimited,
            format!("Too many calls from this agent. Send the same call again in {seconds} s."),
        )
    }
}
