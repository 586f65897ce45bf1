//! The search over everything that a person has and said, and a note.

use adjutant_chat::sanitized;
use adjutant_l10n::{page, page_search as words, page_tables};
use maud::{Markup, html};

use super::Frame;
use super::layout::{moment, token};
use super::now::count;
use crate::markdown::plain;
use crate::views::{Hit, Hits, Note};

pub(crate) const MAX_QUERY: usize = 200;

pub(crate) fn search(frame: &Frame<'_>, query: &str, found: &[Hits]) -> String {
    frame.page(&html! {
        h1.small { (words::title()) }
        search {
            form.row.fields action="/search" {
                label {
                    span.hidden { (words::what()) }
                    input type="search" name="q" required maxlength=(MAX_QUERY) placeholder=(words::what())
                        value=(sanitized(query));
                }
                button type="submit" { (words::find()) }
            }
        }
        @if !query.is_empty() && found.is_empty() { p.empty { (plain(&words::nothing(query))) } }
        @for group in found {
            section {
                h2 { (group.title) (count(group.hits.len())) }
                ul.plain { @for one in &group.hits { (hit(one)) } }
            }
        }
    })
}

fn hit(one: &Hit) -> Markup {
    html! {
        li {
            a href=(sanitized(&one.to)) { (plain(&one.text)) }
            @if let Some(at) = &one.at { " " (moment(at)) }
            @if !one.about.is_empty() { div.about { (plain(&one.about)) } }
        }
    }
}

/// A note, which can be changed.
pub(crate) fn note(frame: &Frame<'_>, note: &Note) -> String {
    frame.page(&html! {
        p { a href="/things" { (page::yours()) } }
        h1.small #title { (plain(&note.path)) }
        form.fields method="post" action="/note" {
            (token(frame.token))
            input type="hidden" name="path" value=(sanitized(&note.path));
            input type="hidden" name="version" value=(sanitized(&note.version));
            p.field { textarea name="text" rows="12" aria-labelledby="title" { "\n" (plain(&note.text)) } }
            button type="submit" { (page_tables::save()) }
        }
    })
}
