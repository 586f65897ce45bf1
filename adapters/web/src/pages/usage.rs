//! Usage, as charts that the server draws, and as CSV.

use std::fmt::Write;

use adjutant_chat::count;
use adjutant_l10n::{page, page_usage};
use maud::{Markup, html};

use super::Frame;
use crate::markdown::plain;
use crate::views::{QuestionLine, Spent, Usage, UsageDay, UsageLine};

/// The chart's size, in its own units.
const WIDTH: usize = 640;
const HEIGHT: usize = 160;
/// Whoever spent less isn't shown: so much may be lost in adding.
const LEAST: f64 = 1e-6;

pub(crate) fn usage(frame: &Frame<'_>, usage: &Usage) -> String {
    let of = |kind: &'static str| usage.lines.iter().filter(|line| line.of == kind).collect::<Vec<_>>();
    frame.page(&html! {
        h1.small { (page::usage()) }
        p { (page_usage::last_days(usage.days.len())) " " a href="/usage.csv" { (page_usage::csv()) } }
        (chart(&page_usage::tokens_by_day(), usage, tokens, |spent| count(spent.tokens)))
        (chart(&page_usage::cost_by_day(), usage, |spent| spent.usd, |spent| format!("${:.2}", spent.usd)))
        @for (title, kind) in [
            (page_usage::by_person(), "person"),
            (page_usage::by_role(), "role"),
            (page_usage::by_model(), "model"),
            (page_usage::by_skill(), "skill"),
        ] {
            @if !of(kind).is_empty() { (lines(&title, &of(kind))) }
        }
        @if !usage.questions.is_empty() { (questions(&usage.questions)) }
    })
}

/// A bar for each day, with a piece for each of the people, and the same as a table.
fn chart(
    title: &str,
    usage: &Usage,
    height: impl Fn(&Spent) -> f64,
    label: impl Fn(&Spent) -> String,
) -> Markup {
    let days: Vec<(&UsageDay, Vec<Spent>)> = usage.days.iter().map(|day| (day, parts(day))).collect();
    let all = sum(usage.days.iter().map(|day| day.all));
    let highest =
        usage.days.iter().map(|day| day.all).max_by(|one, other| height(one).total_cmp(&height(other)));
    let most = highest.unwrap_or_default();
    let names = usage.people.iter().cloned().chain([page_usage::others()]).enumerate();
    let spent = |at: usize| sum(days.iter().filter_map(|(_, parts)| parts.get(at).copied()));
    let names = names.map(|(at, name)| (at, name, spent(at))).filter(|(.., spent)| height(spent) > LEAST);
    // Only an owner's has people.
    let names: Vec<(usize, String, Spent)> = names.filter(|_| !usage.people.is_empty()).collect();
    html! {
        section {
            h2 { (title) }
            @if height(&most) > 0.0 {
                p.figures { (page_usage::in_all(label(&all), label(&most))) }
                @if !names.is_empty() {
                    ul.legend {
                        @for (at, name, spent) in &names {
                            li class={ "p" (at) } { (plain(name)) " " span.figures { (label(spent)) } }
                        }
                    }
                }
                @let half = Spent { tokens: most.tokens / 2, usd: most.usd / 2.0 };
                div.plot {
                    div.axis aria-hidden="true" {
                        span { (label(&most)) } span { (label(&half)) } span { (label(&Spent::default())) }
                    }
                    svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(title) {
                        @for y in [0, HEIGHT / 2] { line x1="0" x2=(WIDTH) y1=(y) y2=(y) {} }
                        @let step = WIDTH / days.len().max(1);
                        @for (at, (day, parts)) in days.iter().enumerate() {
                            g {
                                title { (plain(&day.day)) ": " (label(&day.all)) }
                                @for (part, (foot, top)) in pieces(parts, &height, height(&most)).into_iter().enumerate() {
                                    rect class={ "p" (part) } x=(at * step + 1) y=(HEIGHT - top)
                                        width=(step.saturating_sub(2).max(1)) height=(top - foot) {}
                                }
                            }
                        }
                        line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                    }
                }
                // Below it, not in it, where a phone would shrink them.
                @if let (Some(first), Some(last)) = (usage.days.first(), usage.days.last()) {
                    div.ends { span { (plain(&first.day)) } span { (plain(&last.day)) } }
                }
                @let columns: Vec<String> =
                    [page_usage::total()].into_iter().chain(names.iter().map(|(_, name, _)| name.clone())).collect();
                @let used = days.iter().filter(|(day, _)| height(&day.all) > 0.0);
                details {
                    summary { (page_usage::as_table()) }
                    (rows(title, &page_usage::day(), &columns, used.map(|(day, parts)| {
                        let parts = names.iter().map(|(at, ..)| label(&parts[*at]));
                        (day.day.clone(), [label(&day.all)].into_iter().chain(parts).collect())
                    })))
                }
            } @else { p.empty { (page_usage::nothing_used()) } }
        }
    }
}

fn sum(all: impl Iterator<Item = Spent>) -> Spent {
    all.fold(Spent::default(), |sum, one| Spent { tokens: sum.tokens + one.tokens, usd: sum.usd + one.usd })
}

/// What each of the people spent on a day, and all others.
fn parts(day: &UsageDay) -> Vec<Spent> {
    let drawn = sum(day.parts.iter().copied());
    let tokens = day.all.tokens.saturating_sub(drawn.tokens);
    let others = Spent { tokens, usd: (day.all.usd - drawn.usd).max(0.0) };
    day.parts.iter().copied().chain([others]).collect()
}

/// Where each piece of a bar begins and ends, from its foot up.
fn pieces(parts: &[Spent], height: impl Fn(&Spent) -> f64, most: f64) -> Vec<(usize, usize)> {
    let mut top = 0.0;
    let pieces = parts.iter().map(|part| {
        let foot = top;
        top += height(part);
        (bar(foot, most), bar(top, most))
    });
    pieces.collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the chart's height"
)]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn bar(value: f64, most: f64) -> usize {
    (value / most * HEIGHT as f64).clamp(0.0, HEIGHT as f64) as usize
}

#[expect(clippy::cast_precision_loss, reason = "the height of a bar")]
fn tokens(spent: &Spent) -> f64 {
    spent.tokens as f64
}

fn lines(title: &str, lines: &[&UsageLine]) -> Markup {
    let mut names = vec![page_usage::calls(), page_usage::tokens(), page_usage::cost()];
    if lines.iter().all(|line| line.of == "skill") {
        // A skill calls no model.
        names.truncate(1);
    }
    // Of these numbers, the table has as many as it has names.
    let row = |line: &&UsageLine| {
        let numbers = vec![count(line.calls), count(line.tokens), format!("${:.4}", line.usd)];
        (line.name.clone(), numbers)
    };
    table(title, &names, lines.iter().map(row))
}

fn questions(lines: &[QuestionLine]) -> Markup {
    let names = [
        page_usage::asked(),
        page_usage::yes(),
        page_usage::no(),
        page_usage::expired(),
        page_usage::median_time(),
    ];
    let row = |line: &QuestionLine| {
        let mut numbers = [line.asked, line.yes, line.no, line.expired].map(count).to_vec();
        numbers.push(line.median.clone());
        (line.name.clone(), numbers)
    };
    table(&page_usage::questions_by_skill(), &names, lines.iter().map(row))
}

/// A table of numbers: their names, and each row's name with its numbers.
fn table(title: &str, names: &[String], all: impl Iterator<Item = (String, Vec<String>)>) -> Markup {
    html! { section { h2 { (title) } (rows(title, &page_usage::name(), names, all)) } }
}

fn rows(
    title: &str,
    of: &str,
    names: &[String],
    rows: impl Iterator<Item = (String, Vec<String>)>,
) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table {
                thead {
                    tr {
                        th scope="col" { (of) }
                        @for name in names { th.number scope="col" { (plain(name)) } }
                    }
                }
                tbody {
                    @for (name, numbers) in rows {
                        tr {
                            th scope="row" { (plain(&name)) }
                            @for (number, _) in numbers.iter().zip(names) { td.number { (plain(number)) } }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn csv(usage: &Usage) -> String {
    let mut text = "of,name,calls,tokens,cost_usd\r\n".to_owned();
    for day in &usage.days {
        let _ = write!(text, "day,{},,{},{:.6}\r\n", day.day, day.all.tokens, day.all.usd);
    }
    for line in &usage.lines {
        let (name, calls, tokens, usd) = (cell(&line.name), line.calls, line.tokens, line.usd);
        let _ = write!(text, "{},{name},{calls},{tokens},{usd:.6}\r\n", line.of);
    }
    text
}

/// A name that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let text = text.replace(['\r', '\n'], " ");
    let text = if text.starts_with(['=', '+', '-', '@', '\t']) { format!("'{text}") } else { text };
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_formula_in_a_spreadsheet() {
        let named = |name: &str| UsageLine { of: "person", name: name.into(), calls: 1, tokens: 2, usd: 0.5 };
        let lines = vec![named("=1+cmd|' /C calc'!A0"), named("Ada \"the\" first,\nsecond")];
        let text = csv(&Usage { lines, ..Usage::default() });
        assert_eq!(
            text,
            "of,name,calls,tokens,cost_usd\r\nperson,\"'=1+cmd|' /C calc'!A0\",1,2,0.500000\r\n\
             person,\"Ada \"\"the\"\" first, second\",1,2,0.500000\r\n"
        );
    }

    #[test]
    fn a_bar_is_as_tall_as_its_day_and_has_a_piece_for_each_person() {
        let spent = |tokens| Spent { tokens, usd: 0.0 };
        let day = UsageDay { day: "2026-11-21".into(), all: spent(100), parts: vec![spent(60), spent(15)] };
        assert_eq!(pieces(&parts(&day), tokens, 200.0), [(0, 48), (48, 60), (60, 80)]);
        let drawn = |people: &[&str], day: &UsageDay| {
            let people = people.iter().map(|name| (*name).to_owned()).collect();
            let usage = Usage { people, days: vec![day.clone()], ..Usage::default() };
            chart("Tokens", &usage, tokens, |spent| count(spent.tokens)).into_string()
        };
        let html = drawn(&["Ada", "Bob"], &day);
        for part in [
            "<title>2026-11-21: 100</title><rect class=\"p0\" x=\"1\" y=\"64\" width=\"638\" height=\"96\">",
            "<li class=\"p2\">Others <span class=\"figures\">25</span></li>",
            "<th scope=\"row\">2026-11-21</th><td class=\"number\">100</td><td class=\"number\">60</td>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let own = drawn(&[], &UsageDay { parts: Vec::new(), ..day });
        assert!(!own.contains("Others") && own.contains("height=\"160\">"), "{own}");
    }
}
