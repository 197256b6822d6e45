//! What somebody was told, through whichever door.

use serde_json::Value;

use crate::support::agent::Answer;
use crate::support::person::Reply;

#[derive(Debug)]
pub struct Told {
    pub is_error: bool,
    pub body: Value,
}

impl From<Answer> for Told {
    fn from(answer: Answer) -> Self {
        Self {
            is_error: answer.is_error,
            body: answer.body,
        }
    }
}

impl From<Reply> for Told {
    fn from(reply: Reply) -> Self {
        Self {
            is_error: !reply.status.is_success(),
            body: reply.body,
        }
    }
}
