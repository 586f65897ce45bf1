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

pub(super) async fn now(who: SignedIn) -> Answer {
    let after = who.site.backend.latest().await?;
    let now = who.site.backend.now(&who.viewer).await?;
    let frame = who.live_frame(page::now(), "/", after, true);
    Ok(Html(pages::now(&frame, &now)).into_response())
}

pub(super) async fn talk(RawQuery(asked): RawQuery, who: SignedIn) -> Answer {
    let asked = query(asked);
    let person = asked.get("person").unwrap_or(&who.viewer.person).to_owned();
    let before = asked.get("before").and_then(|before| before.parse().ok());
    let channel = asked.get("channel").unwrap_or_default();
    let after = who.site.backend.latest().await?;
    let timeline = who.site.backend.timeline(&who.viewer, &person, before, channel).await?;
    let timeline = timeline.ok_or_else(|| missing(&who))?;
    let mut frame = who.frame(page::conversation(), "/talk");
    frame.live = before.is_none().then(|| (after.to_string(), person));
    Ok(Html(pages::talk(&frame, &timeline, before.is_none())).into_response())
}

pub(super) async fn turn(Path(key): Path<String>, RawQuery(asked): RawQuery, who: SignedIn) -> Answer {
    let asked = query(asked);
    let skip = asked.get("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0);
    let after = who.site.backend.latest().await?;
    let turn = who.site.backend.turn(&who.viewer, &key, skip).await?.ok_or_else(|| missing(&who))?;
    if asked.get("part").is_some() {
        let part = pages::turn(&turn.at_most(PART_ROWS), &who.token);
        return Ok(Html(part.into_string()).into_response());
    }
    let mut frame = who.frame(page_talk::one_request(), "/talk");
    frame.live = Some((after.to_string(), turn.person.clone()));
    Ok(Html(pages::trace(&frame, &turn)).into_response())
}

pub(super) async fn details(Path(key): Path<String>, RawQuery(asked): RawQuery, who: SignedIn) -> Answer {
    let details = who.site.backend.details(&who.viewer, &key).await?.ok_or_else(|| missing(&who))?;
    Ok(match query(asked).get("part") {
        Some(_) => Html(pages::details(&details).into_string()).into_response(),
        None => {
            let frame = who.frame(page_talk::details(), "/talk");
            Html(pages::details_page(&frame, &details)).into_response()
        }
    })
}

pub(super) async fn people(who: SignedIn) -> Answer {
    if !who.viewer.is_owner {
        return Err(missing(&who));
    }
    let after = who.site.backend.latest().await?;
    let people = who.site.backend.people(&who.viewer).await?;
    let frame = who.live_frame(page::people(), "/people", after, true);
    Ok(Html(pages::people(&frame, &people)).into_response())
}

pub(super) async fn sessions(who: SignedIn) -> Answer {
    let sessions = who.site.backend.sessions(&who.viewer).await?;
    let passkeys = who.site.backend.passkeys(&who.viewer).await?;
    let frame = who.frame(page::account(), "/sessions");
    Ok(Html(pages::sessions(&frame, &sessions, &passkeys, who.site.guard.passkeys())).into_response())
}

/// The changes from `Last-Event-ID` or `after` on. An owner may follow somebody else.
pub(super) async fn events(RawQuery(asked): RawQuery, who: SignedIn, headers: HeaderMap) -> Answer {
    let asked = query(asked);
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    let after: Option<Cursor> = last.or_else(|| asked.get("after")).and_then(|at| at.parse().ok());
    let after = after.ok_or_else(|| {
        (StatusCode::BAD_REQUEST, "after must be the place of a change, such as 0-12\n").into_response()
    })?;
    let person = asked.get("person").unwrap_or(&who.viewer.person).to_owned();
    if person != who.viewer.person && !who.viewer.is_owner {
        return Err(missing(&who));
    }
    let session = who.viewer.session.clone();
    let wanted = Wanted { person, after, session, secret: who.secret };
    who.site.live.stream(wanted).ok_or_else(|| {
        who.site.backend.refused("streams");
        unavailable()
    })
}

pub(super) async fn nowhere(signed_in: SignedIn) -> Response {
    missing(&signed_in)
}
