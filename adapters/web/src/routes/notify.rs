//! Notifications of a browser by its push service.

use adjutant_l10n::{page, page_notify};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::{Answer, Form, Shared, SignedIn, answer, see};
use crate::views::{NotifyOf, PushAddress};

/// The key that the script subscribes with.
pub(super) async fn key(State(site): Shared, _: SignedIn) -> Answer {
    Ok(site.backend.push_key().await?.into_response())
}

pub(super) async fn change(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let field = |name| fields.get(name).unwrap_or_default().to_owned();
    let what = NotifyOf::named(&field("of"));
    let at = PushAddress { endpoint: field("endpoint"), browser_key: field("p256dh"), auth: field("auth") };
    if site.backend.notify_of(&signed_in.viewer, what, at).await? {
        Ok(see("/sessions"))
    } else {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Err(answer(&signed_in, status, page::not_accepted(), &page_notify::not_reached()))
    }
}
