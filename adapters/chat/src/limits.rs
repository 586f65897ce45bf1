//! What a platform accepts, as data.

/// The limits of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest text of one message, counted in [`Limits::unit`] after rendering.
    pub text: usize,
    /// The unit the platform counts in.
    pub unit: LengthUnit,
    /// The most buttons under one message.
    pub buttons: usize,
    /// The markup the platform reads.
    pub markup: Markup,
    /// Whether messages can be edited and deleted, so that progress can be a message.
    pub edits: bool,
    /// Whether we can send files.
    pub files: bool,
}

/// The unit of a text's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// Unicode characters.
    Characters,
    /// UTF-16 code units: an emoji is two.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl LengthUnit {
    /// The length of a text.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Characters => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// A kind of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// None: plain text.
    Plain,
    /// A dialect of markdown.
    Markdown,
    /// HTML tags.
    Html,
    /// A terminal's, perhaps with escape sequences for colours.
    Terminal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_counts_as_the_platform_counts_it() {
        let lengths =
            [LengthUnit::Characters, LengthUnit::Utf16, LengthUnit::Bytes].map(|unit| unit.length("a🦀"));
        assert_eq!(lengths, [2, 3, 5]);
    }
}
