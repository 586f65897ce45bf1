//! `/room`: when we answer in a room, with which skills, and whom. Owners set it, and those who manage the room.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Address, Choice, Profile, SenderId};
use adjutant_l10n as l10n;
use adjutant_store::inbox::InboxRow;
use adjutant_store::outbox::Message;
use adjutant_store::people::{self, Conversation};
use adjutant_store::room_rules::{self, RoomRule, room_of};
use adjutant_store::{Batch, Result};
use adjutant_types::invisible_chars::display_name;
use adjutant_types::{ConversationId, RoomAnswers};

use super::Conversations;

/// How the id of a button begins that sets when we answer.
const BUTTON: &str = "room:";

/// How long a rule is cached, which another instance may change.
const CACHED: Duration = Duration::from_mins(1);

/// Rules by channel and room. Cached, because everything that is written in a room asks for its rule.
pub type CachedRules = moka::future::Cache<(String, String), Arc<RoomRule>>;

pub fn cached_rules() -> CachedRules {
    moka::future::Cache::builder().max_capacity(10_000).time_to_live(CACHED).build()
}

/// The command that a button below a room's rule stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    button.strip_prefix(BUTTON).map(|answers| format!("/room {answers}"))
}

/// The parts of a rule as `/room` takes them: when we answer, the skills, and the people.
pub fn parts(rule: &RoomRule) -> [String; 3] {
    let names =
        |names: Option<&Vec<String>>| names.map_or_else(|| "all".to_owned(), |names| names.join(", "));
    [rule.answers.to_string(), names(rule.skills.as_ref()), names(rule.people.as_ref())]
}

impl Conversations {
    /// The rule of the room that a place is in.
    pub async fn room_rule(&self, address: &Address) -> Result<Arc<RoomRule>> {
        let key = (address.channel.clone(), room_of(&address.place).to_owned());
        if let Some(rule) = self.room_rules.get(&key).await {
            return Ok(rule);
        }
        // Race accepted: a rule that changes in this moment counts a minute later.
        let rule = Arc::new(room_rules::of(&self.store, &key.0, &key.1).await?);
        self.room_rules.insert(key, rule.clone()).await;
        Ok(rule)
    }

    /// Gives a room that got another id on its platform the rule that it had.
    pub async fn move_room(&self, from: &Address, to: &Address) -> Result<()> {
        let batch = Batch::with(|batch| room_rules::copy(batch, &to.channel, &from.place, &to.place));
        self.store.write(batch).await?;
        self.room_rules.invalidate(&(to.channel.clone(), room_of(&to.place).to_owned())).await;
        Ok(())
    }

    /// Shows the room's rule, or changes it.
    pub(super) async fn room(&self, row: &InboxRow, rest: &str) -> Result<()> {
        let here = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let mut batch = Batch::new();
        if !here.shared {
            return self.reply(row, None, l10n::room_rules::only_in_rooms(), batch).await;
        }
        let mut rule = room_rules::of(&self.store, &here.channel, &here.place).await?;
        if !rest.is_empty() {
            if !self.manages(row, &here).await? {
                return self.reply(row, None, l10n::room_rules::not_a_manager(), batch).await;
            }
            if let Some(problem) = self.change(&mut rule, &here, rest).await {
                return self.reply(row, None, problem, batch).await;
            }
            room_rules::set(&mut batch, &here.channel, &here.place, &rule);
        }
        let text = self.described(&here, &rule).await?;
        let choices = choices(rule.answers);
        let message = Message { text, choices, ..Message::default() };
        // Before the reply: whoever has read it writes under the new rule.
        let key = (here.channel, room_of(&here.place).to_owned());
        self.room_rules.insert(key.clone(), Arc::new(rule)).await;
        let done = self.reply_with(row, message, batch).await;
        if done.is_err() {
            self.room_rules.invalidate(&key).await;
        }
        done
    }

    /// Sets the [`parts`] of a room's rule to what an owner has typed. False if the room is gone, or one isn't understood.
    pub async fn set_room_rule(&self, room: &ConversationId, typed: &[&str]) -> Result<bool> {
        let named = people::conversations_named(&self.store, room.as_str()).await?;
        let Some(here) = named.into_iter().find(|here| here.id == *room && here.shared) else {
            return Ok(false);
        };
        let mut rule = room_rules::of(&self.store, &here.channel, &here.place).await?;
        let before = parts(&rule);
        for ((part, typed), before) in ["", "skills", "people"].into_iter().zip(typed).zip(before) {
            let asked = format!("{part} {typed}");
            if typed.trim() != before && self.change(&mut rule, &here, &asked).await.is_some() {
                return Ok(false);
            }
        }
        let batch = Batch::with(|batch| room_rules::set(batch, &here.channel, &here.place, &rule));
        self.store.write(batch).await?;
        let key = (here.channel, room_of(&here.place).to_owned());
        self.room_rules.insert(key, Arc::new(rule)).await;
        Ok(true)
    }

    /// Whether somebody may change the rule of a room.
    async fn manages(&self, row: &InboxRow, here: &Conversation) -> Result<bool> {
        if self.is_owner(&row.person_id).await? {
            return Ok(true);
        }
        let services = &self.orchestrator.agents.executor.services;
        let Some(rooms) = services.rooms.get(&here.channel) else { return Ok(false) };
        for account in people::accounts(&self.store, &row.person_id).await? {
            let Some((channel, user)) = account.split_once(':') else { continue };
            if channel != here.channel {
                continue;
            }
            match rooms.manages(&here.place, &SenderId(user.to_owned())).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => tracing::warn!(channel, %error, "couldn't find out who manages a room"),
            }
        }
        Ok(false)
    }

    /// Changes a rule as somebody asks; says what isn't understood, if anything.
    async fn change(&self, rule: &mut RoomRule, here: &Conversation, asked: &str) -> Option<String> {
        let words = asked.split(|char: char| char == ',' || char.is_whitespace());
        let mut words = words.filter(|word| !word.is_empty());
        let what = words.next().unwrap_or_default().to_lowercase();
        let names: Vec<&str> = words.collect();
        match (what.as_str(), names.as_slice()) {
            ("skills", ["all"]) => rule.skills = None,
            ("skills", [_, ..]) => {
                let (skills, names) = (self.orchestrator.skills.current(), names.iter());
                let names: Vec<String> = names.map(|name| name.to_lowercase()).collect();
                let is_unknown = |name: &&String| skills.get(name).is_none() && skills.domain(name).is_none();
                if let Some(unknown) = names.iter().find(is_unknown) {
                    return Some(l10n::room_rules::no_such_skill(unknown));
                }
                rule.skills = Some(names);
            }
            ("people", ["all"]) => rule.people = None,
            ("people", [_, ..]) => {
                let mut people = Vec::new();
                for name in &names {
                    let found = self.profiles(here, name).await;
                    let Some(profile) = found.iter().find(|profile| is_mention(name, profile)) else {
                        return Some(match found.is_empty() {
                            true => l10n::room_rules::nobody(name),
                            false => l10n::room_rules::not_a_mention(),
                        });
                    };
                    people.push(profile.id.clone());
                }
                rule.people = Some(people);
            }
            (answers, []) => match answers.parse() {
                Ok(answers) => rule.answers = answers,
                Err(_) => return Some(l10n::room_rules::usage()),
            },
            _ => return Some(l10n::room_rules::usage()),
        }
        None
    }

    /// Those in a room who have this id or are called so.
    async fn profiles(&self, here: &Conversation, name: &str) -> Vec<Profile> {
        let rooms = self.orchestrator.agents.executor.services.rooms.get(&here.channel);
        let Some(rooms) = rooms else { return Vec::new() };
        rooms.profiles(&here.place, name).await.unwrap_or_else(|error| {
            tracing::warn!(channel = here.channel, %error, "couldn't find somebody in a room");
            Vec::new()
        })
    }

    async fn described(&self, here: &Conversation, rule: &RoomRule) -> Result<String> {
        let when = match rule.answers {
            RoomAnswers::Always => l10n::room_rules::always(),
            RoomAnswers::Mentioned => l10n::room_rules::mentioned(),
            RoomAnswers::Never => l10n::room_rules::never(),
        };
        let skills = rule.skills.as_ref().map_or_else(l10n::room_rules::all_skills, |names| names.join(", "));
        let people = match &rule.people {
            Some(users) => {
                let mut names = Vec::new();
                for user in users {
                    let name = match people::person_of(&self.store, &here.channel, user).await? {
                        Some(person) => Some(person.name),
                        None => {
                            let mut found = self.profiles(here, user).await.into_iter();
                            found.find(|profile| profile.id == *user).map(|profile| profile.name)
                        }
                    };
                    let shown = |name: String| format!("{} ({user})", display_name(&name));
                    names.push(name.map_or_else(|| user.clone(), shown));
                }
                names.join(", ")
            }
            None => l10n::room_rules::everybody(),
        };
        Ok(l10n::room_rules::rule(when, skills, people))
    }
}

/// Whether a word means somebody by their id, as a mention does, or by a user name that is theirs alone: profiles give
/// such a one with its `@`. Anybody could give themselves another name.
fn is_mention(word: &str, profile: &Profile) -> bool {
    let is_user_name =
        |(fact, value): &(String, String)| fact == "user name" && value.eq_ignore_ascii_case(word);
    word.trim_start_matches('@') == profile.id
        || (word.starts_with('@') && profile.facts.iter().any(is_user_name))
}

/// What the button says that sets this.
pub fn label(answers: RoomAnswers) -> String {
    match answers {
        RoomAnswers::Always => l10n::room_rules::always_button(),
        RoomAnswers::Mentioned => l10n::room_rules::mentioned_button(),
        RoomAnswers::Never => l10n::room_rules::never_button(),
    }
}

/// The buttons that set what isn't set.
fn choices(now: RoomAnswers) -> Vec<Choice> {
    let choice = |answers: &RoomAnswers| Choice { id: format!("{BUTTON}{answers}"), label: label(*answers) };
    RoomAnswers::ALL.iter().filter(|answers| **answers != now).map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_and_a_user_name_with_its_sign_are_mentions_and_other_names_are_none() {
        for (word, user_name, expected) in [
            ("77", "bob", true),
            ("@77", "bob", true),
            ("@BOB", "@bob", true),
            ("bob", "@bob", false),
            ("@bob", "bob", false),
            ("@bob", "", false),
            ("bob", "bob", false),
        ] {
            let profile = Profile::new("77".into(), "Bob".into(), [("user name", user_name.to_owned())]);
            assert_eq!(is_mention(word, &profile), expected, "{word} {user_name}");
        }
    }
}
