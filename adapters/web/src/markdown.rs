//! Markdown as HTML. Everything in it may be hostile: no tag comes from a text, and links lead only where they say.

use adjutant_chat::richtext::link_target;
use adjutant_chat::{Block, Inline, RichText, inline_text, sanitized};
use maud::{Markup, html};
use url::Url;

pub(crate) fn markdown(text: &str) -> Markup {
    blocks(&RichText::parse(text).blocks)
}

/// A text from anywhere, as it is.
pub(crate) fn plain(text: &str) -> Markup {
    html! { (sanitized(text)) }
}

/// A text without the code of a link to this page: whoever looks over a shoulder could use it.
pub fn without_code(text: &str) -> String {
    let Some((before, code)) = text.split_once("/login#") else { return text.to_owned() };
    let rest = code.trim_start_matches(|char: char| char.is_ascii_alphanumeric());
    format!("{before}/login#…{rest}")
}

fn blocks(all: &[Block]) -> Markup {
    html! { @for one in all { (block(one)) } }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Paragraph(text) => html! { p { (inlines(text)) } },
        // The page has headings of its own, so these are none for a screen reader.
        Block::Heading { text, .. } => html! { p.heading { (inlines(text)) } },
        Block::Code { text, .. } => html! { pre tabindex="0" { code { (plain(text)) } } },
        Block::Quote(inner) => html! { blockquote { (blocks(inner)) } },
        Block::List { start: Some(first), items } => html! {
            ol start=(first) { @for item in items { li { (blocks(item)) } } }
        },
        Block::List { start: None, items } => html! {
            ul { @for item in items { li { (blocks(item)) } } }
        },
        Block::Table { header, rows } => html! {
            div.wide tabindex="0" {
                table {
                    thead { tr { @for cell in header { th scope="col" { (inlines(cell)) } } } }
                    tbody { @for row in rows { tr { @for cell in row { td { (inlines(cell)) } } } } }
                }
            }
        },
        Block::Rule => html! { hr; },
    }
}

fn inlines(all: &[Inline]) -> Markup {
    html! { @for one in all { (inline(one)) } }
}

fn inline(inline: &Inline) -> Markup {
    match inline {
        Inline::Text(text) => plain(text),
        Inline::Code(text) => html! { code { (plain(text)) } },
        Inline::Bold(inner) => html! { strong { (inlines(inner)) } },
        Inline::Italic(inner) => html! { em { (inlines(inner)) } },
        Inline::Strike(inner) => html! { s { (inlines(inner)) } },
        Inline::Link { to, text } => link(to, text),
        Inline::Break => html! { br; },
    }
}

/// Only the web and mail: an address such as `javascript:` stays text.
fn link(to: &str, text: &[Inline]) -> Markup {
    let is_harmless = Url::parse(to).is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "mailto"));
    let target = link_target(to, &inline_text(text));
    html! {
        @if is_harmless {
            a href=(to) rel="noopener noreferrer nofollow" { (inlines(text)) }
        } @else {
            (inlines(text))
        }
        @if let Some(target) = target { " (" (plain(&target)) ")" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_tag_or_a_script() {
        let html = |text: &str| markdown(text).into_string();
        assert_eq!(html("a **b**\n*c*"), "<p>a <strong>b</strong><br><em>c</em></p>");
        assert_eq!(html("[x](javascript:alert(1))"), "<p>x (javascript:alert(1))</p>");
        assert!(html("<img src=x onerror=alert(1)>").contains("&lt;img"));
        assert!(html("[a](https://b.example/\"onmouseover=x)").matches('"').count() <= 4);
    }
}
