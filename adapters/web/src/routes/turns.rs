//! A turn on a page of its own: its tree, or its time line.

use std::sync::Arc;

use adjutant_l10n::page_talk;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse, Response};

use super::reading::query;
use super::{Site, either, missing};
use crate::pages;

type Shared = State<Arc<Site>>;

/// How a turn is drawn.
#[derive(Debug, Clone, Copy)]
enum Way {
    Steps,
    Waterfall,
}

pub(super) async fn tree(
    State(site): Shared,
    Path(key): Path<String>,
    RawQuery(asked): RawQuery,
    headers: HeaderMap,
) -> Response {
    site.turn(&key, asked, &headers, Way::Steps).await
}

pub(super) async fn waterfall(
    State(site): Shared,
    Path(key): Path<String>,
    RawQuery(asked): RawQuery,
    headers: HeaderMap,
) -> Response {
    site.turn(&key, asked, &headers, Way::Waterfall).await
}

impl Site {
    async fn turn(&self, key: &str, asked: Option<String>, headers: &HeaderMap, way: Way) -> Response {
        either(
            async {
                let signed_in = self.signed_in(headers).await?;
                let asked = query(asked);
                let skip = asked.get("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0);
                let after = self.backend.latest().await?;
                let turn = self.backend.turn(&signed_in.viewer, key, skip).await?;
                let turn = turn.ok_or_else(|| missing(&signed_in))?;
                let (content, here) = match way {
                    Way::Steps => (pages::turn(&turn, &signed_in.token), ""),
                    Way::Waterfall => (pages::waterfall(&turn), "/waterfall"),
                };
                if asked.get("part").is_some() {
                    return Ok(Html(content.into_string()).into_response());
                }
                let mut frame = signed_in.frame(page_talk::one_request(), "/talk");
                frame.live = Some((after.to_string(), turn.person.clone()));
                Ok(Html(pages::turn_page(&frame, &turn, here, &content)).into_response())
            }
            .await,
        )
    }
}
