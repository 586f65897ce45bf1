//! What a reply takes from the letter that it answers.

use crate::{Letter, Party};

/// So much of the letter that is answered is quoted.
const QUOTED: usize = 32 << 10;

/// A reply's addresses and headers; its text is the writer's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// To whom it goes.
    pub to: Vec<Party>,
    /// Who gets a copy.
    pub cc: Vec<Party>,
    /// The subject with one `Re:`.
    pub subject: String,
    /// The Message-ID of the letter that is answered.
    pub in_reply_to: Option<String>,
    /// The Message-IDs of the letters before, with that one.
    pub references: Vec<String>,
    /// Who wrote what when, to stand below the writer's text.
    pub quote: String,
}

impl Letter {
    /// What a reply to this letter begins with. `ours` are our own addresses: nobody answers themselves,
    /// except that an answer to a letter of ours goes to those we wrote to. With `all`, everybody gets it.
    #[must_use]
    pub fn reply(&self, ours: &[&str], all: bool) -> Reply {
        let is_ours = |party: &Party| ours.iter().any(|own| own.eq_ignore_ascii_case(&party.address));
        let sender = if self.reply_to.is_empty() { self.from.clone() } else { self.reply_to.clone() };
        let is_own = !sender.is_empty() && sender.iter().all(is_ours);
        let mut known: Vec<String> = Vec::new();
        let mut fresh = |parties: &[Party]| -> Vec<Party> {
            let others = parties.iter().filter(|party| !is_ours(party));
            let others = others.filter(|party| {
                let address = party.address.to_lowercase();
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
        let when = self.date.map(|date| format!("On {}, ", date.format("%a, %-d %b %Y at %H:%M %z")));
        let mut quote = format!("{}{who} wrote:\n", when.unwrap_or_default());
        for line in self.text.lines() {
            if quote.len() + line.len() > QUOTED {
                quote.push_str("> [...]\n");
                break;
            }
            let mark = if line.starts_with('>') || line.is_empty() { ">" } else { "> " };
            quote.extend([mark, line, "\n"]);
        }
        quote
    }
}

/// The subject of a reply: however often it was answered before, in whatever language, it has one `Re:`.
fn subject(subject: &str) -> String {
    let mut bare = subject.trim();
    while let Some((mark, rest)) = bare.split_once(':') {
        if !["re", "aw", "sv", "antw", "rv", "ref"].contains(&mark.trim().to_lowercase().as_str()) {
            break;
        }
        bare = rest.trim();
    }
    format!("Re: {bare}")
}

#[cfg(test)]
mod tests {
    use super::subject;
    use crate::{Letter, Party};

    fn parties(addresses: &[&str]) -> Vec<Party> {
        addresses.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn letter() -> Letter {
        Letter {
            from: parties(&["Eve <eve@x.test>"]),
            to: parties(&["me@x.test", "Bob <bob@x.test>"]),
            cc: parties(&["ME@x.test", "BOB@x.test", "zoe@x.test"]),
            ..Letter::default()
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
        let one = letter().reply(&["me@x.test"], false);
        assert_eq!((one.to, one.cc), (parties(&["Eve <eve@x.test>"]), Vec::new()));
        let all = letter().reply(&["me@x.test"], true);
        assert_eq!(all.to, parties(&["Eve <eve@x.test>"]));
        assert_eq!(all.cc, parties(&["Bob <bob@x.test>", "zoe@x.test"]), "each once, and not ourselves");
        let elsewhere = Letter { reply_to: parties(&["list@x.test"]), ..letter() };
        assert_eq!(elsewhere.reply(&["me@x.test"], false).to, parties(&["list@x.test"]));
        let own = letter().reply(&["eve@x.test"], true);
        assert_eq!(own.to, parties(&["me@x.test", "Bob <bob@x.test>"]), "those we wrote to");
        assert_eq!(own.cc, parties(&["zoe@x.test"]));
    }

    #[test]
    fn a_quote_has_an_end() {
        let long = Letter { text: "line\n".repeat(20_000), ..letter() };
        let quote = long.reply(&[], false).quote;
        assert!(
            quote.len() < 65_000 && quote.starts_with("Eve wrote:\n> line\n") && quote.ends_with("> [...]\n")
        );
    }
}
