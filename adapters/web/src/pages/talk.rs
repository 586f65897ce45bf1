//! The conversation.

use adjutant_l10n::{page, page_talk, plans};
use maud::{Markup, html};

use super::Frame;
use super::layout::{badge, moment, token};
use super::tree::tree;
use crate::markdown::{markdown, plain, without_code};
use crate::session::once;
use crate::views::{Asks, Badge, Entry, Said, Timeline, Turn};

/// The page of a conversation.
pub(crate) fn talk(frame: &Frame<'_>, timeline: &Timeline, is_newest: bool) -> String {
    let is_own = frame.viewer.is_some_and(|viewer| viewer.person == timeline.person);
    frame.page(&html! {
        h1.small {
            @if is_own { (page::conversation()) } @else { (plain(&page_talk::conversation_of(&timeline.name))) }
        }
        div #live {
            @if let Some(older) = timeline.older {
                p.older {
                    a href={ "/talk?person=" (timeline.person) "&before=" (older) } { (page_talk::older()) }
                }
            }
            @if timeline.entries.is_empty() {
                p.empty { (page_talk::nothing_said()) }
            }
            @for entry in &timeline.entries {
                @match entry {
                    Entry::Turn(it) => (turn(it, frame.token)),
                    Entry::Said(it) => (said(it, frame.token)),
                }
            }
        }
        @if !is_newest {
            p { a href={ "/talk?person=" (timeline.person) } { (page_talk::newest()) } }
        } @else if is_own {
            (composer(frame.token))
        }
    })
}

fn composer(form_token: &str) -> Markup {
    html! {
        form #composer method="post" action="/say" {
            (token(form_token))
            input type="hidden" name="once" value=(once());
            label for="text" { (page_talk::message()) }
            textarea #text name="text" rows="2" required maxlength="20000" placeholder=(page_talk::write_message()) {}
            button type="submit" { (page_talk::send()) }
        }
    }
}

pub(crate) fn turn(turn: &Turn, form_token: &str) -> Markup {
    html! {
        article.turn id={ "turn-" (turn.key) } aria-label=(page_talk::request()) {
            @for one in &turn.asked { (said(one, form_token)) }
            div.work {
                (badge(turn.badge))
                @if turn.is_open {
                    form.inline method="post" action="/stop" {
                        (token(form_token))
                        button.quiet type="submit" name="turn" value=(turn.key) { (page_talk::stop()) }
                    }
                }
                @if turn.can_repeat {
                    form.inline method="post" action="/repeat" {
                        (token(form_token))
                        button.quiet type="submit" name="turn" value=(turn.key) { (again(turn.badge)) }
                    }
                }
                @if !turn.rows.is_empty() { (tree(turn)) }
            }
            @for one in &turn.replies { (said(one, form_token)) }
        }
    }
}

/// What a button says that asks for the same once more.
fn again(badge: Badge) -> String {
    if badge == Badge::Done { page_talk::ask_again() } else { page_talk::try_again() }
}

/// A turn on a page of its own, drawn in one of two ways; `here` is how its address ends.
pub(crate) fn turn_page(frame: &Frame<'_>, it: &Turn, here: &str, content: &Markup) -> String {
    frame.page(&html! {
        h1.small { (page_talk::one_request()) }
        nav.ways aria-label=(page_talk::views()) {
            @for (way, name) in [("", page_talk::steps()), ("/waterfall", page_talk::timeline())] {
                a href={ "/turn/" (it.key) (way) } aria-current=[(way == here).then_some("page")] { (name) }
            }
            @if frame.viewer.is_some_and(|viewer| viewer.is_owner) {
                a href={ "/log/" (it.key) } { (page_talk::log()) }
            }
        }
        div #live { (content) }
    })
}

/// A message alone.
#[cfg(test)]
pub(crate) fn message_part(it: &Said) -> String {
    let whole = said(it, "").into_string();
    // Without the line that says who and when.
    whole.split_once("</p>").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// A message.
pub(super) fn said(said: &Said, form_token: &str) -> Markup {
    let class = if said.by.is_some() { "said person" } else { "said assistant" };
    html! {
        div class=(class) id={ "m-" (said.key) } {
            p.by {
                (writer(said.by.as_deref(), &said.channel))
                " " (moment(&said.at))
                @if let Some(why) = &said.undelivered { " " span.undelivered { (why) } }
            }
            div.text {
                @if said.by.is_some() { p.verbatim { (plain(&said.text)) } } @else { (markdown(&said.text)) }
            }
            @if let Some(file) = &said.file {
                details.file {
                    summary { (plain(&page_talk::file(&file.name))) }
                    p { a href={ "/file/" (said.key) } download { (page_talk::download()) } }
                    @if file.is_json() { pre tabindex="0" { (plain(&file.text)) } } @else { (markdown(&file.text)) }
                }
            }
            @if let Some(plan) = said.plan() {
                p.ways { a href={ "/plans/" (plan) } { (page_talk::plan_page()) } }
            }
            (answers(said, form_token))
        }
    }
}

/// Who writes, and where.
fn writer(by: Option<&str>, channel: &str) -> Markup {
    html! {
        b { @if let Some(by) = by { (plain(by)) } @else { (page_talk::assistant()) } }
        " " span.channel { (plain(channel)) }
    }
}

/// An answer that is being written, as it will stand there; nothing of an empty text.
pub(crate) fn draft(channel: &str, text: &str) -> String {
    let draft = html! {
        @if !text.is_empty() {
            div.said.assistant.draft {
                p.by {
                    (writer(None, channel)) " "
                    span.badge.running { span aria-hidden="true" { "▶" } " " (page_talk::writing()) }
                }
                div.text { (markdown(&without_code(text))) }
            }
        }
    };
    draft.into_string()
}

/// The buttons of a question, and the field for words.
pub(super) fn answers(said: &Said, form_token: &str) -> Markup {
    html! {
        @if said.is_question() {
            div.choices {
                @if !said.choices.is_empty() {
                    form.buttons method="post" action="/press" {
                        (token(form_token))
                        @for choice in &said.choices {
                            button type="submit" name="button" value=(choice.id) { (plain(&choice.label)) }
                        }
                    }
                }
                @if let Some(asks) = &said.asks { (words(asks, form_token)) }
            }
        }
    }
}

/// The field for an answer in words.
fn words(asks: &Asks, form_token: &str) -> Markup {
    let id = format!("words-{}", asks.question);
    let (label, button) = match asks.plan {
        Some(_) => (plans::what_to_change(), plans::change()),
        None => (page_talk::your_answer(), page_talk::answer()),
    };
    html! {
        form.words method="post" action="/answer" {
            (token(form_token))
            input type="hidden" name="once" value=(once());
            input type="hidden" name="question" value=(asks.question);
            label for=(id) { (label) }
            textarea id=(id) name="words" rows="1" required maxlength="4000" {}
            button.quiet type="submit" { (button) }
        }
    }
}
