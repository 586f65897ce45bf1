//! The tree of a turn: who did what, below whom, and how it stands.

use adjutant_l10n::page_talk;
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, figures};
use crate::markdown::plain;
use crate::views::{Details, Row, RowKind, Turn};

/// No tree is drawn deeper than this.
const DEEPEST: usize = 12;
/// A text with more bytes is folded, and data with fewer isn't.
const LONG: usize = 1_500;
const SHORT: usize = 200;

/// The rows that are shown, as nested lists.
pub(super) fn tree(turn: &Turn, is_opened: bool) -> Markup {
    html! {
        details.tree id={ "tree-" (turn.key) } open[is_opened] {
            summary {
                @if turn.figures.is_empty() { (page_talk::what_i_did()) }
                @else { span.hidden { (page_talk::what_i_did()) " " } (figures(&turn.figures)) }
            }
            ol { (rows(&turn.rows)) }
            (more(turn))
            p.ways { a href={ "/turn/" (turn.key) } { (page_talk::steps()) } }
        }
    }
}

/// The way to the rows that aren't shown.
pub(super) fn more(turn: &Turn) -> Markup {
    html! {
        @if turn.hidden > 0 {
            p { a href={ "/turn/" (turn.key) "?skip=" (turn.rows.len()) } { (page_talk::more_steps(turn.hidden)) } }
        }
    }
}

/// The mark of what has read something from outside.
pub(super) fn outside() -> Markup {
    html! { span.outside title=(page_talk::outside_text_hint()) { (page_talk::outside_text()) } }
}

/// The rows on one level, each with those below it.
pub(super) fn rows(all: &[Row]) -> Markup {
    let level = all.iter().map(|row| row.depth.min(DEEPEST)).min().unwrap_or(0);
    let mut groups: Vec<&[Row]> = Vec::new();
    let mut begins = 0;
    for at in 1..=all.len() {
        if at == all.len() || all[at].depth.min(DEEPEST) <= level {
            groups.push(&all[begins..at]);
            begins = at;
        }
    }
    html! {
        @for group in groups {
            @if let [first, below @ ..] = group { (row(first, below)) }
        }
    }
}

fn row(row: &Row, below: &[Row]) -> Markup {
    let class = match row.kind {
        RowKind::Orchestrator => "orchestrator",
        RowKind::Agent => "agent",
        RowKind::Skill => "skill",
    };
    let address = format!("/details/{}", row.execution);
    html! {
        li class=(class) {
            details id={ "x-" (row.execution) } open[!below.is_empty()] data-load=[below.is_empty().then_some(&address)] {
                summary {
                    (badge(row.badge)) " "
                    span.title { (plain(&row.title)) }
                    @if !row.about.is_empty() { " " span.about { (plain(&row.about)) } }
                    @if !row.needs.is_empty() { " " span.needs { (plain(&page_talk::after(row.needs.join(", ")))) } }
                    @if row.tainted { " " (outside()) }
                    " " (figures(&row.figures))
                }
                @if below.is_empty() {
                    p { a href=(address) { (page_talk::details()) } }
                } @else {
                    details id={ "d-" (row.execution) } data-load=(address) {
                        summary { (page_talk::details()) }
                        p { a href=(address) { (page_talk::open()) } }
                    }
                    ol { (rows(below)) }
                }
            }
        }
    }
}

/// Sentences are read as text. What only machines write, and what is long, is there on demand.
fn part(name: &str, text: &str) -> Markup {
    let is_data = text.starts_with(['{', '[']);
    html! {
        @if is_data || text.len() > LONG {
            details open[text.len() < SHORT] {
                summary { (plain(name)) }
                pre tabindex="0" { (plain(text)) }
            }
        } @else {
            section { h2 { (plain(name)) } p.verbatim { (plain(text)) } }
        }
    }
}

/// What was asked and answered, as a part of a page.
pub(crate) fn details(details: &Details) -> Markup {
    html! {
        div.body {
            @for (name, text) in &details.parts { (part(name, text)) }
            @if details.parts.is_empty() { p { (page_talk::nothing_stored()) } }
        }
    }
}

/// The same as a page.
pub(crate) fn details_page(frame: &Frame<'_>, it: &Details) -> String {
    frame.page(&html! {
        h1 { (plain(&it.title)) }
        p { a href={ "/turn/" (it.turn) } { (page_talk::back()) } }
        (details(it))
    })
}
