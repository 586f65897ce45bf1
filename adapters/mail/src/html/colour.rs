//! Colours, as far as it takes to say whether a text can be told from its background.

/// A colour on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Colour(pub(super) [f32; 3]);

/// Black and white, what a page begins with, and the colour of a link.
pub(super) const BLACK: Colour = Colour([0.0, 0.0, 0.0]);
pub(super) const WHITE: Colour = Colour([255.0, 255.0, 255.0]);
pub(super) const LINK: Colour = Colour([0.0, 0.0, 238.0]);

/// Two colours with less contrast than this look the same, if none of their channels differs by more than [`APART`].
const CONTRAST: f32 = 1.2;
const APART: f32 = 40.0;

/// The names that mails use; an unknown one is no colour.
const NAMES: [(&str, u32); 28] = [
    ("black", 0x00_0000),
    ("white", 0xff_ffff),
    ("snow", 0xff_fafa),
    ("ivory", 0xff_fff0),
    ("ghostwhite", 0xf8_f8ff),
    ("whitesmoke", 0xf5_f5f5),
    ("floralwhite", 0xff_faf0),
    ("mintcream", 0xf5_fffa),
    ("azure", 0xf0_ffff),
    ("aliceblue", 0xf0_f8ff),
    ("seashell", 0xff_f5ee),
    ("linen", 0xfa_f0e6),
    ("gainsboro", 0xdc_dcdc),
    ("lightgray", 0xd3_d3d3),
    ("lightgrey", 0xd3_d3d3),
    ("silver", 0xc0_c0c0),
    ("gray", 0x80_8080),
    ("grey", 0x80_8080),
    ("red", 0xff_0000),
    ("maroon", 0x80_0000),
    ("yellow", 0xff_ff00),
    ("orange", 0xff_a500),
    ("green", 0x00_8000),
    ("lime", 0x00_ff00),
    ("teal", 0x00_8080),
    ("blue", 0x00_00ff),
    ("navy", 0x00_0080),
    ("purple", 0x80_0080),
];

impl Colour {
    /// A colour as a style or an attribute names it, and how opaque it is.
    pub(super) fn parse(text: &str) -> Option<(Self, f32)> {
        let text = text.trim();
        if text == "transparent" {
            return Some((BLACK, 0.0));
        }
        if let Some((_, rgb)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Some((Self::of(*rgb), 1.0));
        }
        if let Some((kind, arguments)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            return function(kind, arguments);
        }
        hex(text.strip_prefix('#').unwrap_or(text))
    }

    fn of(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self([f32::from(red), f32::from(green), f32::from(blue)])
    }

    /// What is seen if it covers another one without hiding it.
    pub(super) fn over(self, other: Self, opacity: f32) -> Self {
        let mut mixed = self.0;
        for (one, below) in mixed.iter_mut().zip(other.0) {
            *one = *one * opacity + below * (1.0 - opacity);
        }
        Self(mixed)
    }

    /// Whether a text of this colour can't be told from that background.
    pub(super) fn vanishes_on(self, other: Self) -> bool {
        let apart = self.0.iter().zip(other.0).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
        let (one, other) = (self.luminance() + 0.05, other.luminance() + 0.05);
        apart <= APART && one.max(other) / one.min(other) < CONTRAST
    }

    /// Source: <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>
    fn luminance(self) -> f32 {
        let [red, green, blue] = self.0.map(|channel| {
            let channel = channel / 255.0;
            if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

fn hex(digits: &str) -> Option<(Colour, f32)> {
    if !digits.is_ascii() || !matches!(digits.len(), 3 | 4 | 6 | 8) {
        return None;
    }
    let long: String = match digits.len() {
        3 | 4 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        _ => digits.to_owned(),
    };
    let number = u32::from_str_radix(long.get(..6)?, 16).ok()?;
    let opacity = long.get(6..).filter(|rest| !rest.is_empty());
    let opacity = opacity.map_or(Some(255), |rest| u8::from_str_radix(rest, 16).ok())?;
    Some((Colour::of(number), f32::from(opacity) / 255.0))
}

/// `rgb(…)` and `hsl(…)`, with or without an opacity.
fn function(kind: &str, arguments: &str) -> Option<(Colour, f32)> {
    let split = |c: char| c == ',' || c == '/' || c.is_whitespace();
    let parts: Vec<&str> = arguments.split(split).filter(|part| !part.is_empty()).collect();
    let number = |part: &str, whole: f32| match part.strip_suffix('%') {
        Some(percent) => percent.parse::<f32>().ok().map(|percent| percent / 100.0 * whole),
        None => part.trim_end_matches("deg").parse().ok(),
    };
    let opacity = parts.get(3).map_or(Some(1.0), |part| number(part, 1.0))?.clamp(0.0, 1.0);
    let [first, second, third] = parts.get(..3)? else { return None };
    let colour = match kind {
        "rgb" | "rgba" => Colour([number(first, 255.0)?, number(second, 255.0)?, number(third, 255.0)?]),
        "hsl" | "hsla" => hsl(number(first, 360.0)?, number(second, 1.0)?, number(third, 1.0)?),
        _ => return None,
    };
    Some((Colour(colour.0.map(|channel| channel.clamp(0.0, 255.0))), opacity))
}

/// Source: <https://www.w3.org/TR/css-color-4/#hsl-to-rgb>
fn hsl(hue: f32, saturation: f32, lightness: f32) -> Colour {
    let amount = saturation * lightness.min(1.0 - lightness);
    Colour([0.0, 8.0, 4.0].map(|offset| {
        let at = (offset + hue / 30.0).rem_euclid(12.0);
        255.0 * (lightness - amount * (at - 3.0).min(9.0 - at).clamp(-1.0, 1.0))
    }))
}
