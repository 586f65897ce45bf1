//! What a platform accepts, as data.

/// What a platform can do beyond taking texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
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
}

impl LengthUnit {
    /// The length of a text.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Characters => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_counts_as_the_platform_counts_it() {
        assert_eq!([LengthUnit::Characters, LengthUnit::Utf16].map(|unit| unit.length("a🦀")), [2, 3]);
    }
}
