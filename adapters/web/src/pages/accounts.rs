//! The page of a person's accounts at providers.

use adjutant_chat::sanitized;
use adjutant_l10n::page_accounts as words;
use maud::{Markup, html};

use super::Frame;
use super::layout::{filled, moment, token};
use crate::markdown::plain;
use crate::session::once;
use crate::views::AccountLine;

/// The accounts, and the button that connects one.
pub(crate) fn accounts(frame: &Frame<'_>, all: &[AccountLine]) -> String {
    frame.page(&html! {
        h1.small { (words::title()) }
        @if all.is_empty() { p.empty { (words::none()) } }
        @for one in all { (account(frame, one)) }
        div.fields {
            (say(frame, "/connect", &words::connect()))
            p.by { (words::connect_hint()) }
        }
    })
}

fn account(frame: &Frame<'_>, one: &AccountLine) -> Markup {
    let heading = format!("account-{}", one.key);
    html! {
        section.fields aria-labelledby=(heading) {
            h2 id=(heading) { (plain(&one.label)) }
            p { (plain(&one.address)) " · " (plain(&one.about)) }
            p.by { (used(one)) }
            @if one.needs_login {
                p.error { (words::needs_login()) }
                @if let Some(page) = &one.help {
                    p { a href=(page) rel="noopener noreferrer" { (words::app_password_help()) } }
                }
                @if one.is_own { (say(frame, &format!("/connect {}", one.key), &words::log_in_again())) }
            }
            @if one.is_own { (choices(frame, one)) } @else { p { (words::shared()) } }
        }
    }
}

fn used(one: &AccountLine) -> Markup {
    let Some((at, turn)) = &one.used else { return html! { (words::never_used()) } };
    html! {
        (filled(words::last_used, &moment(at)))
        @if let Some(turn) = turn { " " a href={ "/turn/" (turn) } { (words::for_request()) } }
    }
}

/// What its person can change.
fn choices(frame: &Frame<'_>, one: &AccountLine) -> Markup {
    html! {
        @match one.is_mail_default {
            None => {}
            Some(true) => p { (words::default_mail()) },
            Some(false) => (change(frame, one, "mail", &words::make_default_mail())),
        }
        @match one.is_events_default {
            None => {}
            Some(true) => p { (words::default_events()) },
            Some(false) => (change(frame, one, "events", &words::make_default_events())),
        }
        @if one.is_events_default.is_some() {
            (field(frame, one, "busy", &one.busy, [words::busy(), words::busy_save()]))
        }
        (field(frame, one, "rename", &one.label, [words::name(), words::rename()]))
        (say(frame, &format!("/accounts {}", one.key), &words::disconnect()))
    }
}

fn change(frame: &Frame<'_>, one: &AccountLine, change: &str, label: &str) -> Markup {
    html! {
        form.inline method="post" action="/accounts" {
            (token(frame.token))
            input type="hidden" name="key" value=(one.key);
            button.quiet type="submit" name="change" value=(change) { (label) }
        }
    }
}

fn field(
    frame: &Frame<'_>,
    one: &AccountLine,
    change: &str,
    value: &str,
    [label, save]: [String; 2],
) -> Markup {
    html! {
        form.field method="post" action="/accounts" {
            (token(frame.token))
            input type="hidden" name="key" value=(one.key);
            label { (label) " " input type="text" name="text" value=(sanitized(value)) maxlength="400"; }
            button.quiet type="submit" name="change" value=(change) { (save) }
        }
    }
}

/// A button that says a command in the viewer's conversation.
fn say(frame: &Frame<'_>, command: &str, label: &str) -> Markup {
    html! {
        form.inline method="post" action="/say" {
            (token(frame.token))
            input type="hidden" name="once" value=(once());
            button.quiet type="submit" name="text" value=(command) { (label) }
        }
    }
}
