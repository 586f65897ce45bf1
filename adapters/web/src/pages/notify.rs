//! What a page is as an app: its notifications, and what it shows without a connection.

use adjutant_l10n::page_notify;
use maud::{DOCTYPE, Markup, html};

use super::Frame;
use super::layout::token;
use crate::assets::VERSION;
use crate::views::NotifyOf;

/// Of what this browser is notified. The script shows the form where the browser can be.
pub(super) fn notifications(frame: &Frame<'_>, now: NotifyOf) -> Markup {
    let all = [
        (NotifyOf::Nothing, page_notify::of_nothing()),
        (NotifyOf::Questions, page_notify::of_questions()),
        (NotifyOf::News, page_notify::of_news()),
    ];
    html! {
        h2 { (page_notify::notifications()) }
        p #no-push { (page_notify::not_possible()) }
        form #notify method="post" action="/notify" hidden data-on=[(now != NotifyOf::Nothing).then_some("yes")]
            data-denied=(page_notify::not_allowed()) data-failed=(page_notify::not_reached()) {
            (token(frame.token))
            label for="of" { (page_notify::notify_this_browser()) }
            select #of name="of" {
                @for (of, name) in &all { option value=(of.as_str()) selected[*of == now] { (name) } }
            }
            button type="submit" { (page_notify::save_button()) }
        }
    }
}

/// What the worker shows in the place of any page. What it needs is kept with it, by addresses of its own.
pub(crate) fn offline() -> String {
    let of = |file: &str| format!("/assets/{file}?{}.offline", *VERSION);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page_notify::offline()) " · Adjutant" }
                link rel="stylesheet" href=(of("page.css"));
                script src=(of("app.js")) defer {}
            }
            body {
                main #offline {
                    h1 { (page_notify::offline()) }
                    p { (page_notify::offline_why()) }
                    p { a href="" { (page_notify::try_again()) } }
                }
            }
        }
    }
    .into_string()
}
