//! Tables and usage.

use std::sync::Arc;

use adjutant_l10n::{page, page_talk};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};

use super::{Answer, Site, answer, missing, saved_as, see};
use crate::pages;
use crate::views::PageAction;

type Shared = State<Arc<Site>>;

pub(super) async fn things(State(site): Shared, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let after = site.backend.latest().await?;
    let tables = site.backend.things(&signed_in.viewer).await?;
    let frame = signed_in.live_frame(page::yours(), "/things", after, false);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn system(State(site): Shared, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let after = site.backend.latest().await?;
    let tables = site.backend.system(&signed_in.viewer).await?;
    let tables = tables.ok_or_else(|| missing(&signed_in))?;
    let frame = signed_in.live_frame(page::system(), "/system", after, true);
    Ok(Html(pages::tables(&frame, &tables)).into_response())
}

pub(super) async fn log(State(site): Shared, Path(turn): Path<String>, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let lines = site.backend.log(&signed_in.viewer, &turn).await?;
    let lines = lines.ok_or_else(|| missing(&signed_in))?;
    Ok(Html(pages::log(&signed_in.frame(page_talk::log(), "/system"), &turn, &lines)).into_response())
}

pub(super) async fn usage(State(site): Shared, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let usage = site.backend.usage(&signed_in.viewer).await?;
    Ok(Html(pages::usage(&signed_in.frame(page::usage(), "/usage"), &usage)).into_response())
}

pub(super) async fn csv(State(site): Shared, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let usage = site.backend.usage(&signed_in.viewer).await?;
    let kind = (CONTENT_TYPE, "text/csv; charset=utf-8");
    let name = (CONTENT_DISPOSITION, "attachment; filename=\"adjutant-usage.csv\"");
    Ok(([kind, name], pages::csv(&usage)).into_response())
}

/// A file that the viewer sent. It is saved, and never shown, whatever is in it.
pub(super) async fn sent(State(site): Shared, Path(file): Path<String>, headers: HeaderMap) -> Answer {
    let signed_in = site.signed_in(&headers).await?;
    let found = site.backend.sent(&signed_in.viewer, &file).await?;
    let (name, content) = found.ok_or_else(|| missing(&signed_in))?;
    let kind = (CONTENT_TYPE, "application/octet-stream".to_owned());
    Ok(([kind, (CONTENT_DISPOSITION, saved_as(&name))], content).into_response())
}

pub(super) async fn act(State(site): Shared, headers: HeaderMap, body: Body) -> Answer {
    let (signed_in, fields) = site.form(&headers, body).await?;
    let name = fields.get("act").unwrap_or_default();
    let act = PageAction::ALL.into_iter().find(|act| act.name() == name);
    let act = act.ok_or_else(|| missing(&signed_in))?;
    match site.backend.act(&signed_in.viewer, act, fields.get("key").unwrap_or_default()).await? {
        true => {
            let back = ["/system", "/plans"].into_iter().find(|back| fields.get("back") == Some(back));
            Ok(see(back.unwrap_or("/things")))
        }
        false => {
            let text = page::row_has_changed();
            Err(answer(&signed_in, StatusCode::CONFLICT, page::not_done(), &text))
        }
    }
}
