//! What happens at the moment: what waits for the viewer, what is under way, and what is due.

use adjutant_chat::sanitized;
use adjutant_l10n::{commands, page, page_now, page_talk, questions};
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, moment, token};
use super::talk::{answers, outcome, running, stop, stop_named};
use super::tree::tree;
use crate::markdown::{markdown, plain};
use crate::views::{Asked, Badge, Budget, Now, Turn};

pub(crate) fn now(frame: &Frame<'_>, now: &Now) -> String {
    frame.page(&html! {
        h1 { (page::now()) }
        div.now #live data-whole="yes" {
            div {
                (waiting(frame, now))
                @if !now.turns.is_empty() || now.questions.is_empty() {
                    section aria-labelledby="running" {
                        h2 #running { (page_now::running()) (count(now.turns.len())) }
                        @if now.turns.is_empty() { p.empty { (commands::nothing_runs_or_waits()) } }
                        ul.inbox { @for (name, it) in &now.turns { (under_way(frame, name, it)) } }
                    }
                }
                @if !now.answered.is_empty() { (answered(&now.answered)) }
            }
            div.side {
                section aria-labelledby="due" {
                    h2 #due { (page_now::due()) }
                    @if now.due.is_empty() { p.empty { (page_now::nothing_due()) } }
                    ul.plain { @for (at, what) in &now.due { li { (moment(at)) " " (plain(what)) } } }
                }
                (budgets(&now.budgets))
                (channels(now))
            }
        }
    })
}

/// How many there are, behind a heading.
pub(super) fn count(number: usize) -> Markup {
    html! { @if number > 0 { span.count { " " (number) } } }
}

/// The questions. Those whether to go on beyond a day's budget can be answered at once; of others, those with the same words
/// stand behind the first of them.
fn waiting(frame: &Frame<'_>, now: &Now) -> Markup {
    let all = &now.questions;
    let (over_budget, others): (Vec<&Asked>, Vec<&Asked>) =
        all.iter().partition(|asked| now.over_budget > 1 && is_over_budget(asked));
    let mut groups: Vec<Vec<&Asked>> = Vec::new();
    for one in others {
        match groups.iter_mut().find(|group| group[0].message.text == one.message.text) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    html! {
        section aria-labelledby="questions" {
            h2 #questions { (page_now::questions()) (count(all.len())) }
            @if all.is_empty() { p.empty { (questions::none_open()) } }
            ul.inbox {
                @if !over_budget.is_empty() { (all_over_budget(frame, now.over_budget, &over_budget)) }
                @for group in &groups {
                    (question(frame, group[0]))
                    @if group.len() > 1 {
                        li.item id={ "like-" (group[0].message.key) } {
                            details {
                                summary { (page_now::more_like_this(group.len() - 1)) }
                                ul.inbox { @for one in &group[1..] { (question(frame, one)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether the viewer only says whether the request goes on beyond a day's budget: other limits have a summary, too.
fn is_over_budget(asked: &Asked) -> bool {
    let answers =
        asked.message.choices.iter().map(|choice| choice.id.rsplit_once(':').map(|(_, which)| which));
    answers.eq([Some("continue"), Some("stop")])
}

/// So many questions about a day's budget, with these among them.
fn all_over_budget(frame: &Frame<'_>, number: usize, all: &[&Asked]) -> Markup {
    html! {
        li.item #over-budget {
            (badge(Badge::Waiting))
            p.title #all-over-budget { (page_now::over_budget(number)) }
            div.choices role="group" aria-labelledby="all-over-budget" {
                form.buttons method="post" action="/press" {
                    (token(frame.token))
                    button.yes type="submit" name="all" value="continue" { (page_now::continue_all()) }
                    button.no type="submit" name="all" value="stop" { (page_now::stop_all()) }
                }
            }
            details {
                summary { (page_now::each_of_them()) }
                ul.inbox { @for one in all { (question(frame, one)) } }
            }
        }
    }
}

fn question(frame: &Frame<'_>, asked: &Asked) -> Markup {
    let it = &asked.message;
    let label = page_talk::stop_this(&asked.about);
    html! {
        li.item id={ "m-" (it.key) } {
            (badge(Badge::Waiting))
            div {
                div.text id={ "t-" (it.key) } { (markdown(&it.text)) }
                p.meta {
                    (request(asked)) " · " (moment(&it.at)) " · " (plain(&it.channel))
                    @if let Some(plan) = it.plan() {
                        " · " a href={ "/plans/" (plan) } { (page_talk::plan_page()) }
                    }
                }
            }
            div.acts {
                (answers(it, frame.token))
                (stop_named(&asked.turn, Some(&label), frame.token))
            }
        }
    }
}

fn request(asked: &Asked) -> Markup {
    html! {
        a href={ "/turn/" (asked.turn) } {
            @if asked.about.is_empty() { (page_talk::request()) } @else { (plain(&asked.about)) }
        }
    }
}

fn under_way(frame: &Frame<'_>, name: &str, it: &Turn) -> Markup {
    let is_others = frame.viewer.is_some_and(|viewer| viewer.person != it.person);
    let first = it.asked.first();
    html! {
        li.item.line id={ "turn-" (it.key) } {
            (badge(it.badge))
            div {
                p.title {
                    @if let Some(said) = first { (plain(&said.text)) } @else { (page_talk::request()) }
                }
                p.meta {
                    @if is_others && it.badge == Badge::Waiting { (plain(&page_now::waits_for(name))) " · " }
                    @else if is_others { (plain(&page::for_person(name))) " · " }
                    @if let Some(said) = first { (moment(&said.at)) }
                    @if it.badge == Badge::Running { " · " (running(it)) }
                }
            }
            div.acts { (stop(it, frame.token)) }
            @if !it.rows.is_empty() { (tree(it, false)) }
        }
    }
}

/// What was answered lately, by whoever was first.
fn answered(all: &[Asked]) -> Markup {
    html! {
        section aria-labelledby="answered" {
            h2 #answered { (page_now::answered()) }
            ul.plain {
                @for asked in all {
                    li {
                        @for one in &asked.message.outcomes { (outcome(one)) }
                        p.meta { (request(asked)) }
                    }
                }
            }
        }
    }
}

fn budgets(budgets: &[Budget]) -> Markup {
    html! {
        section aria-labelledby="today" {
            h2 #today { (page_now::today()) }
            ul.plain {
                @for budget in budgets {
                    li {
                        @if let Some((limit, share)) = &budget.limit {
                            (plain(&page_now::limited_budget(&budget.name, &budget.used, limit))) " "
                            meter min="0" max="100" value=(share) aria-label=(sanitized(&budget.name)) { (share) " %" }
                        } @else {
                            (plain(&page_now::budget(&budget.name, &budget.used)))
                        }
                    }
                }
            }
        }
    }
}

fn channels(now: &Now) -> Markup {
    html! {
        section aria-labelledby="channels" {
            h2 #channels { (page_now::channels()) }
            ul.plain {
                @for (name, status) in &now.channels { li { b { (plain(name)) } " " (status) } }
            }
        }
    }
}
