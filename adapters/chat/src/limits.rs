//! What a platform can take, as data.

/// How much of what fits into one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest text of one message, counted in [`Limits::unit`] after rendering.
    pub text: usize,
    /// What the platform counts.
    pub unit: Unit,
    /// The most buttons below one message.
    pub buttons: usize,
    /// How the platform wants its text.
    pub markup: Markup,
    /// Whether messages can be changed and taken away, so that progress is a message.
    pub edits: bool,
    /// Whether files of ours can be sent.
    pub files: bool,
}

/// What a text's length is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode characters.
    Characters,
    /// UTF-16 code units: an emoji is two.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    /// How long a text is.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Characters => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// The family of markup a platform reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// None: plain text.
    Plain,
    /// A markdown of its own dialect.
    Markdown,
    /// Tags.
    Html,
    /// Characters of a terminal, with escape sequences for colours if at all.
    Terminal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_counts_as_the_platform_counts_it() {
        let lengths = [Unit::Characters, Unit::Utf16, Unit::Bytes].map(|unit| unit.length("a🦀"));
        assert_eq!(lengths, [2, 3, 5]);
    }
}
