//! How deep the parentheses of an IMAP response nest. imap-proto calls itself for each, and who writes a mail decides how
//! many there are in its BODYSTRUCTURE.

/// The deepest that is let through: a mail that was forwarded eight times. A level takes 8 KB of stack, or 64 KB in a
/// build for tests.
const MAX_DEPTH: usize = 20;

/// How much of a line is enough to say whether it is a FETCH: `* 4294967295 FETCH (`.
const HEAD: usize = 20;

/// Follows the bytes that a server sends.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: usize,
    /// The beginning of the line.
    head: Vec<u8>,
    inside: Inside,
    /// The length of the literal that begins if the line ends here.
    announced: Option<usize>,
}

/// What the next byte belongs to.
#[derive(Debug, Default, Clone, Copy)]
enum Inside {
    #[default]
    Syntax,
    Quotes,
    /// After a backslash in quotes.
    Escape,
    /// So many bytes of a literal are left.
    Literal(usize),
}

impl Nesting {
    /// Whether what the server sends nests too deep with these bytes.
    pub(crate) fn is_too_deep(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((byte, rest)) = bytes.split_first() {
            bytes = match self.inside {
                Inside::Literal(left) => {
                    let taken = left.min(bytes.len());
                    self.inside = if taken < left { Inside::Literal(left - taken) } else { Inside::Syntax };
                    &bytes[taken..]
                }
                _ => {
                    self.follow(*byte);
                    rest
                }
            };
            if self.depth > MAX_DEPTH {
                return true;
            }
        }
        false
    }

    fn follow(&mut self, byte: u8) {
        if self.head.len() < HEAD {
            self.head.push(byte);
        }
        self.inside = match (self.inside, byte) {
            (_, b'\n') => match self.announced.take() {
                Some(length) if self.is_fetch() => Inside::Literal(length),
                _ => {
                    *self = Self::default();
                    Inside::Syntax
                }
            },
            (Inside::Quotes, b'\\') => Inside::Escape,
            (Inside::Quotes, b'"') => Inside::Syntax,
            (Inside::Quotes | Inside::Escape, _) => Inside::Quotes,
            // In another response, a quote may stand in a text, and hides nothing.
            (_, b'"') if self.is_fetch() => Inside::Quotes,
            _ => {
                self.announced = match (byte, self.announced) {
                    (b'{', _) => Some(0),
                    (b'0'..=b'9', Some(length)) => {
                        Some(length.saturating_mul(10).saturating_add(usize::from(byte - b'0')))
                    }
                    (b'}' | b'\r', length) => length,
                    _ => None,
                };
                match byte {
                    b'(' => self.depth += 1,
                    b')' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                Inside::Syntax
            }
        };
    }

    /// Whether the line is one whose quotes and literals imap-proto reads as such, or fails on.
    fn is_fetch(&self) -> bool {
        let Some(rest) = self.head.strip_prefix(b"* ") else { return false };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let word = rest.get(digits..digits + b" FETCH (".len());
        digits > 0 && word.is_some_and(|word| word.eq_ignore_ascii_case(b" FETCH ("))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, Nesting};

    fn is_too_deep(text: &str, at_once: usize) -> bool {
        let mut nesting = Nesting::default();
        text.as_bytes().chunks(at_once).any(|bytes| nesting.is_too_deep(bytes))
    }

    #[test]
    fn parentheses_count_outside_of_texts_alone() {
        let deep = "(".repeat(MAX_DEPTH + 1);
        let literal = format!("{{{}}}\r\n{deep}", deep.len());
        for (text, expected) in [
            (format!("* 1 FETCH (BODYSTRUCTURE {deep}"), true),
            (format!("* 1 FETCH (BODY[] {literal})\r\n"), false),
            (format!("* 1 FETCH (BODY[] {literal} X {deep})"), true),
            (format!("* 1 FETCH (BODY[] {{2}}\r\n(({deep}"), true),
            (format!("* 1 fetch (ENVELOPE (\"{deep}\\\"{deep}\" NIL))\r\n"), false),
            (format!("* 1 FETCH (ENVELOPE (\"\\\\\" {deep}))\r\n"), true),
            ("* 1 FETCH (FLAGS ())\r\n* 2 FETCH (FLAGS (\r\n".repeat(MAX_DEPTH), false),
            // What isn't a FETCH can't hide anything as text.
            (format!("* OK \"{deep}"), true),
            (format!("* OK {{1000}}\r\n* 1 FETCH (BODYSTRUCTURE {deep}"), true),
            (format!("* 1 FETCHED \"{deep}"), true),
            (format!("250 {deep}"), true),
        ] {
            for at_once in [1, 7, 10_000] {
                assert_eq!(is_too_deep(&text, at_once), expected, "{at_once}: {text}");
            }
        }
    }
}
