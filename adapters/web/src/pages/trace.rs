//! The steps of a request in a list, and beside it the request itself or the step that was chosen.

use adjutant_l10n::page_talk;
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, figures};
use super::talk::turn;
use super::tree::{more, outside};
use crate::markdown::plain;
use crate::views::{Bar, Row, RowKind, Turn};

/// The width of a bar's drawing, in its own units.
const WIDTH: i64 = 1_000;
/// The least width of a bar, so that it is seen.
const LEAST: i64 = 4;
/// No step is moved further to the right than those at this depth.
const DEEPEST: usize = 5;

/// A request in two panes. Without the script, or where there is no room, a step is a page of its own.
pub(crate) fn trace(frame: &Frame<'_>, it: &Turn) -> String {
    let request = Turn { rows: Vec::new(), ..it.clone() };
    frame.page(&html! {
        h1.small { (page_talk::one_request()) }
        @if frame.viewer.is_some_and(|viewer| viewer.is_owner) {
            p.ways { a href={ "/log/" (it.key) } { (page_talk::log()) } }
        }
        div.panes #live data-whole="yes" {
            div {
                p { (badge(it.badge)) " " (figures(&it.figures)) }
                @if it.rows.is_empty() { p.empty { (page_talk::nothing_ran()) } } @else { (filter()) (steps(it)) }
                (more(it))
            }
            section #step aria-label=(page_talk::details()) tabindex="0" {
                div #request { (turn(&request, frame.token)) }
                div #detail data-ours="" aria-live="polite" hidden {}
            }
        }
    })
}

fn steps(it: &Turn) -> Markup {
    let about = it.asked.first().map(|said| said.text.as_str()).unwrap_or_default();
    let ends = it.rows.iter().filter_map(|row| row.bar.as_ref()).map(|bar| bar.to);
    let whole = ends.chain([it.lasted, 1]).max().unwrap_or(1);
    html! {
        ol.trace #steps {
            li {
                a href={ "/turn/" (it.key) } {
                    span.badge aria-hidden="true" { span { "◇" } }
                    span { span.title { (page_talk::request()) } span.about { (plain(about)) } }
                }
            }
            @for row in &it.rows { (step(row, whole)) }
        }
    }
}

fn filter() -> Markup {
    let kinds = [
        ("", page_talk::all_steps()),
        ("failed", page_talk::failed_steps()),
        ("running", page_talk::running_steps()),
        ("slow", page_talk::slow_steps()),
        ("expensive", page_talk::expensive_steps()),
    ];
    html! {
        div.filter #filter data-ours="" role="group" aria-label=(page_talk::find_step()) {
            input type="search" aria-label=(page_talk::find_step()) placeholder=(page_talk::find_step());
            @for (value, name) in kinds {
                button type="button" value=(value) aria-pressed=(if value.is_empty() { "true" } else { "false" }) { (name) }
            }
        }
    }
}

fn step(row: &Row, whole: i64) -> Markup {
    let class = if row.kind == RowKind::Skill { "skill" } else { "agent" };
    let lasted = row.bar.as_ref().map_or(0, |bar| bar.to - bar.from);
    html! {
        li id={ "s-" (row.execution) } class={ (class) " d" (row.depth.min(DEEPEST)) } data-state=(row.badge.look().2)
            data-ms=(lasted) data-micros=(row.micros) {
            a href={ "/details/" (row.execution) } {
                (badge(row.badge))
                span {
                    span.title { (plain(&row.title)) }
                    @if row.tainted { " " (outside()) }
                    @if !row.about.is_empty() { span.about { (plain(&row.about)) } }
                    @if !row.needs.is_empty() { span.about { (plain(&page_talk::after(row.needs.join(", ")))) } }
                }
                span.figures { @for one in &row.figures { (plain(one)) br; } }
                @if let Some(bar) = &row.bar { (drawn(bar, whole, row.badge.look().2)) }
            }
        }
    }
}

/// A light bar while it was open, dark while its models were at work.
fn drawn(bar: &Bar, whole: i64, class: &str) -> Markup {
    let place = |from: i64, to: i64| {
        let x = (from * WIDTH / whole).clamp(0, WIDTH - LEAST);
        (x, ((to - from) * WIDTH / whole).clamp(LEAST, WIDTH - x))
    };
    let (x, width) = place(bar.from, bar.to);
    html! {
        svg class={ "bar " (class) } viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            rect.open x=(x) y="0" width=(width) height="10" {}
            @for (from, to) in &bar.work {
                @let (x, width) = place(*from, *to);
                rect.work x=(x) y="0" width=(width) height="10" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lie_where_their_steps_ran() {
        let bar = |from, to, work| drawn(&Bar { from, to, work }, 2_000, "done").into_string();
        let rect = |x, width| format!("x=\"{x}\" y=\"0\" width=\"{width}\"");
        let both = bar(500, 1_500, vec![(600, 700)]);
        assert!(both.contains(&rect(250, 500)) && both.contains(&rect(300, 50)), "{both}");
        assert!(bar(0, 0, Vec::new()).contains(&rect(0, 4)), "a short one is seen");
        assert!(bar(2_000, 2_000, Vec::new()).contains(&rect(996, 4)), "also at the end");
        assert!(bar(-50, 9_000, Vec::new()).contains(&rect(0, 1_000)), "nothing is drawn outside");
    }
}
