//! The settings, for owners.

use adjutant_chat::Finding;
use adjutant_l10n::page;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};

use super::{Answer, Form, Shared, SignedIn, Site, missing, see};
use crate::pages;
use crate::views::{SettingsEdit, SettingsOutcome};

pub(super) async fn all(State(site): Shared, signed_in: SignedIn) -> Answer {
    show(&site, &signed_in, StatusCode::OK, (&SettingsEdit::default(), &[], &[])).await
}

pub(super) async fn change(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    if !signed_in.viewer.is_owner {
        return Err(missing(&signed_in));
    }
    let typed = fields.all().filter_map(|(name, text)| Some((name.strip_prefix("set.")?, text)));
    let edit = SettingsEdit {
        digest: fields.get("digest").unwrap_or_default().to_owned(),
        typed: typed.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        is_undo: fields.get("undo").is_some(),
        is_confirmed: fields.get("write").is_some(),
    };
    if let Some(part) = fields.get("test") {
        let findings = site.settings.test(part).await?.ok_or_else(|| missing(&signed_in))?;
        return show(&site, &signed_in, StatusCode::OK, (&edit, &[], &findings)).await;
    }
    if fields.get("restart").is_some() {
        site.settings.restart(&signed_in.viewer);
        return Ok(see("/"));
    }
    match site.settings.change(&signed_in.viewer, &edit).await? {
        SettingsOutcome::Written => Ok(see("/settings")),
        SettingsOutcome::Preview(preview) => {
            let frame = signed_in.frame(page::settings(), "/settings");
            Ok(Html(pages::settings_change(&frame, &edit, &preview)).into_response())
        }
        SettingsOutcome::Refused(why) => {
            show(&site, &signed_in, StatusCode::CONFLICT, (&edit, &why, &[])).await
        }
    }
}

/// The form with what was typed, why that wasn't accepted, and what a test has found.
async fn show(
    site: &Site,
    signed_in: &SignedIn,
    status: StatusCode,
    (edit, refused, found): (&SettingsEdit, &[String], &[Finding]),
) -> Answer {
    if !signed_in.viewer.is_owner {
        return Err(missing(signed_in));
    }
    let page = site.settings.settings(&signed_in.viewer).await?;
    let frame = signed_in.frame(page::settings(), "/settings");
    Ok((status, Html(pages::settings(&frame, &page, &edit.typed, (refused, found)))).into_response())
}
