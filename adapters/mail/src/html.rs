//! HTML made readable, without what its reader would not have seen.

use html2text::{Element, Handle, config};

/// More of a page is not looked at.
const PAGE: usize = 256 << 10;

/// So many elements may be open at once: with more the parser takes its time for each further one.
const OPEN: usize = 1000;

/// Elements that are never closed.
const VOID: [&str; 11] = ["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"];

/// Elements below which nobody reads: a page that nests deeper is made to exhaust us.
const DEPTH: usize = 200;

/// Where lines break.
const WIDTH: usize = 100;

/// The text of a page, its links as notes below it. Left out is what is hidden: elements by `hidden` and by
/// their style (not shown, of no size, transparent), scripts, styles, comments, templates.
pub(crate) fn readable(page: &str) -> String {
    let page = bounded(page);
    let config = config::plain().use_doc_css().raw_mode(true).no_link_wrapping().allow_width_overflow();
    let Ok(tree) = config.parse_html(page.as_bytes()) else { return String::new() };
    let mut open = vec![(tree.document.clone(), 0)];
    while let Some((node, depth)) = open.pop() {
        node.children.borrow_mut().retain(|child| depth < DEPTH && !is_hidden(child));
        open.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    let text = config.dom_to_render_tree(&tree).and_then(|tree| config.render_to_string(tree, WIDTH));
    visible(&text.unwrap_or_default())
}

/// The page up to where it gets too long or too deep.
fn bounded(page: &str) -> &str {
    let page = page.get(..page.floor_char_boundary(PAGE)).unwrap_or(page);
    let mut open = 0usize;
    for (at, _) in page.match_indices('<') {
        let tag = page.get(at + 1..).unwrap_or_default();
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if !name.is_empty() && !VOID.contains(&name.to_ascii_lowercase().as_str()) {
            open += 1;
        }
        if open > OPEN {
            return page.get(..at).unwrap_or(page);
        }
    }
    page
}

fn is_hidden(node: &Handle) -> bool {
    let Element { name, attrs, .. } = &node.data else { return false };
    if matches!(&*name.local, "script" | "template" | "noscript" | "object" | "iframe") {
        return true;
    }
    attrs.borrow().iter().any(|attribute| match &*attribute.name.local {
        "hidden" => true,
        "style" => attribute.value.split(';').any(hides),
        _ => false,
    })
}

/// Whether a declaration of a style makes what it is about invisible.
fn hides(declaration: &str) -> bool {
    let declaration = declaration.to_ascii_lowercase().replace("!important", "");
    let Some((property, value)) = declaration.split_once(':') else { return false };
    let value = value.trim();
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim().parse::<f32>();
    match property.trim() {
        "display" => value == "none",
        "visibility" => matches!(value, "hidden" | "collapse"),
        "mso-hide" => value == "all",
        "opacity" => number.is_ok_and(|number| number < 0.1),
        "font-size" => number.is_ok_and(|number| number == 0.0 || (number <= 2.0 && value.ends_with("px"))),
        "height" | "max-height" | "width" | "max-width" => number == Ok(0.0),
        "text-indent" | "left" | "top" | "margin-left" => number.is_ok_and(|number| number <= -500.0),
        _ => false,
    }
}

/// A text without the characters that show nothing, and without more than one empty line at once.
pub(crate) fn visible(text: &str) -> String {
    let shows = |c: &char| match c {
        '\n' | '\t' | '\u{200c}' | '\u{200d}' => true,
        '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => false,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line: String = line.replace('\u{a0}', " ").chars().filter(shows).collect();
        let line = line.trim_end();
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n").trim_end().to_owned()
}
