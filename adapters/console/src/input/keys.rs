//! Pure: keys that come one by one become lines, for what is typed while the assistant works.

use std::str::from_utf8;

/// What is typed, and what of it isn't a whole key yet.
#[derive(Debug, Default)]
pub(super) struct Keys {
    text: String,
    rest: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    Line(String),
    /// Ctrl-D on an empty line.
    End,
}

/// The longest line, in bytes. What is typed beyond it is dropped.
const MAX_LENGTH: usize = 64 * 1024;

impl Keys {
    /// The line that isn't finished.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Takes the line that isn't finished.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let mut keys = Vec::new();
        let mut at = 0;
        while let Some(length) = key_length(&bytes[at..]) {
            keys.extend(self.press(&bytes[at..at + length]));
            at += length;
        }
        self.rest = bytes[at..].to_vec();
        keys
    }

    fn press(&mut self, key: &[u8]) -> Option<Key> {
        match key {
            b"\r" | b"\n" => return Some(Key::Line(self.take())),
            b"\x04" if self.text.is_empty() => return Some(Key::End),
            // Backspace, and what erases a line and a word elsewhere too.
            b"\x7f" | b"\x08" => drop(self.text.pop()),
            b"\x15" => self.text.clear(),
            b"\x17" => {
                let words = self.text.trim_end();
                let start = words.rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(start);
            }
            b"\t" => self.text.push(' '),
            _ => {
                let typed = from_utf8(key).unwrap_or_default();
                if !typed.contains(char::is_control) && self.text.len() + key.len() <= MAX_LENGTH {
                    self.text.push_str(typed);
                }
            }
        }
        None
    }
}

/// The length of the first key; none if more of it is to come.
fn key_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [] | [0x1b] => None,
        // An arrow or a function key: ends with a letter or `~`.
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
            // No key is that long.
            end.map(|at| at + 3).or((rest.len() > 16).then_some(bytes.len()))
        }
        [0x1b, b'O', rest @ ..] => (!rest.is_empty()).then_some(3),
        [0x1b, _, ..] => Some(2),
        [first, ..] => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
            (bytes.len() >= length).then_some(length)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> Key {
        Key::Line(text.to_owned())
    }

    #[test]
    fn keys_become_lines() {
        let mut keys = Keys::default();
        assert_eq!(
            keys.read("hällo\x7f\x7f\x7f\x7fi\x1b[A\x1b[1;5C\x1bOP you\tthere\rnext\n".as_bytes()),
            [line("hi you there"), line("next")]
        );
        assert_eq!(keys.read(b"one two \x17\x04\x07"), []);
        assert_eq!(keys.text(), "one ");
        assert_eq!(keys.read(b"\x15"), []);
        assert_eq!(keys.read(b"\x04"), [Key::End]);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_keys_are_cut(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r')], 0..60),
            cut in 0_usize..60,
        ) {
            let cut = cut.min(bytes.len());
            let (mut whole, mut parts) = (Keys::default(), Keys::default());
            let at_once = whole.read(&bytes);
            let mut cut_up = parts.read(&bytes[..cut]);
            cut_up.extend(parts.read(&bytes[cut..]));
            prop_assert_eq!(at_once, cut_up);
            prop_assert_eq!(whole.text(), parts.text());
        }
    }
}
