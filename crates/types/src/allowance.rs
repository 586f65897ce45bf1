//! The scope of a standing approval.
//!
//! Property: a rule allows exactly the calls whose own narrowest rule it is. No wording and no look-alike stretches it.

use std::fmt;

use adjutant_l10n as l10n;
use serde::{Deserialize, Serialize};

use crate::AccountId;

/// The longest stored form, in bytes; what is longer can't be allowed in advance.
const MAX_LENGTH: usize = 2000;

/// The narrowest rule that a call fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "allows", rename_all = "lowercase")]
pub enum Allowance {
    /// Emails from this account to this address and nobody else, without files.
    Mail {
        /// The address, in small letters.
        to: String,
        /// The person's own address.
        from: String,
    },
    /// New events without guests.
    Events {
        /// The calendar's name; none for the one that new events go to.
        calendar: Option<String>,
        /// The person's account that it is in; none for that of the configuration and our own store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<AccountId>,
        /// What they call that account, where they have several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// New notes directly in this folder, and additions to its notes.
    Notes {
        /// Its path below the folder of all notes.
        folder: String,
    },
    /// One call of a service or a program.
    Call { skill: String, arguments: String },
}

impl Allowance {
    /// Emails to one address; none if it isn't plain ASCII, because letters can look alike.
    pub fn mail(to: &str, from: &str) -> Option<Self> {
        let is_plain = |address: &str| address.bytes().all(|byte| byte.is_ascii_graphic());
        let is_one = |address: &str| address.matches('@').count() == 1 && is_plain(address);
        let all = is_one(to) && is_one(from);
        all.then(|| Self::Mail { to: to.to_ascii_lowercase(), from: from.to_ascii_lowercase() })
    }

    /// The form that is stored and compared; none if it is too long to be allowed in advance.
    pub fn to_json(&self) -> Option<String> {
        serde_json::to_string(self).ok().filter(|json| json.len() <= MAX_LENGTH)
    }

    /// What a stored form allows.
    pub fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// The rule in words, such as `emails to bob@acme.example`.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Mail { to, .. } => l10n::conversation::allows_emails(to),
            Self::Events { calendar, label, .. } => match (calendar, label) {
                (None, None) => l10n::conversation::allows_events(),
                (None, Some(label)) => l10n::conversation::allows_events_of(label),
                (Some(calendar), None) => l10n::conversation::allows_events_in(calendar),
                (Some(calendar), Some(label)) => l10n::conversation::allows_events_in_of(calendar, label),
            },
            Self::Notes { folder } => l10n::conversation::allows_notes(folder),
            Self::Call { skill, arguments } => l10n::conversation::allows_call(skill, arguments),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_and_plain() {
        let to = |address: &str| Allowance::mail(address, "ada@home.example");
        assert_eq!(to("Bob@Acme.example"), to("bob@acme.example"));
        assert_eq!(to("bob@acme.example").unwrap().to_string(), "emails to bob@acme.example");
        for address in
            ["b\u{43e}b@acme.example", "bob@acme.example, eve@evil.example", "bob", "", "b ob@a.example"]
        {
            assert_eq!(to(address), None, "{address}");
        }
        assert_eq!(to("bob@acme.example@evil.example"), None);
    }

    #[test]
    fn it_reads_back_and_what_is_too_long_is_none() {
        let call = |arguments: String| Allowance::Call { skill: "crm.update".into(), arguments };
        let rule = call("{\"id\":7}".into());
        assert_eq!(Allowance::from_json(&rule.to_json().unwrap()), Some(rule));
        assert_eq!(call("x".repeat(MAX_LENGTH)).to_json(), None);
        let former = "{\"allows\":\"events\",\"calendar\":\"Work\"}";
        assert_eq!(Allowance::from_json(former).unwrap().to_json().unwrap(), former);
        let of = |label: Option<&str>| Allowance::Events {
            calendar: Some("Team".into()),
            account: Some("a1".into()),
            label: label.map(str::to_owned),
        };
        assert_eq!(of(Some("work")).to_string(), "new events in “Team” of your account “work”");
        assert_eq!(of(None).to_string(), "new events in “Team”");
        assert_ne!(of(None).to_json(), Some(former.replace("Work", "Team")), "it is another account's");
        assert_eq!(Allowance::from_json("{\"allows\":\"everything\"}"), None);
    }
}
