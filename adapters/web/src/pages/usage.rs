//! Usage, as charts that the server draws, and as CSV.

use std::fmt::Write;

use adjutant_chat::count;
use adjutant_l10n::{page, page_usage};
use maud::{Markup, html};

use super::Frame;
use crate::markdown::plain;
use crate::views::{QuestionLine, Spent, Usage, UsageLine};

/// The chart's size, in its own units.
const WIDTH: usize = 640;
const HEIGHT: i64 = 160;

pub(crate) fn usage(frame: &Frame<'_>, usage: &Usage) -> String {
    let of = |kind: &'static str| usage.lines.iter().filter(|line| line.of == kind).collect::<Vec<_>>();
    frame.page(&html! {
        h1.small { (page::usage()) }
        p { (page_usage::last_days(usage.days.len())) " " a href="/usage.csv" { (page_usage::csv()) } }
        (chart(&page_usage::tokens_by_day(), usage, |spent| spent.tokens, |tokens| count(tokens.unsigned_abs())))
        (chart(&page_usage::cost_by_day(), usage, |spent| spent.nano_usd, |nano| format!("${:.2}", usd(nano))))
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
fn chart(title: &str, usage: &Usage, of: impl Fn(&Spent) -> i64, label: impl Fn(i64) -> String) -> Markup {
    let days: Vec<(&str, Vec<i64>)> =
        usage.days.iter().map(|day| (day.day.as_str(), day.parts.iter().map(&of).collect())).collect();
    let sum = |parts: &[i64]| parts.iter().sum::<i64>();
    let most = days.iter().map(|(_, parts)| sum(parts)).max().unwrap_or(0);
    // Without people, there is nobody to tell apart.
    let names = usage.people.iter().cloned().chain((!usage.people.is_empty()).then(page_usage::others));
    let part = |at: usize| days.iter().filter_map(|(_, parts)| parts.get(at)).sum::<i64>();
    let names: Vec<(usize, String)> = names.enumerate().filter(|(at, _)| part(*at) > 0).collect();
    html! {
        section {
            h2 { (title) }
            @if most > 0 {
                p.figures { (page_usage::in_all(label(days.iter().map(|(_, parts)| sum(parts)).sum()), label(most))) }
                @if !names.is_empty() {
                    ul.legend {
                        @for (at, name) in &names {
                            li class={ "p" (at) } { (plain(name)) " " span.figures { (label(part(*at))) } }
                        }
                    }
                }
                div.plot {
                    div.axis aria-hidden="true" {
                        span { (label(most)) } span { (label(most / 2)) } span { (label(0)) }
                    }
                    svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(title) {
                        @for y in [0, HEIGHT / 2] { line x1="0" x2=(WIDTH) y1=(y) y2=(y) {} }
                        @let step = WIDTH / days.len().max(1);
                        @for (at, (day, parts)) in days.iter().enumerate() {
                            g {
                                title { (plain(day)) ": " (label(sum(parts))) }
                                @for one in 0..parts.len() {
                                    @let (foot, top) = (bar(sum(&parts[..one]), most), bar(sum(&parts[..=one]), most));
                                    rect class={ "p" (one) } x=(at * step + 1) y=(HEIGHT - top)
                                        width=(step.saturating_sub(2).max(1)) height=(top - foot) {}
                                }
                            }
                        }
                        line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                    }
                }
                // Below it, not in it, where a phone would shrink them.
                @if let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) {
                    div.ends { span { (plain(first)) } span { (plain(last)) } }
                }
                @let columns: Vec<String> =
                    [page_usage::total()].into_iter().chain(names.iter().map(|(_, name)| name.clone())).collect();
                @let used = days.iter().filter(|(_, parts)| sum(parts) > 0);
                details {
                    summary { (page_usage::as_table()) }
                    (rows(title, &page_usage::day(), &columns, used.map(|(day, parts)| {
                        let parts = [sum(parts)].into_iter().chain(names.iter().map(|(at, _)| parts[*at]));
                        ((*day).to_owned(), parts.map(&label).collect())
                    })))
                }
            } @else { p.empty { (page_usage::nothing_used()) } }
        }
    }
}

/// How tall a part of the tallest bar is.
fn bar(value: i64, most: i64) -> i64 {
    value.max(0).saturating_mul(HEIGHT) / most.max(1)
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
fn usd(nano: i64) -> f64 {
    nano as f64 / 1e9
}

fn lines(title: &str, lines: &[&UsageLine]) -> Markup {
    let mut names = vec![page_usage::calls(), page_usage::tokens(), page_usage::cost()];
    if lines.iter().all(|line| line.of == "skill") {
        // A skill calls no model.
        names.truncate(1);
    }
    // Of these numbers, the table has as many as it has names.
    let row = |line: &&UsageLine| {
        let numbers = vec![count(line.calls), count(line.tokens), format!("${:.2}", line.usd)];
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
        let tokens: i64 = day.parts.iter().map(|part| part.tokens).sum();
        let nano: i64 = day.parts.iter().map(|part| part.nano_usd).sum();
        let _ = write!(text, "day,{},,{tokens},{:.6}\r\n", day.day, usd(nano));
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
    use crate::views::UsageDay;

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
        let day = |parts: &[i64]| {
            let parts = parts.iter().map(|tokens| Spent { tokens: *tokens, nano_usd: 0 }).collect();
            UsageDay { day: "2026-11-21".into(), parts }
        };
        let drawn = |people: &[&str], parts: &[i64]| {
            let people = people.iter().map(|name| (*name).to_owned()).collect();
            let usage = Usage { people, days: vec![day(parts), day(&[0, 0, 200])], ..Usage::default() };
            chart("Tokens", &usage, |spent| spent.tokens, |tokens| tokens.to_string()).into_string()
        };
        let html = drawn(&["Ada", "Bob"], &[60, 15, 25]);
        for part in [
            "<title>2026-11-21: 100</title><rect class=\"p0\" x=\"1\" y=\"112\" width=\"318\" height=\"48\">",
            "class=\"p1\" x=\"1\" y=\"100\" width=\"318\" height=\"12\">",
            "class=\"p2\" x=\"1\" y=\"80\" width=\"318\" height=\"20\">",
            "<li class=\"p2\">Others <span class=\"figures\">225</span></li>",
            "<th scope=\"row\">2026-11-21</th><td class=\"number\">100</td><td class=\"number\">60</td>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let own = drawn(&[], &[100]);
        assert!(!own.contains("Others") && own.contains("y=\"80\" width=\"318\" height=\"80\">"), "{own}");
    }
}
