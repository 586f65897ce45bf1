//! The people an owner may look at, and the browsers that are signed in.

use adjutant_l10n::{page, page_people};
use maud::html;

use super::Frame;
use super::layout::{filled, moment, token};
use crate::markdown::plain;
use crate::views::{PersonLine, Session};

/// The list of people.
pub(crate) fn people(frame: &Frame<'_>, people: &[PersonLine]) -> String {
    frame.page(&html! {
        h1.small { (page::people()) }
        p { (page_people::looks_are_logged()) }
        ul.plain {
            @for one in people {
                li {
                    a href={ "/talk?person=" (one.person) } {
                        @if one.name.is_empty() { (page_people::no_name()) } @else { (plain(&one.name)) }
                    }
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
        h1.small { (page::account()) }
        @if let Some(viewer) = frame.viewer {
            p { (filled(page_people::you_are, &html! { b { (plain(&viewer.name)) } })) }
        }
        form method="post" action="/logout" {
            (token(frame.token))
            button type="submit" { (page::sign_out()) }
        }
        h2 { (page_people::browsers()) }
        p { (page_people::signed_in()) }
        ul.plain {
            @for session in sessions {
                li {
                    div {
                        b {
                            @if session.browser.is_empty() { (page_people::unknown_browser()) }
                            @else { (plain(&session.browser)) }
                        }
                        @if own == Some(session.key.as_str()) { " " (page_people::this_one()) }
                    }
                    div.by {
                        (filled(page_people::since, &moment(&session.since))) ", "
                        (filled(page_people::last_used, &moment(&session.seen)))
                    }
                    form.inline method="post" action="/sessions" {
                        (token(frame.token))
                        button.quiet type="submit" name="session" value=(session.key) { (page::sign_out()) }
                    }
                }
            }
        }
    })
}
