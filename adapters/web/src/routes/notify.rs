//! Notifications of a browser by its push service.

use std::sync::Arc;

use adjutant_l10n::{page, page_notify};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;

use super::{Answer, Site, answer, see};
use crate::views::{NotifyOf, PushAddress};

type Shared = State<Arc<Site>>;

/// The key that the script subscribes with.
pub(super) async fn key(State(site): Shared, headers: HeaderMap) -> Answer {
    site.signed_in(&headers).await?;
    Ok(site.backend.push_key().await?.into_response())
}

pub(super) async fn change(State(site): Shared, headers: HeaderMap, body: Body) -> Answer {
    let (signed_in, fields) = site.form(&headers, body).await?;
    let field = |name| fields.get(name).unwrap_or_default().to_owned();
    let what = NotifyOf::named(&field("of"));
    let at = PushAddress { endpoint: field("endpoint"), browser_key: field("p256dh"), auth: field("auth") };
    match site.backend.notify_of(&signed_in.viewer, what, at).await? {
        true => Ok(see("/sessions")),
        false => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Err(answer(&signed_in, status, page::not_accepted(), &page_notify::not_reached()))
        }
    }
}
