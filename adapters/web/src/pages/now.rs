//! What happens at the moment.

use adjutant_chat::sanitized;
use maud::{Markup, html};

use super::Frame;
use super::layout::moment;
use super::talk::{said, turn};
use crate::markdown::plain;
use crate::views::{Budget, Now};

/// The page of what happens now.
pub(crate) fn now(frame: &Frame<'_>, now: &Now) -> String {
    frame.page(&html! {
        h1.small { "Now" }
        div #live {
            (questions(frame, now))
            section aria-labelledby="running" {
                h2 #running { "Under way" }
                @if now.turns.is_empty() { p.empty { "Nothing is running or waiting." } }
                @for (name, it) in &now.turns {
                    @if frame.viewer.is_some_and(|viewer| viewer.is_owner) { p.by { "for " b { (plain(name)) } } }
                    (turn(it, frame.token))
                }
            }
            section aria-labelledby="due" {
                h2 #due { "Due" }
                @if now.due.is_empty() { p.empty { "Nothing is due in the next days." } }
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
            h2 #questions { "Waiting for you" }
            @if now.questions.is_empty() { p.empty { "No question is open." } }
            @for question in &now.questions { (said(question, frame.token)) }
        }
    }
}

fn budgets(budgets: &[Budget]) -> Markup {
    html! {
        section aria-labelledby="today" {
            h2 #today { "Today" }
            ul.plain {
                @for budget in budgets {
                    li {
                        (plain(&budget.name)) ": " (plain(&budget.used))
                        @if let Some((limit, share)) = &budget.limit {
                            " of " (plain(limit)) " "
                            meter min="0" max="100" value=(share) aria-label=(sanitized(&budget.name)) { (share) " %" }
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
            h2 #channels { "Channels" }
            ul.plain {
                @for (name, status) in &now.channels { li { b { (plain(name)) } " " (status) } }
            }
        }
    }
}
