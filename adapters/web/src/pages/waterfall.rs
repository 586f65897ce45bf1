//! The time line of a turn: a bar for each of its steps.

use adjutant_l10n::page_talk;
use maud::{Markup, html};

use super::layout::{badge, figures};
use crate::markdown::plain;
use crate::views::{Badge, Bar, Row, RowKind, Turn};

/// The width of a bar's drawing, in its own units.
const WIDTH: i64 = 1_000;
/// The least width of a bar, so that it is seen.
const LEAST: i64 = 4;
/// No step is moved further to the right than those at this depth.
const DEEPEST: usize = 5;

/// A turn's steps on a time line.
pub(crate) fn waterfall(turn: &Turn) -> Markup {
    let ends = turn.rows.iter().filter_map(|row| row.bar.as_ref()).map(|bar| bar.to);
    let whole = ends.chain([turn.lasted, 1]).max().unwrap_or(1);
    html! {
        article.turn id={ "turn-" (turn.key) } data-part={ "/turn/" (turn.key) "/waterfall?part" } aria-label=(page_talk::request()) {
            p { (badge(turn.badge)) " " (figures(&turn.figures)) }
            @if turn.rows.is_empty() { p.empty { (page_talk::nothing_ran()) } } @else {
                div.scale aria-hidden="true" {
                    span { "0" }
                    span { (seconds(whole / 2)) }
                    span { (seconds(whole)) }
                }
                ol.waterfall { @for row in &turn.rows { (line(row, whole)) } }
            }
            @if turn.hidden > 0 {
                p { a href={ "/turn/" (turn.key) "/waterfall?skip=" (turn.rows.len()) } { (page_talk::more_steps(turn.hidden)) } }
            }
        }
    }
}

fn line(row: &Row, whole: i64) -> Markup {
    let class = if row.kind == RowKind::Skill { "skill" } else { "agent" };
    html! {
        li class={ (class) " d" (row.depth.min(DEEPEST)) } {
            div.what {
                (badge(row.badge)) " "
                a.title href={ "/details/" (row.execution) } { (plain(&row.title)) }
                @if !row.about.is_empty() { " " span.about { (plain(&row.about)) } }
                @if let Some(bar) = &row.bar {
                    " " span.figures {
                        @if row.badge == Badge::Running { (page_talk::since(seconds(bar.from))) }
                        @else { (page_talk::from_to(seconds(bar.from), seconds(bar.to))) }
                    }
                }
                @if !row.needs.is_empty() { " " span.needs { (plain(&page_talk::after(row.needs.join(", ")))) } }
            }
            @if let Some(bar) = &row.bar { (drawn(bar, whole, row.badge.look().2)) }
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

/// A time since the turn began.
fn seconds(ms: i64) -> String {
    match ms {
        ..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
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
        let texts = [0, 59_990, 61_000, 7_260_000].map(seconds);
        assert_eq!(texts, ["0.0 s", "59.9 s", "1 min 1 s", "2 h 1 min"]);
    }
}
