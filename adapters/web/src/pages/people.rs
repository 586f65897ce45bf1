//! The people an owner may look at, and the browsers that are signed in.

use maud::html;

use super::Frame;
use super::layout::{moment, token};
use crate::markdown::plain;
use crate::views::{PersonLine, Session};

/// The list of people.
pub(crate) fn people(frame: &Frame<'_>, people: &[PersonLine]) -> String {
    frame.page(&html! {
        h1.small { "People" }
        p { "Looking at somebody else's conversation is logged." }
        ul.plain {
            @for one in people {
                li {
                    a href={ "/talk?person=" (one.person) } { (plain(if one.name.is_empty() { "(no name)" } else { &one.name })) }
                    " " (moment(&one.last))
                }
            }
        }
    })
}

/// The viewer's sessions.
pub(crate) fn sessions(frame: &Frame<'_>, sessions: &[Session]) -> String {
    let own = frame.viewer.map(|viewer| viewer.session.as_str());
    frame.page(&html! {
        h1.small { "Account" }
        @if let Some(viewer) = frame.viewer {
            p { "You are " b { (plain(&viewer.name)) } "." }
        }
        form method="post" action="/logout" {
            (token(frame.token))
            button type="submit" { "Sign out" }
        }
        h2 { "Browsers" }
        p { "These browsers are signed in as you. If you don't know one, end it." }
        ul.plain {
            @for session in sessions {
                li {
                    div {
                        b { (plain(if session.browser.is_empty() { "Unknown browser" } else { &session.browser })) }
                        @if own == Some(session.key.as_str()) { " (this one)" }
                    }
                    div.by { "since " (moment(&session.since)) ", last used " (moment(&session.seen)) }
                    form.inline method="post" action="/sessions" {
                        (token(frame.token))
                        button.quiet type="submit" name="session" value=(session.key) { "End" }
                    }
                }
            }
        }
    })
}
