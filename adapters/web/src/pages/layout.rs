//! What all pages share.

use adjutant_l10n::{page, page_accounts};
use maud::{DOCTYPE, Markup, html};

use crate::assets::VERSION;
use crate::markdown::plain;
use crate::views::{Badge, Moment, Viewer};

/// A page's surroundings.
pub(crate) struct Frame<'a> {
    pub(crate) title: String,
    /// The path of the entry in the navigation.
    pub(crate) path: &'a str,
    pub(crate) viewer: Option<&'a Viewer>,
    /// What every form holds.
    pub(crate) token: &'a str,
    /// Where the stream of changes goes on, and whose it is.
    pub(crate) live: Option<(String, String)>,
}

impl Frame<'_> {
    /// The whole document.
    pub(crate) fn page(&self, content: &Markup) -> String {
        let head = head(&self.title);
        let (after, of) = self.live.clone().unwrap_or_default();
        html! {
            (DOCTYPE)
            html lang="en" {
                (head)
                body data-after=[self.live.as_ref().map(|_| after)] data-person=[self.live.as_ref().map(|_| of)] {
                    a.skip href="#main" { (page::skip()) }
                    @if let Some(viewer) = self.viewer { (self.header(viewer)) }
                    main #main tabindex="-1" { (content) }
                    p #note role="status" aria-live="polite" {}
                    p.hidden #aloud aria-live="polite" {}
                }
            }
        }
        .into_string()
    }

    fn header(&self, viewer: &Viewer) -> Markup {
        let own = [
            ("/", page::now()),
            ("/talk", page::conversation()),
            ("/plans", page::plans()),
            ("/workflows", page::workflows()),
            ("/things", page::yours()),
            ("/accounts", page_accounts::title()),
            ("/usage", page::usage()),
        ];
        let owners = [("/people", page::people()), ("/system", page::system())];
        let owners = owners.into_iter().filter(|_| viewer.is_owner);
        html! {
            header.top {
                span.brand { "Adjutant" }
                nav aria-label=(page::pages()) {
                    @for (path, name) in own.into_iter().chain(owners).chain([("/sessions", page::account())]) {
                        a href=(path) aria-current=[(path == self.path).then_some("page")] { (name) }
                    }
                }
            }
        }
    }
}

fn head(title: &str) -> Markup {
    let (css, js) = (format!("/assets/page.css?{}", *VERSION), format!("/assets/page.js?{}", *VERSION));
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            title { (plain(title)) " · Adjutant" }
            link rel="stylesheet" href=(css);
            link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
            script src=(js) defer {}
        }
    }
}

/// The field against forged forms.
pub(super) fn token(token: &str) -> Markup {
    html! { input type="hidden" name="token" value=(token); }
}

/// How something stands, in a shape and a word.
pub(super) fn badge(badge: Badge) -> Markup {
    let (word, shape, class) = badge.look();
    html! {
        span class={ "badge " (class) } { span aria-hidden="true" { (shape) } " " (word) }
    }
}

/// A time.
pub(super) fn moment(moment: &Moment) -> Markup {
    html! { time datetime=(moment.exact) { (moment.shown) } }
}

/// Small figures beside one another.
pub(super) fn figures(figures: &[String]) -> Markup {
    html! {
        @if !figures.is_empty() { span.figures { (plain(&figures.join(" · "))) } }
    }
}

/// A sentence with markup in the place of its argument.
pub(super) fn filled(sentence: impl FnOnce(char) -> String, markup: &Markup) -> Markup {
    // No text has this character, so it marks the place.
    let text = sentence('\0');
    let (before, after) = text.split_once('\0').unwrap_or((text.as_str(), ""));
    html! { (before) (markup) (after) }
}

/// A page that says one thing.
pub(crate) fn message(frame: &Frame<'_>, text: &str) -> String {
    frame.page(&html! {
        h1 { (plain(&frame.title)) }
        p { (plain(text)) }
        @if frame.viewer.is_none() { p { a href="/login" { (page::sign_in()) } } }
    })
}
