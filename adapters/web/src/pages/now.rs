//! What happens at the moment.

use adjutant_chat::sanitized;
use adjutant_l10n::{commands, page, page_now, questions};
use maud::{Markup, html};

use super::Frame;
use super::layout::{filled, moment};
use super::talk::{said, turn};
use crate::markdown::plain;
use crate::views::{Budget, Now};

/// The page of what happens now.
pub(crate) fn now(frame: &Frame<'_>, now: &Now) -> String {
    frame.page(&html! {
        h1.small { (page::now()) }
        div #live {
            (questions(frame, now))
            section aria-labelledby="running" {
                h2 #running { (page_now::running()) }
                @if now.turns.is_empty() { p.empty { (commands::nothing_runs_or_waits()) } }
                @for (name, it) in &now.turns {
                    @if frame.viewer.is_some_and(|viewer| viewer.is_owner) {
                        p.by { (filled(page::for_person, &html! { b { (plain(name)) } })) }
                    }
                    (turn(it, frame.token))
                }
            }
            section aria-labelledby="due" {
                h2 #due { (page_now::due()) }
                @if now.due.is_empty() { p.empty { (page_now::nothing_due()) } }
                ul.plain {
                    @for (at, what) in &now.due { li { (moment(at)) " " (plain(what)) } }
                }
            }
            (budgets(&now.budgets))
            (channels(now))
        }
    })
}

fn questions(frame: &Frame<'_>, now: &Now) -> Markup {
    html! {
        section aria-labelledby="questions" {
            h2 #questions { (page_now::questions()) }
            @if now.questions.is_empty() { p.empty { (questions::none_open()) } }
            @for question in &now.questions { (said(question, frame.token)) }
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
