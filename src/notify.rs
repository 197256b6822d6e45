//! Telling people, once, without a message ever deciding anything.
//!
//! Whatever is to be told writes a notice, in its own transaction ([`crate::store::notices`]). Here notices become messages
//! in the outbox, as each person wishes ([`wishes`]), and workers deliver those. A crash between delivering and marking
//! delivers twice under one id, never not at all. The outbox knows of no channel: a channel is one file that implements
//! [`Channel`].

mod audience;
mod backoff;
mod bundle;
mod deliver;
pub mod email;
mod health;
mod leave;
mod letter;
mod plan;
mod timing;
pub mod wishes;
mod worker;
mod zone;

use std::{future::Future, pin::Pin, sync::Arc};

pub use bundle::Bundle;
pub use health::{Delivering, Delivery, LISTED};
pub use leave::{Leaving, PATH as LEAVE_PATH};
pub use letter::{Addressee, LeftOut, Letter, Told};
pub use worker::Workers;
pub use zone::names as time_zones;

use crate::{auth::Secret, workflow::Gate};

/// A way to reach people.
pub trait Channel: Send + Sync {
    /// As the outbox names it.
    fn name(&self) -> &'static str;

    /// Hands a letter to whoever delivers it. What was accepted is not called a failure.
    fn deliver<'a>(
        &'a self,
        letter: &'a Letter,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;
}

/// Why a letter was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The receiving side's words, or a sentence of our own that gives no cause away.
    pub words: String,
    /// Whether trying again would come to the same.
    pub lasting: bool,
}

impl Failure {
    /// One after which it is worth to try again.
    pub fn passing(words: String) -> Self {
        Self {
            words,
            lasting: false,
        }
    }
}

/// How a delivery ended, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Sent,
    /// It will be tried again.
    Failed,
    /// It was given up.
    Dead,
    /// There was nothing left to tell.
    Dropped,
}

impl Outcome {
    /// As a metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }
}

/// Called with the channel and the outcome of each delivery.
pub type Observe = Arc<dyn Fn(&str, Outcome) + Send + Sync>;

/// Tells people; cheap to clone.
#[derive(Clone)]
pub struct Notifier {
    gate: Gate,
    secret: Secret,
    channels: Arc<[Arc<dyn Channel>]>,
    observe: Observe,
}

impl Notifier {
    /// A notifier over these channels. Without one nobody is told anything, and nothing else changes.
    pub fn new(gate: Gate, secret: Secret, channels: Vec<Arc<dyn Channel>>, observe: Observe) -> Self {
        Self {
            gate,
            secret,
            channels: channels.into(),
            observe,
        }
    }

    /// Whether there is a way to reach people.
    pub fn is_on(&self) -> bool {
        !self.channels.is_empty()
    }
}
