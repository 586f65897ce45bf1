//! The people an owner may look at, and the browsers that are signed in.

use adjutant_l10n::{page, page_passkeys, page_people};
use maud::{Markup, html};

use super::Frame;
use super::layout::{filled, moment, token};
use super::login::passkey_form;
use super::notify::notifications;
use crate::PasskeyLine;
use crate::markdown::plain;
use crate::views::{PersonLine, Session};

pub(crate) fn people(frame: &Frame<'_>, people: &[PersonLine]) -> String {
    frame.page(&html! {
        h1.small { (page::people()) }
        p { (page_people::looks_are_logged()) " " a href="/settings" { (page_people::who_may()) } }
        ul.plain #live data-whole="yes" {
            @for one in people {
                li {
                    a href={ "/talk?person=" (one.person) } {
                        @if one.name.is_empty() { (page_people::no_name()) } @else { (plain(&one.name)) }
                    }
                    " " (moment(&one.last))
                    @if one.is_owner { " · " (page_people::owner()) }
                    div.by { (plain(&one.accounts.join(", "))) }
                }
            }
        }
    })
}

/// The viewer's sessions, passkeys, and the address that those are for.
pub(crate) fn sessions(
    frame: &Frame<'_>,
    sessions: &[Session],
    keys: &[PasskeyLine],
    origin: Option<&str>,
) -> String {
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
        @if let Some(session) = sessions.iter().find(|session| own == Some(session.key.as_str())) {
            (notifications(frame, session.notified))
        }
        (passkeys(frame, keys, origin))
        h2 { (page_people::browsers()) }
        p { (page_people::signed_in()) }
        ul.plain {
            @for session in sessions {
                li {
                    div id={ "browser-" (session.key) } {
                        (browser(&session.browser))
                        @if own == Some(session.key.as_str()) { " · " (page_people::this_one()) }
                        @if session.by_passkey { " · " (page_people::by_passkey()) }
                    }
                    div.by {
                        (filled(page_people::since, &moment(&session.since))) ", "
                        (filled(page_people::last_used, &moment(&session.seen)))
                    }
                    form.inline method="post" action="/sessions" {
                        (token(frame.token))
                        button.quiet type="submit" name="session" value=(session.key)
                            aria-describedby={ "browser-" (session.key) } { (page::sign_out()) }
                    }
                }
            }
        }
    })
}

/// Where passkeys work, and the viewer's. The script shows the form where the browser can make one.
fn passkeys(frame: &Frame<'_>, passkeys: &[PasskeyLine], origin: Option<&str>) -> Markup {
    html! {
        @if origin.is_some() || !passkeys.is_empty() {
            h2 { (page_passkeys::passkeys()) }
            p { (page_passkeys::about()) }
        }
        @if let Some(origin) = origin {
            p #no-passkey { (page_passkeys::works_at(origin)) }
            (passkey_form("/passkeys", origin, &html! {
                (token(frame.token))
                p { (page_passkeys::offer()) }
                button type="submit" { (page_passkeys::add_button()) }
            }))
        }
        ul.plain {
            @for passkey in passkeys {
                li {
                    div id={ "passkey-" (passkey.key) } { (browser(&passkey.browser)) }
                    div.by {
                        (filled(page_people::since, &moment(&passkey.since))) ", "
                        @match &passkey.used {
                            Some(used) => (filled(page_people::last_used, &moment(used))),
                            None => (page_passkeys::not_used()),
                        }
                    }
                    form.inline method="post" action="/passkeys" {
                        (token(frame.token))
                        button.quiet type="submit" name="remove" value=(passkey.key)
                            aria-describedby={ "passkey-" (passkey.key) } { (page_passkeys::remove_button()) }
                    }
                }
            }
        }
    }
}

/// What a browser is: the first of these by whose sign it calls itself, and its system.
fn browser(agent: &str) -> Markup {
    const BROWSERS: [(&str, &str); 7] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox", "Firefox"),
        ("FxiOS", "Firefox"),
        ("Chrome", "Chrome"),
        ("CriOS", "Chrome"),
        ("Safari", "Safari"),
    ];
    const SYSTEMS: [&str; 6] = ["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"];
    let name = BROWSERS.iter().find(|(sign, _)| agent.contains(*sign)).map(|(_, name)| *name);
    let system = SYSTEMS.iter().find(|system| agent.contains(**system)).copied();
    html! {
        b {
            @match (name, system) {
                (Some(browser), Some(system)) => (page_people::browser_on(browser, system)),
                (Some(browser), None) => (browser),
                _ if agent.is_empty() => (page_people::unknown_browser()),
                _ => (plain(agent)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_has_the_name_that_people_know() {
        let shown = |agent: &str| browser(agent).into_string();
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
        assert_eq!(shown(chrome), "<b>Chrome on Linux</b>");
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 Version/19.1 Safari/604.1";
        assert_eq!(shown(safari), "<b>Safari on iPhone</b>");
        let edge = format!("{chrome} Edg/156.0.0.0");
        assert_eq!(shown(&edge.replace("X11; Linux x86_64", "Windows NT 10.0")), "<b>Edge on Windows</b>");
        assert_eq!(shown(&format!("{chrome} OPR/120.0.0.0")), "<b>Opera on Linux</b>");
        assert_eq!(shown(&safari.replace("Version/19.1", "CriOS/156.0")), "<b>Chrome on iPhone</b>");
        assert_eq!([shown("curl/8.5.0"), shown("")], ["<b>curl/8.5.0</b>", "<b>Unknown browser</b>"]);
    }
}
