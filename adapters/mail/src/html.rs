//! Converts HTML to text, without content that is invisible in a browser.

use html2text::{Element, Handle, config};

/// How much of a page is read, in bytes.
const MAX_PAGE: usize = 256 << 10;

/// How many elements may be open at once; the parser slows down with each.
const MAX_OPEN: usize = 1000;

/// Elements without an end tag.
const VOID: [&str; 11] = ["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"];

/// The deepest nesting; pages that go deeper are made to exhaust us.
const MAX_DEPTH: usize = 200;

/// The line width.
const WIDTH: usize = 100;

/// The text of a page with its links as notes below, and whether it was truncated. Hidden content is left out:
/// elements that are `hidden` or made invisible by their style, scripts, styles, comments and templates.
#[must_use]
pub fn readable(page: &str) -> (String, bool) {
    let whole = page.len();
    let page = bounded(page);
    let config = config::plain().use_doc_css().raw_mode(true).no_link_wrapping().allow_width_overflow();
    let Ok(tree) = config.parse_html(page.as_bytes()) else { return (String::new(), true) };
    let mut open = vec![(tree.document.clone(), 0, false)];
    while let Some((node, depth, is_tiny)) = open.pop() {
        // Many newsletters wrap the page in a cell with font-size 0; the content sets its own.
        let is_tiny = has_tiny_font(&node).unwrap_or(is_tiny);
        node.children.borrow_mut().retain(|child| match &child.data {
            Element { .. } => depth < MAX_DEPTH && !is_hidden(child),
            _ => !is_tiny,
        });
        open.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1, is_tiny)));
    }
    let text = config.dom_to_render_tree(&tree).and_then(|tree| config.render_to_string(tree, WIDTH));
    (visible(&text.unwrap_or_default()), page.len() < whole)
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

fn is_hidden(node: &Handle) -> bool {
    let Element { name, attrs, .. } = &node.data else { return false };
    if matches!(&*name.local, "script" | "template" | "noscript" | "object" | "iframe") {
        return true;
    }
    attrs.borrow().iter().any(|attribute| match &*attribute.name.local {
        "hidden" => true,
        "style" => hides(&attribute.value),
        _ => false,
    })
}

/// Whether a style makes the content of its element invisible.
fn hides(style: &str) -> bool {
    let clips = declarations(style).any(|(name, value)| name.starts_with("overflow") && value == "hidden");
    declarations(style).any(|(name, value)| match name.as_str() {
        "display" => value == "none",
        "visibility" => matches!(value.as_str(), "hidden" | "collapse"),
        "mso-hide" => value == "all",
        "opacity" => size(&value).is_some_and(|size| size < 0.1),
        "height" | "max-height" | "width" | "max-width" => clips && size(&value) == Some(0.0),
        "text-indent" | "left" | "top" | "margin-left" => size(&value).is_some_and(|size| size <= -500.0),
        _ => false,
    })
}

/// Whether the font of an element is too small to see, if it sets the size.
fn has_tiny_font(node: &Handle) -> Option<bool> {
    let Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    let style = attrs.iter().find(|attribute| &*attribute.name.local == "style")?;
    let (_, value) = declarations(&style.value).filter(|(name, _)| name == "font-size").last()?;
    let is_tiny = |size: f32| size == 0.0 || (size <= 2.0 && value.ends_with("px"));
    Some(size(&value).is_some_and(is_tiny))
}

fn declarations(style: &str) -> impl Iterator<Item = (String, String)> {
    style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let value = value.to_ascii_lowercase().replace("!important", "");
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    })
}

fn size(value: &str) -> Option<f32> {
    value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim().parse().ok()
}

/// A text without invisible characters and repeated empty lines.
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
        assert_eq!(text, "y**z**");
        assert_eq!(readable("a<br>b<!-- c --><noscript>d</noscript>").0, "a\nb");
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
