//! Pages and parts of them.

use adjutant_l10n::{page, page_login, page_talk};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use super::{Answer, Shared, SignedIn, missing, unavailable};
use crate::events::Wanted;
use crate::session::Fields;
use crate::{Cursor, Unavailable, pages};

/// How many rows a turn has as a part of another page.
const PART_ROWS: usize = 180;

impl From<Unavailable> for Response {
    fn from(_: Unavailable) -> Self {
        unavailable()
    }
}

pub(super) fn query(query: Option<String>) -> Fields {
    Fields::of(query.unwrap_or_default().as_bytes())
}

pub(super) async fn login_form(State(site): Shared, RawQuery(asked): RawQuery) -> Html<String> {
    let left = (asked.as_deref() == Some("out")).then(page_login::you_left);
    Html(pages::login(left.as_deref(), site.guard.passkeys()))
}

pub(super) async fn now(State(site): Shared, signed_in: SignedIn) -> Answer {
    let after = site.backend.latest().await?;
    let now = site.backend.now(&signed_in.viewer).await?;
    let frame = signed_in.live_frame(page::now(), "/", after, true);
    Ok(Html(pages::now(&frame, &now)).into_response())
}

pub(super) async fn talk(State(site): Shared, RawQuery(asked): RawQuery, signed_in: SignedIn) -> Answer {
    let asked = query(asked);
    let person = asked.get("person").unwrap_or(&signed_in.viewer.person).to_owned();
    let before = asked.get("before").and_then(|before| before.parse().ok());
    let channel = asked.get("channel").unwrap_or_default();
    let after = site.backend.latest().await?;
    let timeline = site.backend.timeline(&signed_in.viewer, &person, before, channel).await?;
    let timeline = timeline.ok_or_else(|| missing(&signed_in))?;
    let mut frame = signed_in.frame(page::conversation(), "/talk");
    frame.live = before.is_none().then(|| (after.to_string(), person));
    Ok(Html(pages::talk(&frame, &timeline, before.is_none())).into_response())
}

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

pub(super) async fn details(
    State(site): Shared,
    Path(key): Path<String>,
    RawQuery(asked): RawQuery,
    signed_in: SignedIn,
) -> Answer {
    let details = site.backend.details(&signed_in.viewer, &key).await?;
    let details = details.ok_or_else(|| missing(&signed_in))?;
    Ok(match query(asked).get("part") {
        Some(_) => Html(pages::details(&details).into_string()).into_response(),
        None => {
            let frame = signed_in.frame(page_talk::details(), "/talk");
            Html(pages::details_page(&frame, &details)).into_response()
        }
    })
}

pub(super) async fn people(State(site): Shared, signed_in: SignedIn) -> Answer {
    if !signed_in.viewer.is_owner {
        return Err(missing(&signed_in));
    }
    let after = site.backend.latest().await?;
    let people = site.backend.people(&signed_in.viewer).await?;
    let frame = signed_in.live_frame(page::people(), "/people", after, true);
    Ok(Html(pages::people(&frame, &people)).into_response())
}

pub(super) async fn sessions(State(site): Shared, signed_in: SignedIn) -> Answer {
    let sessions = site.backend.sessions(&signed_in.viewer).await?;
    let passkeys = site.backend.passkeys(&signed_in.viewer).await?;
    let frame = signed_in.frame(page::account(), "/sessions");
    Ok(Html(pages::sessions(&frame, &sessions, &passkeys, site.guard.passkeys())).into_response())
}

/// The changes from `Last-Event-ID` or `after` on. An owner may follow somebody else.
pub(super) async fn events(
    State(site): Shared,
    RawQuery(asked): RawQuery,
    signed_in: SignedIn,
    headers: HeaderMap,
) -> Answer {
    let asked = query(asked);
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    let after: Option<Cursor> = last.or_else(|| asked.get("after")).and_then(|at| at.parse().ok());
    let after = after.ok_or_else(|| {
        (StatusCode::BAD_REQUEST, "after must be the place of a change, such as 0-12\n").into_response()
    })?;
    let person = asked.get("person").unwrap_or(&signed_in.viewer.person).to_owned();
    if person != signed_in.viewer.person && !signed_in.viewer.is_owner {
        return Err(missing(&signed_in));
    }
    let session = signed_in.viewer.session.clone();
    let wanted = Wanted { person, after, session, secret: signed_in.secret };
    site.live.stream(wanted).ok_or_else(|| {
        site.backend.refused("streams");
        unavailable()
    })
}

pub(super) async fn nowhere(signed_in: SignedIn) -> Response {
    missing(&signed_in)
}
