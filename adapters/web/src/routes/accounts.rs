//! The person's accounts: connected, renamed, chosen, disconnected.

use std::sync::Arc;

use adjutant_l10n::{page, page_accounts};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};

use super::{Answer, Site, answer, missing, see};
use crate::pages;
use crate::views::AccountChange;

type Shared = State<Arc<Site>>;

pub(super) async fn all(State(site): Shared, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let accounts = site.backend.accounts(&signed_in.viewer).await?;
    let frame = signed_in.frame(page_accounts::title(), "/accounts");
    Ok(Html(pages::accounts(&frame, &accounts)).into_response())
}

pub(super) async fn change(State(site): Shared, headers: HeaderMap, body: Body) -> Answer {
    let (signed_in, fields) = site.form(&headers, body).await?;
    let text = fields.get("text").unwrap_or_default();
    let change = match fields.get("change").unwrap_or_default() {
        "rename" => AccountChange::Rename(text.trim().to_owned()),
        "mail" => AccountChange::MailDefault,
        "events" => AccountChange::EventsDefault,
        "busy" => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            AccountChange::Busy(names.map(str::to_owned).collect())
        }
        _ => return Err(missing(&signed_in)),
    };
    let key = fields.get("key").unwrap_or_default();
    match site.backend.change_account(&signed_in.viewer, key, change).await? {
        None => Ok(see("/accounts")),
        Some(why) => Err(answer(&signed_in, StatusCode::CONFLICT, page::not_accepted(), &why)),
    }
}
