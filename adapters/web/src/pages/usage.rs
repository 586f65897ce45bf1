//! Usage, as charts that the server draws, and as CSV.

use std::fmt::Write;

use adjutant_chat::count;
use adjutant_l10n::{page, page_usage};
use maud::{Markup, html};

use super::Frame;
use crate::markdown::plain;
use crate::views::{QuestionLine, Usage, UsageDay, UsageLine};

/// The chart's size, in its own units.
const WIDTH: usize = 640;
const HEIGHT: usize = 160;

pub(crate) fn usage(frame: &Frame<'_>, usage: &Usage) -> String {
    let of = |kind: &'static str| usage.lines.iter().filter(|line| line.of == kind).collect::<Vec<_>>();
    frame.page(&html! {
        h1.small { (page::usage()) }
        p { (page_usage::last_days(usage.days.len())) " " a href="/usage.csv" { (page_usage::csv()) } }
        @let all = usage.days.iter().map(|day| day.tokens).sum::<u64>();
        (chart(&page_usage::tokens_by_day(), &count(all), &usage.days, tokens, |day| count(day.tokens)))
        @let all = format!("${:.2}", usage.days.iter().map(|day| day.usd).sum::<f64>());
        (chart(&page_usage::cost_by_day(), &all, &usage.days, |day| day.usd, |day| format!("${:.2}", day.usd)))
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

fn chart(
    title: &str,
    all: &str,
    days: &[UsageDay],
    height: impl Fn(&UsageDay) -> f64,
    label: impl Fn(&UsageDay) -> String,
) -> Markup {
    let most = days.iter().map(&height).fold(0.0, f64::max);
    let step = WIDTH / days.len().max(1);
    html! {
        section {
            h2 { (title) }
            @if let Some(highest) = days.iter().max_by(|one, other| height(one).total_cmp(&height(other))) && most > 0.0 {
                p.figures { (page_usage::in_all(all, label(highest))) }
                @let half = UsageDay { day: String::new(), tokens: highest.tokens / 2, usd: highest.usd / 2.0 };
                div.plot {
                    div.axis aria-hidden="true" {
                        span { (label(highest)) } span { (label(&half)) } span { (label(&UsageDay::default())) }
                    }
                    svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 1) } role="img" aria-label=(title) {
                        @for y in [0, HEIGHT / 2] { line x1="0" x2=(WIDTH) y1=(y) y2=(y) {} }
                        @for (at, day) in days.iter().enumerate() {
                            @let tall = bar(height(day), most);
                            rect x=(at * step + 1) y=(HEIGHT - tall) width=(step.saturating_sub(2).max(1)) height=(tall) {
                                title { (plain(&day.day)) ": " (label(day)) }
                            }
                        }
                        line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                    }
                }
                // Below it, not in it, where a phone would shrink them.
                @if let (Some(first), Some(last)) = (days.first(), days.last()) {
                    div.ends { span { (plain(&first.day)) } span { (plain(&last.day)) } }
                }
                details {
                    summary { (page_usage::as_table()) }
                    table {
                        @for day in days.iter().filter(|day| height(day) > 0.0) {
                            tr { th scope="row" { (plain(&day.day)) } td { (label(day)) } }
                        }
                    }
                }
            } @else { p.empty { (page_usage::nothing_used()) } }
        }
    }
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
fn tokens(day: &UsageDay) -> f64 {
    day.tokens as f64
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
fn table(title: &str, names: &[String], rows: impl Iterator<Item = (String, Vec<String>)>) -> Markup {
    html! {
        section {
            h2 { (title) }
            div.wide tabindex="0" role="region" aria-label=(title) {
                table {
                    thead {
                        tr {
                            th scope="col" { (page_usage::name()) }
                            @for name in names { th.number scope="col" { (name) } }
                        }
                    }
                    tbody {
                        @for (name, numbers) in rows {
                            tr {
                                td { (plain(&name)) }
                                @for (number, _) in numbers.iter().zip(names) { td.number { (plain(number)) } }
                            }
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
        let _ = write!(text, "day,{},,{},{:.6}\r\n", day.day, day.tokens, day.usd);
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
}
