//! Signing in. There are no passwords: the code comes from a chat or the command line, a passkey from a device.

use adjutant_l10n::{page, page_login, page_passkeys};
use maud::{Markup, html};

use super::Frame;
use super::layout::{leads_on, token};
use crate::assets::VERSION;
use crate::markdown::{markdown, plain};

/// The form for a code, and the address at which people sign in with passkeys. The link's code is in its fragment, which no
/// server sees; the script puts it into the form.
pub(crate) fn login(error: Option<&str>, passkeys: Option<&str>) -> String {
    let frame = Frame { title: page::sign_in(), path: "/login", viewer: None, token: "", live: None };
    frame.page(&html! {
        section.card {
            h1 { (page::sign_in()) }
            @if let Some(error) = error { p.error role="alert" { (error) } }
            (markdown(&page_login::how_to()))
            form #login method="post" action="/login" data-cut=(page_login::cut_link()) {
                // The script puts the page there that was asked for.
                input type="hidden" name="next" value="";
                label for="code" { (page_login::code()) }
                input #code name="code" type="text" required maxlength="64" autocomplete="off"
                    autocapitalize="off" spellcheck="false";
                button type="submit" { (page::sign_in()) }
            }
            @if let Some(origin) = passkeys {
                (passkey_form("/login/passkey", origin, &html! {
                    button.quiet type="submit" { (page_passkeys::sign_in()) }
                }))
            }
        }
    })
}

/// A code of somebody else than who is signed in here: an attacker could have sent the link.
pub(crate) fn another(frame: &Frame<'_>, name: &str, code: &str, next: &str) -> String {
    let own = frame.viewer.map(|viewer| viewer.name.as_str()).unwrap_or_default();
    frame.page(&html! {
        section.card {
            h1 { (page::sign_in()) }
            p { (plain(&page_login::somebody_else(own, name))) }
            form method="post" action="/login" {
                (token(frame.token))
                input type="hidden" name="code" value=(code);
                input type="hidden" name="next" value=(next);
                button type="submit" { (plain(&page_login::switch_to(name))) }
            }
            p { a href="/" { (plain(&page_login::stay(own))) } }
        }
    })
}

/// A link from another site brings no cookie with it; the same request from this page does.
pub(crate) fn bounce() -> String {
    leads_on("0", "")
}

/// A form that the script fills with what an authenticator answers, with its script.
pub(super) fn passkey_form(action: &str, origin: &str, content: &Markup) -> Markup {
    html! {
        form #passkey method="post" action=(action) hidden data-origin=(origin)
            data-failed=(page_passkeys::not_given()) data-known=(page_passkeys::known()) {
            (content)
            p.error role="alert" {}
        }
        script src={ "/assets/passkeys.js?" (*VERSION) } defer {}
    }
}
