//! A turn: on a page of its own, and as a part of a conversation.

use adjutant_l10n::page_talk;
use axum::extract::{Path, RawQuery, State};
use axum::response::{Html, IntoResponse};

use super::reading::query;
use super::{Answer, Shared, SignedIn, missing};
use crate::pages;

/// How many rows a turn has as a part of another page.
const PART_ROWS: usize = 180;

pub(super) async fn turn(
    State(site): Shared,
    Path(key): Path<String>,
    RawQuery(asked): RawQuery,
    signed_in: SignedIn,
) -> Answer {
    let asked = query(asked);
    let skip = asked.get("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0);
    let after = site.backend.latest().await?;
    let turn = site.backend.turn(&signed_in.viewer, &key, skip).await?;
    let turn = turn.ok_or_else(|| missing(&signed_in))?;
    if asked.get("part").is_some() {
        let part = pages::turn(&turn.at_most(PART_ROWS), &signed_in.token);
        return Ok(Html(part.into_string()).into_response());
    }
    let mut frame = signed_in.frame(page_talk::one_request(), "/talk");
    frame.live = Some((after.to_string(), turn.person.clone()));
    Ok(Html(pages::trace(&frame, &turn)).into_response())
}
