//! The links of logins at providers, and the way back. Nobody has to be signed in there: a link's nonce says whose login it
//! is, and a cookie says which browser opened it.

use adjutant_l10n::connect;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};

use super::{Answer, Shared, Site};
use crate::pages;
use crate::session::{bind_login, login_secret, secret};
use crate::views::LoginStep;

/// The page of a link. It changes nothing, because chat platforms fetch links to preview them.
pub(super) async fn offered(State(site): Shared, Path(nonce): Path<String>) -> Answer {
    show(&site, &nonce, None).await
}

/// Goes on with a login in this browser.
pub(super) async fn open(
    State(site): Shared,
    Path(nonce): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let fields = site.fields(body).await?;
    let session = secret(&headers, &site.guard);
    let step = match fields.get("password") {
        Some(password) => {
            let address = fields.get("address").unwrap_or_default();
            site.backend.add_password(&nonce, (address, password), session).await?
        }
        None => site.backend.open_login(&nonce, session).await?,
    };
    match step {
        LoginStep::Onward { to, browser_secret } => {
            let cookie = bind_login(&browser_secret, &site.guard);
            Ok(([(SET_COOKIE, cookie)], Html(pages::onward(&to))).into_response())
        }
        LoginStep::Again(why) => show(&site, &nonce, Some(&why)).await,
        LoginStep::Ended(text) => Ok(Html(pages::connect_ended(&text)).into_response()),
    }
}

/// The browser comes back from a provider.
pub(super) async fn back(State(site): Shared, RawQuery(query): RawQuery, headers: HeaderMap) -> Answer {
    let browser = login_secret(&headers, &site.guard).unwrap_or_default();
    let text = site.backend.finish_login(&query.unwrap_or_default(), browser).await?;
    Ok(Html(pages::connect_ended(&text)).into_response())
}

async fn show(site: &Site, nonce: &str, error: Option<&str>) -> Answer {
    match site.backend.login_offer(nonce).await? {
        Some(offer) => {
            let status = error.map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
            Ok((status, Html(pages::connect(nonce, &offer, error))).into_response())
        }
        None => {
            site.backend.refused("login");
            Err((StatusCode::NOT_FOUND, Html(pages::connect_ended(&connect::page_gone()))).into_response())
        }
    }
}
