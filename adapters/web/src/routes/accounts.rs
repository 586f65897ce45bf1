//! The person's accounts: connected, renamed, chosen, disconnected.

use adjutant_l10n::{page, page_accounts};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};

use super::{Answer, Form, Shared, SignedIn, answer, missing, see};
use crate::pages;
use crate::views::AccountChange;

pub(super) async fn all(State(site): Shared, signed_in: SignedIn) -> Answer {
    let accounts = site.backend.accounts(&signed_in.viewer).await?;
    let frame = signed_in.frame(page_accounts::title(), "/accounts");
    Ok(Html(pages::accounts(&frame, &accounts)).into_response())
}

pub(super) async fn change(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
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
