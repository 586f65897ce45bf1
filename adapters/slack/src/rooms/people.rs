//! The people of a workspace.

use std::sync::Arc;

use adjutant_chat::{Profile, one_line};
use serde_json::Value;

use super::{LIST_PAGE, LIST_PAGES};
use crate::Slack;
use crate::events::display_name;
use crate::web_api::ApiError;

/// The most people that are returned for a name.
const MAX_PEOPLE: usize = 20;

pub(super) struct Person {
    profile: Profile,
    /// In lower case.
    names: Vec<String>,
}

impl Slack {
    pub(super) async fn find_people(&self, query: &str) -> Result<Vec<Profile>, ApiError> {
        let query = query.trim();
        let mention = query.strip_prefix("<@").and_then(|inner| inner.strip_suffix('>'));
        let query = mention.map_or(query, |inner| inner.split('|').next().unwrap_or(inner));
        let id = query.trim_start_matches('@');
        if is_id(id) {
            match self.bot.read("users.info", &[("user", id.to_owned())]).await {
                Ok(answer) => return Ok(profile(&answer["user"]).into_iter().collect()),
                Err(ApiError::Refused(why)) if why.starts_with("user_not_") => {}
                Err(error) => return Err(error),
            }
        }
        let name = query.trim_start_matches('@').to_lowercase();
        if name.is_empty() || mention.is_some() {
            return Ok(Vec::new());
        }
        let people = self.lists.people.try_get_with((), self.list_people()).await;
        let people = people.map_err(|error| (*error).clone())?;
        let with = |is_it: &dyn Fn(&Person) -> bool| {
            let found = people.iter().filter(|person| is_it(person)).take(MAX_PEOPLE);
            found.map(|person| person.profile.clone()).collect::<Vec<_>>()
        };
        let exact = with(&|person| person.names.contains(&name));
        if !exact.is_empty() {
            return Ok(exact);
        }
        let has = |person: &Person, word: &str| person.names.iter().any(|name| name.contains(word));
        Ok(with(&|person| name.split_whitespace().all(|word| has(person, word))))
    }

    async fn list_people(&self) -> Result<Arc<Vec<Person>>, ApiError> {
        let arguments = [("limit", LIST_PAGE.to_string())];
        let person = |user: Value| {
            let names = names(&user).map(str::to_lowercase).collect();
            profile(&user).filter(|_| user["deleted"] != true).map(|profile| Person { profile, names })
        };
        Ok(Arc::new(self.bot.list("users.list", "members", &arguments, LIST_PAGES, person).await?))
    }
}

fn is_id(text: &str) -> bool {
    let is_of_ids = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    is_of_ids && text.len() > 1 && text.starts_with(['U', 'W'])
}

fn names(user: &Value) -> impl Iterator<Item = &str> {
    let profile = &user["profile"];
    let names =
        [&user["name"], &user["real_name"], &profile["real_name"], &profile["display_name"]].into_iter();
    names.filter_map(|name| name.as_str().filter(|name| !name.is_empty()))
}

/// A person's profile.
/// Source: <https://docs.slack.dev/reference/objects/user-object>
fn profile(user: &Value) -> Option<Profile> {
    let (id, about) = (user["id"].as_str()?, &user["profile"]);
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default().trim());
    let status = format!("{} {}", text(&about["status_emoji"]), text(&about["status_text"]));
    let account = match (user["deleted"] == true, user["is_bot"] == true) {
        (true, _) => "deactivated",
        (false, true) => "a bot's",
        (false, false) => "",
    };
    let facts = [
        ("user name", text(&user["name"])),
        ("full name", text(&user["real_name"])),
        ("title", text(&about["title"])),
        ("time zone", text(&user["tz"])),
        ("status", status.trim().to_owned()),
        ("e-mail", text(&about["email"])),
        ("account", account.to_owned()),
    ];
    let name = one_line(display_name(user).unwrap_or(id));
    let facts = facts.into_iter().filter(|(_, value)| *value != name);
    Some(Profile::new(id.to_owned(), name.clone(), facts))
}
