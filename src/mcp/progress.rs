//! Progress notifications: while a call waits for a decision, a client that asked for them is told so.

use std::{future::Future, time::Duration};

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};

/// How long a call waits before the first notification, and from one to the next.
const EVERY: Duration = Duration::from_secs(5);

/// Where notifications about one request go; nowhere, if the client gave no token.
pub struct Progress(Option<(Peer<RoleServer>, ProgressToken)>);

impl Progress {
    /// Of a request.
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        Self(context.meta.get_progress_token().map(|token| (context.peer.clone(), token)))
    }

    /// Answers as `call` does, and notifies until then. `progress` counts the seconds; how many there will be is not known.
    pub async fn during<T>(self, call: impl Future<Output = T>) -> T {
        let Some((peer, token)) = self.0 else { return call.await };
        tokio::pin!(call);
        let mut seconds = 0.0;
        loop {
            tokio::select! {
                answer = &mut call => return answer,
                () = tokio::time::sleep(EVERY) => {}
            }
            seconds += EVERY.as_secs_f64();
            let told = ProgressNotificationParam::new(token.clone(), seconds)
                .with_message("Waiting for a person to decide.");
            if peer.notify_progress(told).await.is_err() {
                return call.await;
            }
        }
    }
}
