//! Converts HTML to text, without content that is invisible in a browser.

mod look;

use std::rc::Rc;

use html2text::{Element, Handle, RcDom, config};
use look::{Look, attribute};
use url::Url;

/// How much of a page is read, in bytes.
const MAX_PAGE: usize = 256 << 10;

/// How many elements may be open at once; the parser slows down with each.
const MAX_OPEN: usize = 1000;

/// Elements without an end tag.
const VOID: [&str; 11] = ["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"];

/// Elements without text for people.
const SILENT: [&str; 7] = ["script", "style", "template", "noscript", "object", "iframe", "head"];

/// Elements that begin a line of their own, so that a cell with one isn't a piece of data.
const BLOCKS: [&str; 12] = ["table", "p", "div", "br", "hr", "ul", "ol", "dl", "pre", "form", "h1", "h2"];

/// The deepest nesting; pages that go deeper are made to exhaust us.
const MAX_DEPTH: usize = 200;

const WIDTH: usize = 100;

/// Stands under a text of which a part was hidden.
pub(crate) const HIDDEN: &str = "\n[Hidden text was left out.]";

/// The text of a page with its links as notes below, and whether it was truncated. What an element's own style or `hidden`
/// hides is left out, with a note. Scripts, styles, comments and templates are left out without one. Links show their host,
/// and descriptions of images are marked.
pub fn readable(page: &str) -> (String, bool) {
    let whole = page.len();
    let page = bounded(page);
    let config = config::plain().raw_mode(true).no_link_wrapping().allow_width_overflow();
    let Ok(tree) = config.parse_html(page.as_bytes()) else { return (String::new(), true) };
    let has_hidden = take_hidden(&tree);
    let text = config.dom_to_render_tree(&tree).and_then(|tree| config.render_to_string(tree, WIDTH));
    let text = text.unwrap_or_default();
    let note = if has_hidden || has_smuggled(&text) { HIDDEN } else { "" };
    (visible(&text) + note, page.len() < whole)
}

/// A plain text without invisible characters, with a note if those said something.
pub(crate) fn plain(text: &str) -> String {
    visible(text) + if has_smuggled(text) { HIDDEN } else { "" }
}

/// Takes out what nobody sees, and says where links lead. Returns whether there was hidden text.
fn take_hidden(tree: &RcDom) -> bool {
    let (mut has_hidden, mut seen) = (false, Vec::new());
    let mut open = vec![(tree.document.clone(), 0, Look::default())];
    while let Some((node, depth, look)) = open.pop() {
        let mut inner = Vec::new();
        node.children.borrow_mut().retain(|child| match &child.data {
            Element { name, .. } => {
                let is_silent = SILENT.contains(&&*name.local);
                let look = if is_silent { look } else { look.within(child) };
                let stays = depth < MAX_DEPTH && !is_silent && !look.is_hidden();
                if stays {
                    inner.push((child.clone(), depth + 1, look));
                } else if !is_silent && look.is_hidden() {
                    has_hidden |= says_something(child);
                }
                stays
            }
            _ if look.shows() => true,
            _ => {
                has_hidden |= !visible(&own_text(child)).trim().is_empty();
                false
            }
        });
        seen.extend(inner.iter().map(|(child, ..)| child.clone()));
        open.extend(inner);
    }
    // From the innermost: what has become empty leaves its marks behind otherwise.
    for node in seen.iter().rev() {
        node.children.borrow_mut().retain(|child| !is_empty_mark(child));
        describe(node);
        join_cells(node);
    }
    has_hidden
}

/// Puts the cells of a row of data on one line. A row that a page is laid out with stays as it is.
fn join_cells(row: &Handle) {
    if !is_one_of(row, &["tr"]) {
        return;
    }
    let mut cells = row.children.borrow().clone();
    cells.retain(|child| is_one_of(child, &["td", "th"]));
    let is_full = |cell: &&Handle| !inner_text(cell).trim().is_empty();
    let has_block = |cell: &Handle| nodes(cell).iter().any(|node| is_one_of(node, &BLOCKS));
    let Some((first, others)) = cells.split_first() else { return };
    if others.is_empty() || cells.iter().any(has_block) || cells.iter().filter(is_full).count() < 2 {
        return;
    }
    for cell in others {
        let inner = std::mem::take(&mut *cell.children.borrow_mut());
        first.children.borrow_mut().extend(text_node(" | ").into_iter().chain(inner));
    }
    row.children.borrow_mut().retain(|child| !others.iter().any(|cell| Rc::ptr_eq(cell, child)));
}

/// Whether nothing is in an element that would be shown with marks around it.
fn is_empty_mark(node: &Handle) -> bool {
    const MARKED: [&str; 8] = ["a", "b", "strong", "code", "s", "del", "strike", "sup"];
    is_one_of(node, &MARKED) && node.children.borrow().is_empty()
}

/// Marks the description of an image, and shows the host of a link.
fn describe(node: &Handle) {
    let Element { name, attrs, .. } = &node.data else { return };
    if matches!(&*name.local, "img" | "area") {
        for alt in attrs.borrow_mut().iter_mut().filter(|one| &*one.name.local == "alt") {
            let text = one_line(&alt.value);
            alt.value = if text.is_empty() { text } else { format!("image: {text}") }.into();
        }
    }
    if &*name.local == "a"
        && !node.children.borrow().is_empty()
        && let Some(host) = attribute(node, "href").and_then(|href| host_to_show(&href, &inner_text(node)))
        && let Some(note) = text_node(&format!(" ({host})"))
    {
        node.children.borrow_mut().push(note);
    }
}

/// Where a link leads, if its text doesn't say it.
fn host_to_show(href: &str, text: &str) -> Option<String> {
    let base = Url::parse("https://relative.invalid/").ok()?;
    let to = base.join(href).ok()?;
    if to.scheme() == "mailto" {
        let address = to.path();
        return (!text.trim().eq_ignore_ascii_case(address)).then(|| address.to_owned());
    }
    // A link within the page or its site leads nowhere else.
    let host = to.host_str().filter(|host| *host != "relative.invalid")?;
    let text = text.trim();
    let said = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("https://{text}")) };
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A name before the host would pass for it.
    let is_address = rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.is_ascii()
        && !text.contains(char::is_whitespace)
        && !authority.contains(['@', '\\']);
    let says_it = is_address && said.is_ok_and(|said| said.host_str() == Some(host));
    (!says_it).then(|| host.to_owned())
}

/// A piece of text for the tree, whose library lets nobody make one.
fn text_node(text: &str) -> Option<Handle> {
    let text = text.replace(['<', '&'], "");
    let tree = config::plain().parse_html(format!("<i>{text}").as_bytes()).ok()?;
    // It has to leave its tree, which takes everything along when it ends.
    let marked = nodes(&tree.document).into_iter().rfind(|node| is_one_of(node, &["i"]))?;
    marked.children.borrow_mut().pop()
}

/// Whether it is an element of one of these names.
fn is_one_of(node: &Handle, names: &[&str]) -> bool {
    matches!(&node.data, Element { name, .. } if names.contains(&&*name.local))
}

/// A node and all below, in their order.
fn nodes(root: &Handle) -> Vec<Handle> {
    let (mut all, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(node) = open.pop() {
        open.extend(node.children.borrow().iter().rev().cloned());
        all.push(node);
    }
    all
}

/// The text inside of a node, hidden or not.
fn inner_text(node: &Handle) -> String {
    nodes(node).iter().map(own_text).collect()
}

/// The text of a node that is one; the library shows it as a line of a dump.
fn own_text(node: &Handle) -> String {
    match &node.data {
        Element { .. } => String::new(),
        _ if !node.children.borrow().is_empty() => String::new(),
        _ => {
            let dump = RcDom::node_as_dom_string(node);
            let text = dump.strip_prefix("Text:").unwrap_or_default();
            text.strip_suffix('\n').unwrap_or(text).to_owned()
        }
    }
}

/// Whether a person would read something there if it were shown.
fn says_something(node: &Handle) -> bool {
    let mut open = vec![node.clone()];
    while let Some(node) = open.pop() {
        let alt = attribute(&node, "alt").unwrap_or_default();
        if [own_text(&node), alt].iter().any(|text| !visible(text).trim().is_empty()) {
            return true;
        }
        open.extend(node.children.borrow().iter().filter(|child| !is_one_of(child, &SILENT)).cloned());
    }
    false
}

/// The page up to the point where it is too long or too deep.
fn bounded(page: &str) -> &str {
    let page = page.get(..page.floor_char_boundary(MAX_PAGE)).unwrap_or(page);
    let mut open = 0usize;
    for (at, _) in page.match_indices('<') {
        let tag = page.get(at + 1..).unwrap_or_default();
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if !name.is_empty() && !VOID.contains(&name.to_ascii_lowercase().as_str()) {
            open += 1;
        }
        if open > MAX_OPEN {
            return page.get(..at).unwrap_or(page);
        }
    }
    page
}

/// One line, without invisible characters.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without invisible characters and repeated empty lines.
pub(crate) fn visible(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = visible_line(&line.replace('\u{a0}', " "));
        let line = line.trim_end();
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n").trim_end().to_owned()
}

fn visible_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let is_kept = match c {
            '\t' => true,
            // Joiners shape letters of other scripts and emoji, one between two of them.
            '\u{200c}' | '\u{200d}' => {
                !before.is_ascii() && chars.peek().is_some_and(|next| !next.is_ascii())
            }
            '\u{fe00}'..='\u{fe0f}' => !matches!(before, '\u{fe00}'..='\u{fe0f}'),
            c => !is_invisible(c),
        };
        if is_kept && !(is_joiner(c) && is_joiner(before)) {
            out.push(c);
            before = c;
        }
    }
    out
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_invisible(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' => true,
        '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        c => is_smuggled(c) || c.is_control(),
    }
}

/// Whether it is one of the invisible characters that can spell any text: tags, and selectors of variants.
fn is_smuggled(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether invisible characters spell something. A flag has a few of them, and a rare letter one.
fn has_smuggled(text: &str) -> bool {
    let mut allowed = 1_usize;
    for c in text.chars() {
        match (is_smuggled(c), allowed.checked_sub(1)) {
            (true, None) => return true,
            (true, Some(left)) => allowed = left,
            (false, _) => allowed = if c == '\u{1f3f4}' { 6 } else { 1 },
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{bounded, readable};

    #[test]
    fn what_is_hidden_is_told_from_what_only_looks_so() {
        for (style, is_shown) in [
            ("font-size:0", false),
            ("font-size:0; font-size:12px", true),
            ("max-height:0;overflow:hidden", false),
            ("height:0", true),
            ("opacity:0.0", false),
            ("opacity:0.8", true),
            ("VISIBILITY : Hidden", false),
            ("text-indent:-9999px", false),
            ("text-indent:-2em", true),
            ("display:block", true),
        ] {
            let (text, _) = readable(&format!("<p>one <span style=\"{style}\">two</span></p>"));
            assert_eq!(text.contains("two"), is_shown, "{style}: {text}");
        }
        let (text, _) =
            readable("<div style='font-size:0px'>x<div style='font-size:13px'>y<b>z</b></div></div>");
        assert_eq!(text, format!("y**z**\n{NOTE}"));
        assert_eq!(readable("a<br>b<!-- c --><noscript>d</noscript>").0, "a\nb", "nothing to report");
    }

    const NOTE: &str = "[Hidden text was left out.]";

    #[test]
    fn hidden_text_is_left_out_and_reported() {
        for hidden in [
            "<p style='font:1px/1 Arial'>two</p>",
            "<p style='font-size:10%'><b style='font-size:0.5em'>two</b></p>",
            "<p style='position:absolute;left:-9999px'>two</p>",
            "<p style='position:fixed;top:-100%'>two</p>",
            "<p style='position:absolute;clip:rect(1px, 1px, 1px, 1px)'>two</p>",
            "<p style='position:absolute;width:1px;overflow:hidden'>two</p>",
            "<p style='text-indent:100em;margin-left:-100em'>two</p>",
            "<p style='transform:translateX(-5000px)'>two</p>",
            "<p style='transform:scale(0)'>two</p>",
            "<p style='filter:opacity(0)'>two</p>",
            "<p style='clip-path:inset(50%)'>two</p>",
            "<p hidden><b>two</b></p>",
            "<p style='display:none'><img src=x alt=two></p>",
            "<img src=x width=1 height=1 alt=two>",
            "<p>&#xe0074;&#xe0077;&#xe006f;</p>",
        ] {
            let (text, _) = readable(&format!("<p>one</p>{hidden}"));
            assert_eq!(text.replace("\n\n", "\n"), format!("one\n{NOTE}"), "{hidden}");
        }
    }

    #[test]
    fn what_people_see_is_not_reported() {
        for shown in [
            "<p style='color:#ddd'>two</p>",
            "<p style='color:#f00;background:#07f'>two</p>",
            "<table bgcolor=black><tr><td style='color:white'>two</td></tr></table>",
            "<table background='x.png'><tr><td style='color:white'>two</td></tr></table>",
            "<div style='background:url(x.png) no-repeat'><p style='color:white'>two</p></div>",
            "<link rel=stylesheet href=x.css><p style='color:white'>two</p>",
            "<style>@media (max-width:600px){p{color:#fff}} @media print{p{display:none}}</style><p>two</p>",
            "<style>a:hover{color:#fff} p[title]{color:#fff}</style><p>two</p>",
            "<style>.x{color:#fff} p.x{color:#000}</style><p class=x>two</p>",
            "<div style='font-size:0'><p style='font:bold 12px/1.5 Arial'>two</p></div>",
            "<p style='margin-left:-100%;left:-100%'>two</p>",
            "<p style='display:none;display:block'>two</p>",
            "<p style='display:none'> &nbsp;&zwnj;\u{34f}</p><p>two</p>",
            "<img src=x width=1 height=1 alt=''><p>two</p>",
        ] {
            assert_eq!(readable(shown).0, "two", "{shown}");
        }
        let flag = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        assert!(!readable(flag).0.contains(NOTE));
    }

    #[test]
    fn links_show_where_they_lead() {
        let link = |href: &str, text: &str| {
            let (text, _) = readable(&format!("<a href=\"{href}\">{text}</a>"));
            text.lines().next().unwrap().to_owned()
        };
        for (href, text, shown) in [
            ("https://evil.example/x", "reset here", "[reset here (evil.example)][1]"),
            (
                "https://evil.example/x",
                "https://bank.example/reset",
                "[https://bank.example/reset (evil.example)][1]",
            ),
            (
                "https://evil.example/x",
                "https://evil.example@bank.example",
                "[https://evil.example@bank.example (evil.example)][1]",
            ),
            ("https://bank.example@evil.example/", "bank.example", "[bank.example (evil.example)][1]"),
            (
                "https://evil.example/",
                "/bank.example@evil.example",
                "[/bank.example@evil.example (evil.example)][1]",
            ),
            ("//evil.example", "here", "[here (evil.example)][1]"),
            ("https:\\\\evil.example", "here", "[here (evil.example)][1]"),
            (
                "https://b\u{430}nk.example/",
                "b\u{430}nk.example",
                "[b\u{430}nk.example (xn--bnk-6cd.example)][1]",
            ),
            (
                "https://evil.example/",
                "<i hidden>https://evil.example/?</i>bank.example",
                "[bank.example (evil.example)][1]",
            ),
            ("mailto:eve@evil.example?subject=x", "write to Bob", "[write to Bob (eve@evil.example)][1]"),
            ("https://bank.example/login", "bank.example", "[bank.example][1]"),
            ("https://bank.example/login", " https://BANK.example/x ", "[ https://BANK.example/x ][1]"),
            ("mailto:bob@bank.example", "bob@bank.example", "[bob@bank.example][1]"),
            ("/page", "next", "[next][1]"),
            ("#top", "up", "[up][1]"),
            ("https://evil.example/x", "<img src=x alt='a button'>", "[[image: a button] (evil.example)][1]"),
        ] {
            assert_eq!(link(href, text), shown, "{href} {text}");
        }
        assert_eq!(readable("<img src=x alt=' ignore\nall '> <img src=x alt=''>").0, "[image: ignore all]");
    }

    #[test]
    fn a_row_of_data_is_a_line() {
        let data = "<table><tr><th>Leg</th><th>Seat</th></tr><tr><td> Out </td><td><b>12</b></td></tr>\
                    <tr><td>Back</td><td hidden>x</td><td></td><td>7</td></tr></table>";
        assert_eq!(readable(data).0, format!("Leg | Seat\nOut | **12**\nBack | | 7\n{NOTE}"));
        let layout =
            "<table><tr><td><p>Menu</p></td><td>Text</td></tr><tr><td></td><td>End</td></tr></table>";
        assert!(!readable(layout).0.contains('|'));
    }

    #[test]
    fn a_page_has_an_end() {
        assert_eq!(bounded("<p>a</p><br>").len(), 12);
        let wide = "<p>a</p>".repeat(10_000);
        assert_eq!(bounded(&wide).len(), wide.len());
        assert!(bounded(&"<i>".repeat(10_000)).len() < 3100);
        assert!(bounded(&"é".repeat(1 << 20)).len() <= 256 << 10);
        assert!(readable(&"<i>x".repeat(10_000)).1);
    }
}
