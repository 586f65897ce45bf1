//! Replies: recipients, headers and quote; and texts without the quote at their end.

use crate::{Address, Message};

/// How much of the original is quoted, in bytes.
const MAX_QUOTE: usize = 32 << 10;

/// The recipients, headers and quote of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    /// The subject with one `Re:`.
    pub subject: String,
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the thread, including the original.
    pub references: Vec<String>,
    /// The original as a quote, to go below the new text.
    pub quote: String,
}

impl Message {
    /// A reply to this message, with `all` to everybody. Our own addresses are left out; a reply to our own message
    /// goes to its recipients.
    pub fn reply(&self, ours: &[&str], all: bool) -> Reply {
        let is_ours = |address: &Address| ours.iter().any(|own| own.eq_ignore_ascii_case(&address.address));
        let sender = if self.reply_to.is_empty() { self.from.clone() } else { self.reply_to.clone() };
        let is_own = !sender.is_empty() && sender.iter().all(is_ours);
        let mut known: Vec<String> = Vec::new();
        let mut fresh = |addresses: &[Address]| -> Vec<Address> {
            let others = addresses.iter().filter(|address| !is_ours(address));
            let others = others.filter(|address| {
                let address = address.address.to_lowercase();
                let is_new = !known.contains(&address);
                known.push(address);
                is_new
            });
            others.cloned().collect()
        };
        let to = if is_own { fresh(&self.to) } else { fresh(&sender) };
        let cc = match (all, is_own) {
            (false, _) => Vec::new(),
            (true, true) => fresh(&self.cc),
            (true, false) => fresh(&[self.to.as_slice(), self.cc.as_slice()].concat()),
        };
        let before = self.references.iter().chain(&self.message_id);
        Reply {
            to: if to.is_empty() { sender } else { to },
            cc,
            subject: subject(&self.subject),
            in_reply_to: self.message_id.clone(),
            references: before.cloned().collect(),
            quote: self.quote(),
        }
    }

    fn quote(&self) -> String {
        let who = self.from.first().map_or("somebody", |from| from.name.as_deref().unwrap_or(&from.address));
        let when = self.date.map(|date| format!("On {}, ", date.format("%a, %-d %b %Y at %H:%M")));
        let mut quote = format!("{}{who} wrote:\n", when.unwrap_or_default());
        for line in self.text.lines() {
            if quote.len() + line.len() > MAX_QUOTE {
                quote.push_str("> [...]\n");
                break;
            }
            let prefix = if line.starts_with('>') || line.is_empty() { ">" } else { "> " };
            quote.extend([prefix, line, "\n"]);
        }
        quote
    }
}

/// A text without the quote at its end, and how many quoted lines that has. The line above the quote stays, and so do
/// notes and links below it.
pub fn unquoted(text: &str) -> (String, usize) {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let after_last = |lines: &[&str], is_skipped: fn(&str) -> bool| {
        lines.iter().rposition(|line| !line.is_empty() && !is_skipped(line)).map_or(0, |at| at + 1)
    };
    let (lines, notes) = lines.split_at(after_last(&lines, |line| line.starts_with('[')));
    let (own, quote) = lines.split_at(after_last(lines, |line| line.starts_with('>')));
    let quoted = quote.iter().filter(|line| line.starts_with('>')).count();
    if quoted == 0 {
        return (text.to_owned(), 0);
    }
    let rest = [own.join("\n"), notes.join("\n")].map(|part| part.trim_end().to_owned());
    (rest.join("\n").trim_end().to_owned(), quoted)
}

/// The subject of a reply: one `Re:`, whatever prefixes in other languages it had.
fn subject(subject: &str) -> String {
    let mut bare = subject.trim();
    while let Some((prefix, rest)) = bare.split_once(':') {
        if !["re", "aw", "sv", "antw", "rv", "ref"].contains(&prefix.trim().to_lowercase().as_str()) {
            break;
        }
        bare = rest.trim();
    }
    format!("Re: {bare}")
}

#[cfg(test)]
mod tests {
    use super::{subject, unquoted};
    use crate::{Address, Message};

    fn addresses(addresses: &[&str]) -> Vec<Address> {
        addresses.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn message() -> Message {
        Message {
            from: addresses(&["Eve <eve@x.test>"]),
            to: addresses(&["me@x.test", "Bob <bob@x.test>"]),
            cc: addresses(&["ME@x.test", "BOB@x.test", "zoe@x.test"]),
            ..Message::default()
        }
    }

    #[test]
    fn a_subject_has_one_re() {
        for (before, after) in [
            ("Plan", "Re: Plan"),
            ("Re: Plan", "Re: Plan"),
            ("RE: Aw:  re: Plan: B", "Re: Plan: B"),
            ("", "Re: "),
            ("Reading: x", "Re: Reading: x"),
        ] {
            assert_eq!(subject(before), after);
        }
    }

    #[test]
    fn a_reply_goes_to_whom_it_should() {
        let one = message().reply(&["me@x.test"], false);
        assert_eq!((one.to, one.cc), (addresses(&["Eve <eve@x.test>"]), Vec::new()));
        let all = message().reply(&["me@x.test"], true);
        assert_eq!(all.to, addresses(&["Eve <eve@x.test>"]));
        assert_eq!(all.cc, addresses(&["Bob <bob@x.test>", "zoe@x.test"]), "each once, and not ourselves");
        let elsewhere = Message { reply_to: addresses(&["list@x.test"]), ..message() };
        assert_eq!(elsewhere.reply(&["me@x.test"], false).to, addresses(&["list@x.test"]));
        let own = message().reply(&["eve@x.test"], true);
        assert_eq!(own.to, addresses(&["me@x.test", "Bob <bob@x.test>"]), "those we wrote to");
        assert_eq!(own.cc, addresses(&["zoe@x.test"]));
    }

    #[test]
    fn the_quote_at_the_end_is_left_out_and_counted() {
        let quote = "Bob wrote:\n\n> Shall we?\n>\n>> as before\n";
        for (text, left, quoted) in [
            (format!("Yes.\n\n{quote}"), "Yes.\n\nBob wrote:", 3),
            ("> Shall we?".to_owned(), "", 1),
            (format!("{quote}\n[1]: https://x.test"), "Bob wrote:\n\n[1]: https://x.test", 3),
        ] {
            assert_eq!(unquoted(&text), (left.to_owned(), quoted), "{text}");
        }
        for whole in [format!("{quote}\nYes, at 10."), "No quote:\n- a > b".to_owned(), String::new()] {
            assert_eq!(unquoted(&whole), (whole.clone(), 0));
        }
    }

    #[test]
    fn a_quote_has_an_end() {
        let long = Message { text: "line\n".repeat(20_000), ..message() };
        let quote = long.reply(&[], false).quote;
        assert!(
            quote.len() < 65_000 && quote.starts_with("Eve wrote:\n> line\n") && quote.ends_with("> [...]\n")
        );
    }
}
