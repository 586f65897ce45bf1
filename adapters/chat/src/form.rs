//! The forms of a message, each plainer than the one before, for a platform that refuses what it was given.

use crate::{Block, Inline, LengthUnit, Outbound, RichText, split};

/// A small part is this fraction of the longest.
const SMALL: usize = 4;

/// How a message is sent. Whatever was sent before a form began keeps its place and number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// With markup.
    #[default]
    Rich,
    /// The same parts without markup.
    Plain,
    /// Without markup, and from this part on in smaller parts.
    Small(usize),
    /// From this part on it is a file and no text.
    File(usize),
}

/// The text of one message, as a platform's adapter renders it.
pub trait TextPart: Sized {
    /// It without markup.
    fn plain(&self) -> String;
    /// A text without markup; never blank.
    fn of_plain(text: String) -> Self;
}

impl Outbound {
    /// The texts to send in this message's form, from those of its whole text with markup. A platform takes texts of at
    /// most this length, in its own unit.
    pub fn texts<P: TextPart>(&self, rich: Vec<P>, longest: usize, unit: LengthUnit) -> Vec<P> {
        let mut texts: Vec<String> = rich.iter().map(P::plain).collect();
        match self.form {
            Form::Rich => return rich,
            Form::Plain => {}
            Form::Small(from) => {
                let rest = texts.split_off(from.min(texts.len()));
                texts.extend(small(&rest.join("\n\n"), longest, unit));
            }
            Form::File(from) => texts.resize(from, String::new()),
        }
        texts.into_iter().map(P::of_plain).collect()
    }
}

/// A text in small parts, none of them blank.
fn small(text: &str, longest: usize, unit: LengthUnit) -> Vec<String> {
    let lines = text.split('\n').flat_map(|line| [Inline::Text(line.to_owned()), Inline::Break]).collect();
    let text = RichText { blocks: vec![Block::Paragraph(lines)] };
    let parts = split(&text, longest.div_ceil(SMALL), |part| unit.length(&part.plain()));
    let texts = parts.iter().map(|part| part.plain().trim_matches('\n').to_owned());
    texts.filter(|text| !text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    const LONGEST: usize = 40;

    /// With markup, or without.
    #[derive(Debug, PartialEq)]
    struct Part(&'static str, String);

    impl TextPart for Part {
        fn plain(&self) -> String {
            self.1.clone()
        }
        fn of_plain(text: String) -> Self {
            Self("", text)
        }
    }

    fn texts(form: Form) -> Vec<Part> {
        let outbound = Outbound {
            id: "1".into(),
            address: Address { channel: "c".into(), place: "p".into() },
            turn: None,
            answers: Vec::new(),
            text: String::new(),
            choices: Vec::new(),
            form,
            part: 0,
            checkpoint: None,
            edit_of: None,
            file: None,
            voice: None,
        };
        let rich = [("<b>first</b>", "first"), ("<i>one two\nthree</i>", "one two\nthree"), ("x", "four")];
        let rich = rich.map(|(rich, plain)| Part(rich, plain.to_owned())).into();
        outbound.texts(rich, LONGEST, LengthUnit::Characters)
    }

    #[test]
    fn each_form_is_plainer_and_keeps_the_parts_before_it() {
        let plain = |form| texts(form).into_iter().map(|part| part.1).collect::<Vec<_>>();
        assert_eq!(texts(Form::Rich)[0].0, "<b>first</b>");
        assert!(texts(Form::Plain).iter().all(|part| part.0.is_empty()));
        assert_eq!(plain(Form::Plain), ["first", "one two\nthree", "four"]);
        assert_eq!(plain(Form::Small(1)), ["first", "one two", "three", "four"]);
        assert_eq!(plain(Form::Small(9)), ["first", "one two\nthree", "four"]);
        assert_eq!(plain(Form::File(4)).len(), 4, "the file is the fifth");
        assert_eq!(plain(Form::File(0)).len(), 0);
    }

    #[test]
    fn small_parts_hold_the_whole_text_and_none_is_blank() {
        let text = format!("\n\n  \n{}\n\n\n🦀{}", "word ".repeat(30), "y".repeat(25));
        let parts = small(&text, LONGEST, LengthUnit::Characters);
        assert!(parts.iter().all(|part| !part.trim().is_empty() && part.chars().count() <= 10), "{parts:?}");
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&parts.concat()), letters(&text));
        assert_eq!(small(" \n ", LONGEST, LengthUnit::Characters), [""; 0]);
    }
}
