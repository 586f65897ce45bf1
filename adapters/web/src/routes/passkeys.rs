//! Passkeys: adding and removing one's own, and signing in with one.

use adjutant_l10n::page_passkeys;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value as Json;

use super::{Answer, Form, Shared, SignedIn, Site, see};
use crate::passkeys::RelyingParty;
use crate::session::begin;

/// What a browser is asked for a new passkey.
pub(super) async fn creation(who: SignedIn) -> Answer {
    let known = who.site.backend.passkeys(&who.viewer).await?;
    let challenge = who.site.backend.challenge(&who.viewer.session).await?;
    Ok(options(&who.site, |page| page.creation(&who.viewer, &challenge, &known)))
}

/// What a browser is asked to sign in.
pub(super) async fn request(State(site): Shared) -> Answer {
    let challenge = site.backend.challenge("").await?;
    Ok(options(&site, |page| page.request(&challenge)))
}

fn options(site: &Site, options: impl FnOnce(&RelyingParty) -> Json) -> Response {
    match site.guard.relying_party.as_ref().map(options) {
        Some(options) => ([(CONTENT_TYPE, "application/json")], options.to_string()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(super) async fn change(headers: HeaderMap, Form(who, fields): Form) -> Answer {
    if let Some(key) = fields.get("remove") {
        who.site.backend.remove_passkey(&who.viewer, key).await?;
        return Ok(see("/sessions"));
    }
    let page = who.site.guard.relying_party.as_ref();
    if let Some(made) = page.and_then(|page| page.created(&who.viewer, &fields))
        && who.site.backend.add_passkey(&who.viewer, made, browser(&headers)).await?
    {
        return Ok(see("/sessions"));
    }
    who.site.backend.refused("passkey");
    Err((StatusCode::FORBIDDEN, page_passkeys::not_added()).into_response())
}

pub(super) async fn sign_in(State(site): Shared, headers: HeaderMap, body: Body) -> Answer {
    let fields = site.fields(body).await?;
    let passkey = site.backend.passkey(fields.get("id").unwrap_or_default()).await?;
    let page = site.guard.relying_party.as_ref();
    let signed = passkey.and_then(|passkey| Some((page?.signed(&passkey, &fields)?, passkey)));
    if let Some((signed, passkey)) = signed {
        // Nobody becomes somebody else without knowing.
        let before = site.signed_in(&headers).await.ok();
        if let Some(SignedIn { viewer, .. }) = before.filter(|one| one.viewer.person != passkey.person) {
            let text = page_passkeys::somebody_else(&viewer.name);
            return Err((StatusCode::CONFLICT, text).into_response());
        }
        if let Some(secret) = site.backend.begin(&passkey, signed, browser(&headers)).await? {
            return Ok(([(SET_COOKIE, begin(&secret, &site.guard))], see("/")).into_response());
        }
    }
    site.backend.refused("passkey");
    if site.is_guessing() {
        let wait = [(RETRY_AFTER, "60")];
        return Err((StatusCode::TOO_MANY_REQUESTS, wait, page_passkeys::too_many()).into_response());
    }
    Err((StatusCode::FORBIDDEN, page_passkeys::not_accepted()).into_response())
}

/// What the browser calls itself.
pub(super) fn browser(headers: &HeaderMap) -> &str {
    headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}
