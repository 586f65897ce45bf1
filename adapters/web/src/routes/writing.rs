//! Forms: what people do on the page.

use adjutant_l10n::{page, page_login, page_notify};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};

use super::passkeys::browser;
use super::uploads::uploads;
use super::{Answer, Form, Shared, SignedIn, answer, done, missing, not_a_text, see};
use crate::pages::{self, MAX_LENGTH};
use crate::session::{begin, end, is_once};
use crate::views::{NotifyOf, PushAddress};

pub(super) async fn sign_in(State(site): Shared, headers: HeaderMap, body: Body) -> Answer {
    let fields = site.fields(body).await?;
    // People copy more than the code.
    let code = fields.get("code").unwrap_or_default().trim();
    let code = code.rsplit_once('#').map_or(code, |(_, code)| code);
    let is_code = code.len() == 22 && code.chars().all(|one| one.is_ascii_alphanumeric());
    let next = next_page(fields.get("next"));
    let before = if is_code { site.signed_in(&headers).await.ok() } else { None };
    if is_code
        && let Some(signed_in) = &before
        && fields.get("token") != Some(signed_in.token.as_str())
        && let Some((person, name)) = site.backend.person_of_code(code).await?
        && person != signed_in.viewer.person
    {
        let frame = signed_in.frame(page::sign_in(), "");
        return Ok(Html(pages::another(&frame, &name, code, next)).into_response());
    }
    let secret = if is_code { site.backend.sign_in(code, browser(&headers)).await? } else { None };
    if let Some(secret) = secret {
        // This browser has one person: notifications for the one before would show up here.
        if let (Some(before), Some(viewer)) = (before, site.backend.viewer(&secret).await?)
            && before.viewer.person != viewer.person
        {
            site.backend.end_session(&before.viewer, &before.viewer.session).await?;
        }
        let cookie = begin(&secret, &site.guard);
        return Ok(([(SET_COOKIE, cookie)], see(next)).into_response());
    }
    site.backend.refused("code");
    if site.is_guessing() {
        let html = Html(pages::login(Some(&page_login::too_many_codes()), site.guard.passkeys()));
        return Err((StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "60")], html).into_response());
    }
    let html = Html(pages::login(Some(&page_login::unknown_code()), site.guard.passkeys()));
    Err((StatusCode::FORBIDDEN, html).into_response())
}

/// The page of ours that was asked for before signing in.
fn next_page(next: Option<&str>) -> &str {
    let is_ours = |next: &&str| {
        let is_plain = next.bytes().all(|one| one.is_ascii_graphic() && one != b'\\');
        is_plain && next.len() <= 500 && next.starts_with('/') && !next.starts_with("//")
    };
    next.filter(is_ours).unwrap_or("/")
}

pub(super) async fn sign_out(Form(who, _): Form) -> Answer {
    who.site.backend.end_session(&who.viewer, &who.viewer.session).await?;
    Ok(([(SET_COOKIE, end(&who.site.guard))], see("/login?out")).into_response())
}

pub(super) async fn end_session(Form(who, fields): Form) -> Answer {
    let session = fields.get("session").unwrap_or_default();
    match who.site.backend.end_session(&who.viewer, session).await? {
        true => Ok(see("/sessions")),
        false => Err(missing(&who)),
    }
}

pub(super) async fn say(Form(who, fields): Form) -> Answer {
    let text = fields.get("text").unwrap_or_default().trim().replace("\r\n", "\n");
    let once = fields.get("once").unwrap_or_default();
    let files = uploads(&fields);
    let spoken = fields.get("spoken").and_then(|spoken| spoken.split_once(':'));
    let spoken = spoken.and_then(|(key, seconds)| Some((key, seconds.parse().ok()?)));
    let is_empty = text.is_empty() && files.is_empty() && spoken.is_none();
    if is_empty || text.chars().count() > MAX_LENGTH || !is_once(once) {
        return Err(not_a_text(&who, MAX_LENGTH));
    }
    who.site.backend.say(&who.viewer, once, &text, &files, spoken).await?;
    Ok(see("/talk"))
}

pub(super) async fn press(Form(who, fields): Form) -> Answer {
    let refused = match fields.get("all") {
        Some(answer) => who.site.backend.press_all(&who.viewer, answer).await?,
        None => who.site.backend.press(&who.viewer, fields.get("button").unwrap_or_default()).await?,
    };
    Ok(done(&who, refused, "/talk", page::not_accepted))
}

pub(super) async fn repeat(Form(who, fields): Form) -> Answer {
    let is_done = who.site.backend.repeat(&who.viewer, fields.get("turn").unwrap_or_default()).await?;
    Ok(done(&who, (!is_done).then(page::cannot_ask_again), "/talk", page::not_asked_again))
}

pub(super) async fn stop(Form(who, fields): Form) -> Answer {
    let is_done = who.site.backend.stop(&who.viewer, fields.get("turn").unwrap_or_default()).await?;
    Ok(done(&who, (!is_done).then(page::cannot_stop), "/talk", page::not_stopped))
}

/// The key that the script subscribes with.
pub(super) async fn push_key(who: SignedIn) -> Answer {
    Ok(who.site.backend.push_key().await?.into_response())
}

pub(super) async fn notify(Form(who, fields): Form) -> Answer {
    let field = |name| fields.get(name).unwrap_or_default().to_owned();
    let what = NotifyOf::named(&field("of"));
    let at = PushAddress { endpoint: field("endpoint"), browser_key: field("p256dh"), auth: field("auth") };
    if who.site.backend.notify_of(&who.viewer, what, at).await? {
        Ok(see("/sessions"))
    } else {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Err(answer(&who, status, page::not_accepted(), &page_notify::not_reached()))
    }
}
