//! Signing in. There are no passwords: the code comes from a chat or the command line.

use adjutant_l10n::{page, page_login};
use maud::{DOCTYPE, html};

use super::Frame;
use crate::markdown::markdown;

/// The form for a code. The link's code is in its fragment, which no server sees; the script puts it into the form.
pub(crate) fn login(error: Option<&str>) -> String {
    let frame = Frame { title: page::sign_in(), path: "/login", viewer: None, token: "", live: None };
    frame.page(&html! {
        section.card {
            h1 { (page::sign_in()) }
            @if let Some(error) = error { p.error role="alert" { (error) } }
            (markdown(&page_login::how_to()))
            form #login method="post" action="/login" {
                label for="code" { (page_login::code()) }
                input #code name="code" type="text" required maxlength="64" autocomplete="off"
                    autocapitalize="off" spellcheck="false";
                button type="submit" { (page::sign_in()) }
            }
        }
    })
}

/// A link from another site brings no cookie with it; the same request from this page does.
pub(crate) fn bounce() -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; meta http-equiv="refresh" content="0"; title { "Adjutant" } }
            body { main { p { a href="" { (page::go_on()) } } } }
        }
    }
    .into_string()
}
