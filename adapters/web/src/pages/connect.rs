//! Logins at providers. Whoever has the link may be signed in here or not.

use adjutant_l10n::connect as words;
use maud::html;

use super::Frame;
use super::layout::leads_on;
use crate::markdown::plain;
use crate::views::LoginOffer;

fn frame() -> Frame<'static> {
    Frame { title: words::page_title(), path: "/connect", viewer: None, token: "", live: None }
}

/// Who asked for the login, and the button or the form that goes on.
pub(crate) fn connect(nonce: &str, offer: &LoginOffer, error: Option<&str>) -> String {
    let about = match offer.is_by_password {
        true => words::page_form_about(&offer.person),
        false => words::page_about(&offer.provider, &offer.person),
    };
    frame().page(&html! {
        section.card {
            h1 { (words::page_title()) }
            @if let Some(error) = error { p.error role="alert" { (plain(error)) } }
            p { (plain(&about)) }
            form method="post" action={ "/connect/" (nonce) } {
                @if offer.is_by_password {
                    label for="address" { (words::page_address()) }
                    input #address name="address" type="email" required maxlength="254" autocomplete="off";
                    label for="password" { (words::page_password()) }
                    input #password name="password" type="password" required maxlength="200"
                        autocomplete="off";
                    button type="submit" { (words::page_connect()) }
                } @else {
                    button type="submit" { (words::page_go_on()) }
                }
            }
        }
    })
}

/// On to the provider. A form that is answered with a redirect may lead nowhere but here.
pub(crate) fn onward(to: &str) -> String {
    leads_on(&format!("0; url={to}"), to)
}

pub(crate) fn connect_ended(text: &str) -> String {
    frame().page(&html! {
        section.card {
            h1 { (words::page_title()) }
            p { (plain(text)) }
            p { (words::page_close()) }
        }
    })
}
