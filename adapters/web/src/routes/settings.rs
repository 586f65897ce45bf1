//! The settings, for owners.

use adjutant_chat::Finding;
use adjutant_l10n::page;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};

use super::{Answer, Form, SignedIn, missing, see};
use crate::pages;
use crate::views::{SettingsEdit, SettingsOutcome};

pub(super) async fn all(who: SignedIn) -> Answer {
    show(&who, StatusCode::OK, (&SettingsEdit::default(), &[], &[])).await
}

pub(super) async fn change(Form(who, fields): Form) -> Answer {
    if !who.viewer.is_owner {
        return Err(missing(&who));
    }
    let typed = fields.all().filter_map(|(name, text)| Some((name.strip_prefix("set.")?, text)));
    let edit = SettingsEdit {
        digest: fields.get("digest").unwrap_or_default().to_owned(),
        typed: typed.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        is_undo: fields.get("undo").is_some(),
        is_confirmed: fields.get("write").is_some(),
    };
    if let Some(part) = fields.get("test") {
        let findings = who.site.settings.test(part).await?.ok_or_else(|| missing(&who))?;
        return show(&who, StatusCode::OK, (&edit, &[], &findings)).await;
    }
    if fields.get("restart").is_some() {
        who.site.settings.restart(&who.viewer);
        return Ok(see("/"));
    }
    match who.site.settings.change(&who.viewer, &edit).await? {
        SettingsOutcome::Written => Ok(see("/settings")),
        SettingsOutcome::Preview(preview) => {
            let frame = who.frame(page::settings(), "/settings");
            Ok(Html(pages::settings_change(&frame, &edit, &preview)).into_response())
        }
        SettingsOutcome::Refused(why) => show(&who, StatusCode::CONFLICT, (&edit, &why, &[])).await,
    }
}

/// The form with what was typed, why that wasn't accepted, and what a test has found.
async fn show(
    who: &SignedIn,
    status: StatusCode,
    (edit, refused, found): (&SettingsEdit, &[String], &[Finding]),
) -> Answer {
    if !who.viewer.is_owner {
        return Err(missing(who));
    }
    let page = who.site.settings.settings(&who.viewer).await?;
    let frame = who.frame(page::settings(), "/settings");
    Ok((status, Html(pages::settings(&frame, &page, &edit.typed, (refused, found)))).into_response())
}
