//! How an element's own style shows it, as far as it decides whether a person sees its text. Style sheets aren't read, nor colours
//! compared: text that hides in them is read like any other, as text from outside.

use std::collections::HashMap;

use html2text::{Element, Handle};

/// A font of at most this many pixels can't be seen.
const TINY: f32 = 2.0;

/// The size of a font that nobody has set, in pixels.
const FONT: f32 = 16.0;

/// Further out of the screen than this, in pixels, nobody looks; to the right pages are wide.
const FAR: f32 = 500.0;
const FAR_RIGHT: f32 = 3_000.0;

/// What an element's text inherits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The size of the font in pixels.
    font: f32,
    is_hidden: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { font: FONT, is_hidden: false }
    }
}

impl Look {
    /// Whether a person sees text that looks like this.
    pub(super) fn shows(&self) -> bool {
        !self.is_hidden && self.font > TINY
    }

    /// Whether nothing inside of an element can be seen, whatever it says itself.
    pub(super) fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// How an element inside of this one looks.
    pub(super) fn within(mut self, node: &Handle) -> Self {
        let Element { name, .. } = &node.data else { return self };
        let style = attribute(node, "style").unwrap_or_default();
        // A later declaration replaces an earlier one of the same name.
        let own: HashMap<String, String> = declarations(&style).collect();
        let value = |name: &str| own.get(name).map(String::as_str);
        if let Some(size) = value("font-size").or_else(|| value("font").and_then(size_in_font)) {
            self.font = font_size(size, self.font);
        }
        self.is_hidden |= attribute(node, "hidden").is_some() || hides(&value) || is_dot(node, &name.local);
        self
    }
}

pub(super) fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    attrs.iter().find(|one| &*one.name.local == wanted).map(|one| one.value.to_string())
}

fn declarations(style: &str) -> impl Iterator<Item = (String, String)> {
    style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let value = value.to_ascii_lowercase().replace("!important", "");
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    })
}

/// The size in `bold 12px/1.5 Arial`.
fn size_in_font(font: &str) -> Option<&str> {
    let is_weight = |part: &str| part.len() == 3 && part.ends_with("00");
    let is_size =
        |part: &&str| part.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !is_weight(part);
    font.split_ascii_whitespace().find(is_size)?.split('/').next()
}

/// Whether a style makes the content of its element invisible.
fn hides<'a>(value: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let is = |name: &str, words: &[&str]| value(name).is_some_and(|value| words.contains(&value));
    let number = |name: &str| value(name).and_then(size);
    let clips = ["overflow", "overflow-x", "overflow-y"].iter().any(|name| is(name, &["hidden", "clip"]));
    let nothing = |name: &&str| {
        value(name).is_some_and(|value| {
            size(value).is_some_and(|size| size == 0.0 || (size <= 1.0 && value.ends_with("px")))
        })
    };
    let is_away = |name: &&str, right: bool| {
        let far = value(name).and_then(|value| pixels(value, FONT));
        far.is_some_and(|far| far <= -FAR || (right && far >= FAR_RIGHT))
    };
    let is_beside = |name: &&str| {
        value(name).is_some_and(|value| value.ends_with('%') && size(value).is_some_and(|by| by <= -100.0))
    };
    is("display", &["none"])
        || is("visibility", &["hidden", "collapse"])
        || is("content-visibility", &["hidden"])
        || is("mso-hide", &["all"])
        || number("opacity").is_some_and(|opacity| {
            opacity < 0.1 || (opacity < 10.0 && value("opacity").is_some_and(|value| value.ends_with('%')))
        })
        || (clips && ["height", "max-height", "width", "max-width"].iter().any(nothing))
        || ["text-indent", "left", "margin-left"].iter().any(|name| is_away(name, true))
        || ["top", "bottom", "right", "margin-top"].iter().any(|name| is_away(name, false))
        || (is("position", &["absolute", "fixed"])
            && ["left", "top", "right", "bottom"].iter().any(is_beside))
        || value("transform").is_some_and(is_transformed_away)
        || value("filter")
            .is_some_and(|filter| numbers(filter, "opacity(").first().is_some_and(|it| *it < 0.1))
        || value("clip").is_some_and(|clip| {
            let edges = numbers(clip, "rect(");
            !edges.is_empty() && edges.iter().all(|edge| *edge <= 1.0)
        })
        || value("clip-path").is_some_and(|clip| {
            numbers(clip, "inset(").first().is_some_and(|edge| *edge >= 50.0)
                || numbers(clip, "circle(").first().is_some_and(|radius| *radius == 0.0)
        })
}

/// Whether an image is a dot, whose description nobody sees.
fn is_dot(node: &Handle, tag: &str) -> bool {
    let is_small =
        |name| attribute(node, name).and_then(|value| size(&value)).is_some_and(|size| size <= 1.0);
    tag == "img" && (is_small("width") || is_small("height"))
}

fn is_transformed_away(transform: &str) -> bool {
    let moves = ["translate(", "translatex(", "translatey(", "translate3d("];
    let is_far = |name: &&str| numbers(transform, name).iter().any(|by| by.abs() >= FAR);
    let is_nothing = |name: &&str| numbers(transform, name).first() == Some(&0.0);
    moves.iter().any(is_far) || ["scale(", "scalex(", "scaley(", "scale3d("].iter().any(is_nothing)
}

fn numbers(value: &str, function: &str) -> Vec<f32> {
    let Some((_, behind)) = value.split_once(function) else { return Vec::new() };
    let arguments = behind.split(')').next().unwrap_or_default();
    arguments.split(|c: char| c == ',' || c.is_whitespace()).filter_map(size).collect()
}

/// A number without its unit.
fn size(value: &str) -> Option<f32> {
    value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim().parse().ok()
}

/// A length in pixels, where an `em` is this long.
fn pixels(value: &str, em: f32) -> Option<f32> {
    let number = size(value)?;
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || "+-. ".contains(c));
    Some(match unit {
        "pt" => number * 4.0 / 3.0,
        "em" | "ex" | "ch" => number * em,
        "rem" => number * FONT,
        "vw" | "vh" => number * 10.0,
        // A share of something that we don't know; layouts use up to the whole of it.
        "%" if number.abs() <= 100.0 => 0.0,
        "%" => number * 10.0,
        _ => number,
    })
}

fn font_size(value: &str, inherited: f32) -> f32 {
    match value.strip_suffix('%').map(str::parse::<f32>) {
        Some(Ok(percent)) => percent / 100.0 * inherited,
        _ if value.ends_with("vw") || value.ends_with("vh") => pixels(value, inherited).unwrap_or(FONT),
        _ if value == "inherit" => inherited,
        // A word such as `small`.
        _ => pixels(value, inherited).unwrap_or(FONT),
    }
}
