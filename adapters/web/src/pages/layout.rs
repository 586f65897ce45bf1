//! What all pages share.

use adjutant_l10n::{page, page_talk};
use maud::{DOCTYPE, Markup, html};

use crate::assets::VERSION;
use crate::markdown::plain;
use crate::views::{Badge, Moment, Viewer};

pub(crate) const MAX_FILES: usize = 10;

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
    pub(crate) fn page(&self, content: &Markup) -> String {
        let head = head(&self.title, self.viewer);
        let (after, of) = self.live.clone().unwrap_or_default();
        html! {
            (DOCTYPE)
            html lang="en" {
                (head)
                body data-after=[self.live.as_ref().map(|_| after)] data-person=[self.live.as_ref().map(|_| of)] {
                    a.skip href="#main" { (page::skip()) }
                    @if let Some(viewer) = self.viewer { (self.header(viewer)) }
                    main #main tabindex="-1" { (content) }
                    p #note role="status" aria-live="polite" data-lost=(page::connection_lost())
                        data-sending=(page::sending())
                        data-unsent=(page::not_arrived()) data-refused=(page::not_accepted())
                        data-below=(page::new_below()) data-copy=(page::copy()) data-copied=(page::copied())
                        data-files=(page::too_many_files(MAX_FILES)) data-remove=(page_talk::remove('#'))
                        data-found=(page::found('#')) data-left=(page::characters_left('#')) data-over=(page::characters_over('#')) {}
                    p.hidden #aloud aria-live="polite" {}
                }
            }
        }
        .into_string()
    }

    fn header(&self, viewer: &Viewer) -> Markup {
        let first = [
            ("/", page::now(), "M4 13h5l1.5 3h3L15 13h5M4 13l2.5-8h11L20 13v6H4z"),
            ("/talk", page::conversation(), "M4 5h16v11H9l-5 4z"),
            ("/things", page::yours(), "M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1"),
        ];
        let mut more = vec![
            ("/search", page::search(), "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4"),
            ("/plans", page::plans(), "M6 4h12v16H6zM9 9h6M9 13h6"),
            ("/workflows", page::workflows(), "M4 5h6v5H4zM14 14h6v5h-6zM10 7.5h7V14"),
            ("/accounts", page::accounts(), "M9 12h6M8 8H7a4 4 0 0 0 0 8h1M16 8h1a4 4 0 0 1 0 8h-1"),
            ("/usage", page::usage(), "M5 19v-6M12 19V5M19 19v-9"),
        ];
        if viewer.is_owner {
            let people = "M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19c0-3 3-5 6-5s6 2 6 5M16 6a3 3 0 0 1 0 5M18 14c2 1 3 3 3 5";
            more.push(("/people", page::people(), people));
            more.push(("/system", page::system(), "M12 8v4l3 2M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z"));
            let settings = "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4";
            more.push(("/settings", page::settings(), settings));
        }
        let account = "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20c0-4 3-6 7-6s7 2 7 6";
        more.push(("/sessions", page::account(), account));
        let is_in_more = more.iter().any(|(path, ..)| *path == self.path);
        html! {
            header.top {
                span.brand { (plain(&viewer.assistant)) }
                nav aria-label=(page::pages()) {
                    @for (path, name, icon) in &first { (self.entry(viewer, path, name, icon)) }
                    details.more {
                        summary aria-current=[is_in_more.then_some("true")] {
                            (drawn("M5 12h.1M12 12h.1M19 12h.1")) span { (page::more()) }
                        }
                        ul { @for (path, name, icon) in &more { li { (self.entry(viewer, path, name, icon)) } } }
                    }
                }
            }
        }
    }

    fn entry(&self, viewer: &Viewer, path: &str, name: &str, icon: &str) -> Markup {
        html! {
            a href=(path) aria-current=[(path == self.path).then_some("page")] {
                (drawn(icon)) span { (name) }
                @if path == "/" && viewer.waiting > 0 {
                    span.count { (viewer.waiting) span.hidden { " " (page::waiting()) } }
                }
            }
        }
    }
}

fn drawn(path: &str) -> Markup {
    html! { svg viewBox="0 0 24 24" aria-hidden="true" { path d=(path) {} } }
}

fn head(title: &str, viewer: Option<&Viewer>) -> Markup {
    let (waiting, assistant) =
        viewer.map_or((0, "Adjutant"), |viewer| (viewer.waiting, viewer.assistant.as_str()));
    let of = |file: &str| format!("/assets/{file}?{}", *VERSION);
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            title { @if waiting > 0 { "(" (waiting) ") " } (plain(title)) " · " (plain(assistant)) }
            link rel="stylesheet" href=(of("page.css"));
            link rel="manifest" href="/manifest.webmanifest";
            link rel="apple-touch-icon" href="/assets/icon-180.png";
            @let icon = if waiting > 0 { "/assets/waiting.svg" } else { "/assets/icon.svg" };
            link rel="icon" href=(icon) type="image/svg+xml";
            script src=(of("page.js")) defer {}
            script src=(of("app.js")) defer {}
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

pub(super) fn moment(moment: &Moment) -> Markup {
    html! { time datetime=(moment.exact) { (moment.shown) } }
}

/// A time within its day.
pub(super) fn clock(moment: &Moment) -> Markup {
    html! { time datetime=(moment.exact) title=(moment.shown) { (moment.clock) } }
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

/// A page that the browser leaves at once, even without the script.
pub(super) fn leads_on(refresh: &str, to: &str) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; meta http-equiv="refresh" content=(refresh); title { "Adjutant" } }
            body { main { p { a href=(to) { (page::go_on()) } } } }
        }
    }
    .into_string()
}

/// A page that says one thing.
pub(crate) fn message(frame: &Frame<'_>, text: &str) -> String {
    frame.page(&html! {
        h1 { (plain(&frame.title)) }
        p { (plain(text)) }
        @if frame.viewer.is_none() { p { a href="/login" { (page::sign_in()) } } }
    })
}
