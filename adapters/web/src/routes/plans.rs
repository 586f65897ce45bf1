//! Plans, and answers in words.

use adjutant_l10n::page;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};

use super::workflows::{once_of, out_of_date};
use super::{Answer, Form, Shared, SignedIn, answer, not_a_text, see};
use crate::pages;

/// The longest answer in words, in characters.
const MAX_LENGTH: usize = 4_000;

pub(super) async fn all(State(site): Shared, signed_in: SignedIn) -> Answer {
    let after = site.backend.latest().await?;
    let all = site.backend.plans(&signed_in.viewer).await?;
    let frame = signed_in.live_frame(page::plans(), "/plans", after, true);
    Ok(Html(pages::plans(&frame, &all, None)).into_response())
}

pub(super) async fn begin(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&signed_in))?;
    let goal = fields.get("goal").unwrap_or_default().replace("\r\n", "\n");
    let Some(problem) = site.backend.begin_plan(&signed_in.viewer, &once, &goal).await? else {
        return Ok(see(&format!("/plans/{once}")));
    };
    let all = site.backend.plans(&signed_in.viewer).await?;
    let html = pages::plans(&signed_in.frame(page::plans(), "/plans"), &all, Some((goal.as_str(), &problem)));
    Err((StatusCode::UNPROCESSABLE_ENTITY, Html(html)).into_response())
}

/// What was typed into the field of a question.
pub(super) async fn words(State(site): Shared, Form(signed_in, fields): Form) -> Answer {
    let once = once_of(&fields).ok_or_else(|| out_of_date(&signed_in))?;
    let words = fields.get("words").unwrap_or_default().trim().replace("\r\n", "\n");
    let question = fields.get("question").unwrap_or_default();
    if words.is_empty() || words.chars().count() > MAX_LENGTH {
        return Err(not_a_text(&signed_in, MAX_LENGTH));
    }
    match site.backend.answer(&signed_in.viewer, &once, question, &words).await? {
        None => Ok(see("/talk")),
        Some(why) => Err(answer(&signed_in, StatusCode::CONFLICT, page::not_accepted(), &why)),
    }
}
