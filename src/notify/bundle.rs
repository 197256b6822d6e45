//! What is told in one message rather than in many.

use crate::{
    db::text_enum,
    store::{
        notices::Topic,
        preferences::{List, Timing},
    },
};

text_enum! {
    /// Notices of one bundle that are waiting for one person go in one message.
    pub enum Bundle {
        /// Requests, for who wants to hear of them at once.
        AtOnce = "at_once",
        /// Requests, for who wants to hear of them now and then.
        Digest = "digest",
        Reminders = "reminders",
        Expired = "expired",
        Outcomes = "outcomes",
        Undelivered = "undelivered",
        SignIns = "sign_ins",
        Passwords = "passwords",
    }
}

impl Bundle {
    /// The bundle of a topic, for who wants requests told by `timing`.
    pub fn of(topic: Topic, timing: Timing) -> Self {
        match topic {
            Topic::Requested if timing == Timing::AtOnce => Self::AtOnce,
            Topic::Requested => Self::Digest,
            Topic::Reminder => Self::Reminders,
            Topic::Expired => Self::Expired,
            Topic::Decided => Self::Outcomes,
            Topic::Undelivered => Self::Undelivered,
            Topic::SignedIn => Self::SignIns,
            Topic::PasswordChanged => Self::Passwords,
        }
    }

    /// Whether it waits for the end of quiet hours: all does but what guards the account itself.
    pub fn keeps_quiet(self) -> bool {
        !matches!(self, Self::SignIns | Self::Passwords)
    }

    /// The list that one leaves to get no more of these; none for what guards the account itself.
    pub fn list(self) -> Option<List> {
        match self {
            Self::AtOnce | Self::Digest | Self::Reminders | Self::Expired => Some(List::Requests),
            Self::Outcomes => Some(List::Outcomes),
            Self::Undelivered => Some(List::Deliveries),
            Self::SignIns | Self::Passwords => None,
        }
    }
}
