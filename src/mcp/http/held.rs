//! Noticing that a client has gone: when the server drops a request or its body, a token is cancelled.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};
use tokio_util::sync::DropGuard;

/// A body that holds the guard of its request until it has been sent, or nobody wants it any more.
pub struct Held {
    body: BoxBody,
    _gone: DropGuard,
}

impl Held {
    /// A body whose end, or whose loss, cancels the guard's token.
    pub fn new(body: BoxBody, gone: DropGuard) -> Self {
        Self { body, _gone: gone }
    }
}

impl MessageBody for Held {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
