//! What every page works with.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload, error::ErrorInternalServerError, web::Data};

use crate::{auth::Auth, config::Config, notify::Notifier, workflow::Gate};

/// The application as the pages see it.
pub struct Site {
    pub gate: Data<Gate>,
    pub auth: Data<Auth>,
    pub config: Data<Config>,
    pub notifier: Data<Notifier>,
}

impl FromRequest for Site {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let site = || {
            Some(Self {
                gate: request.app_data::<Data<Gate>>()?.clone(),
                auth: request.app_data::<Data<Auth>>()?.clone(),
                config: request.app_data::<Data<Config>>()?.clone(),
                notifier: request.app_data::<Data<Notifier>>()?.clone(),
            })
        };
        ready(site().ok_or_else(|| ErrorInternalServerError("the application is not complete")))
    }
}
