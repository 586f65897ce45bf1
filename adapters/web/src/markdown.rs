//! Markdown as HTML. Everything in it may be hostile: no tag comes from a text, and links lead only where they say.

use adjutant_chat::richtext::markup::url_length;
use adjutant_chat::richtext::{Alignment, link_target};
use adjutant_chat::{Block, Cell, Inline, RichText, inline_text, sanitized};
use maud::{Markup, html};
use url::Url;

pub(crate) fn markdown(text: &str) -> Markup {
    blocks(&RichText::parse(text).blocks)
}

/// A text from anywhere, as it is.
pub(crate) fn plain(text: &str) -> Markup {
    html! { (sanitized(text)) }
}

/// The same with code where it has backticks.
pub(crate) fn with_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (plain(part)) } } @else { (plain(part)) }
        }
    }
}

/// The same with links where it has addresses.
pub(crate) fn linked(text: &str) -> Markup {
    let text = sanitized(text);
    let (mut pieces, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices("http") {
        let begins = text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        if at < from || !begins {
            continue;
        }
        let whole = &text[at..at + url_length(&text[at..], "<>\"'`|")];
        let address = whole.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', ']']);
        // A bracket at the end is of the sentence, unless the address has opened it.
        let address = if address.contains('(') { address } else { address.trim_end_matches(')') };
        if !address.is_empty() {
            pieces.push((&text[from..at], address));
            from = at + address.len();
        }
    }
    html! {
        @for (before, address) in &pieces { (before) (link(address, &[Inline::Text((*address).to_owned())])) }
        (&text[from..])
    }
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
        Block::List { start, items } => {
            let items = html! { @for one in items { li { (item(one)) } } };
            html! { @if let Some(first) = start { ol start=(first) { (items) } } @else { ul { (items) } } }
        }
        Block::Table { align, header, rows } => table(align, header, rows),
        Block::Rule => html! { hr; },
    }
}

fn table(align: &[Alignment], header: &[Cell], rows: &[Vec<Cell>]) -> Markup {
    let classes: Vec<_> = (0..header.len()).map(|column| class_of(align.get(column), rows, column)).collect();
    html! {
        div.wide tabindex="0" {
            table {
                thead {
                    tr { @for (cell, class) in header.iter().zip(&classes) { th scope="col" class=[*class] { (inlines(cell)) } } }
                }
                tbody {
                    @for row in rows {
                        tr { @for (cell, class) in row.iter().zip(&classes) { td class=[*class] { (inlines(cell)) } } }
                    }
                }
            }
        }
    }
}

/// An item of a list, with the box of a task drawn.
fn item(all: &[Block]) -> Markup {
    let Some((Block::Paragraph(text), rest)) = all.split_first() else { return blocks(all) };
    let Some((Inline::Text(begin), more)) = text.split_first() else { return blocks(all) };
    let boxed = [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")];
    let found = boxed.iter().find_map(|(mark, sign)| Some((begin.strip_prefix(mark)?, sign)));
    let Some((begin, sign)) = found else { return blocks(all) };
    html! { p { (sign) (linked(begin)) (inlines(more)) } (blocks(rest)) }
}

/// The class of a column: how the text aligns it, or else whether it has nothing but numbers.
fn class_of(align: Option<&Alignment>, rows: &[Vec<Cell>], column: usize) -> Option<&'static str> {
    let is_number = |row: &Vec<Cell>| {
        let text = row.get(column).map(|cell| inline_text(cell)).unwrap_or_default();
        let bare = text.trim_matches(['+', '-', '−', '$', '€', '£', '%', ' ']);
        !bare.is_empty() && bare.chars().all(|one| one.is_ascii_digit() || ".,' ".contains(one))
    };
    match align {
        Some(Alignment::Left) => None,
        Some(Alignment::Center) => Some("center"),
        Some(Alignment::Right) => Some("number"),
        _ => (!rows.is_empty() && rows.iter().all(is_number)).then_some("number"),
    }
}

fn inlines(all: &[Inline]) -> Markup {
    html! { @for one in all { (inline(one, true)) } }
}

/// Within a link, an address is no other link.
fn inline(inline: &Inline, has_links: bool) -> Markup {
    let inlines = |all: &[Inline]| html! { @for one in all { (self::inline(one, has_links)) } };
    match inline {
        Inline::Text(text) if has_links => linked(text),
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
    let text = html! { @for one in text { (inline(one, false)) } };
    html! {
        @if is_harmless { a href=(to) rel="noopener noreferrer nofollow" { (text) } } @else { (text) }
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

    #[test]
    fn an_address_is_a_link_and_ends_before_the_sentence_does() {
        let to = |text: &str| {
            let html = linked(text).into_string();
            let links = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            links.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            to("(see https://a.example/x?y=1), or http://b.example."),
            ["https://a.example/x?y=1", "http://b.example"]
        );
        assert_eq!(to("https://a.example/b_(c)"), ["https://a.example/b_(c)"]);
        for none in ["xhttps://a.example", "https://", "javascript:alert(1)", "data:text/html,x", "http:/a"] {
            assert_eq!(to(none), [""; 0], "{none}");
        }
        let hostile =
            linked("https://a.example/\"onmouseover=x <b> https://bank.example@evil.example/").into_string();
        assert!(!hostile.contains("\"onmouseover") && !hostile.contains("<b>"), "{hostile}");
        assert!(hostile.contains("(evil.example)"), "{hostile}");
        let inner = markdown("[https://a.example](https://a.example)").into_string();
        assert_eq!(inner.matches("<a ").count(), 1, "{inner}");
    }

    #[test]
    fn columns_are_aligned_and_tasks_have_their_boxes() {
        let html = markdown("| what | how much |\n|---|---|\n| a1 | $1,200.50 |\n| 2 | -3 % |").into_string();
        assert_eq!(html.matches("class=\"number\"").count(), 3, "{html}");
        let html = markdown("| a | b | c | d |\n|:--|:-:|--:|---|\n| 1 | 2 | x | y |").into_string();
        for cell in ["<td>1</td>", "<td class=\"center\">2</td>", "<td class=\"number\">x</td>", "<td>y</td>"]
        {
            assert!(html.contains(cell), "{cell}: {html}");
        }
        let html = markdown("- [x] done\n- [ ] open\n- [y] other").into_string();
        assert!(html.contains("☑ done") && html.contains("☐ open") && html.contains("[y] other"), "{html}");
    }
}
