//! `adjutant db export` and `erase`: everything known about a person.

use adjutant_skills::Failure;
use adjutant_skills::accounts::Logins;
use adjutant_store::people::{self, Person};
use adjutant_store::{Store, connected, known};
use adjutant_workflows::trace::one_line;
use adjutant_workflows::trace::text::several;

use super::alone;
use crate::cli::{CliError, Result, answer, json};

/// How many people to list if a name is ambiguous.
const LISTED: i64 = 5;

/// Everything known about a person, as JSON.
pub(super) async fn export(store: &Store, who: &str) -> Result<String> {
    let person = find(store, who).await?;
    json(&known::export(store, &person.id).await?)
}

/// Erases a person after a confirmation. Returns the output and whether it was done.
pub(super) async fn erase(store: &Store, logins: &Logins, who: &str, yes: bool) -> Result<(String, bool)> {
    let person = find(store, who).await?;
    let name = format!("{} ({})", one_line(&person.name), accounts(store, &person).await?);
    alone(store).await?;
    let sentence = format!("Erase {name} permanently, with all messages, tasks and memories?");
    // A `y` isn't enough for what nobody can undo.
    if !yes && answer(&sentence, "--yes to erase without asking")? != "yes" {
        return Ok(("nothing was erased\n".to_owned(), false));
    }
    let rooms = known::rooms(store, &person.id).await?;
    // Afterwards there is nothing left to end their logins with.
    for account in connected::of_nobody_else(store, &person.id).await? {
        match logins.disconnect(&account.id).await {
            Err(Failure::Store(error)) => return Err(error.into()),
            Ok(_) | Err(Failure::Skill(_)) => {}
        }
    }
    known::erase(store, &person.id).await?;
    let mut text = format!(
        "{name} is erased. Backups still have their data, and so do the chat platforms and your mail, calendar and \
         contacts servers.\n"
    );
    if rooms > 0 {
        let noun = several(usize::try_from(rooms).unwrap_or(0), "room");
        text.push_str(&format!("Other people's messages in {noun} remain, and may mention them.\n"));
    }
    Ok((text, true))
}

async fn accounts(store: &Store, person: &Person) -> Result<String> {
    let accounts = people::accounts(store, &person.id).await?;
    Ok(if accounts.is_empty() { person.id.to_string() } else { one_line(&accounts.join(", ")) })
}

/// The one person that `who` stands for.
async fn find(store: &Store, who: &str) -> Result<Person> {
    let mut found = known::find_people(store, who, LISTED).await?;
    let name = one_line(who);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(CliError::plain(format!(
            "no person matches '{name}'; write a person's id, CHANNEL:USER-ID, or their name"
        ))),
        _ => {
            let mut lines = String::new();
            for person in &found {
                lines.push_str(&format!("\n  {}  {}", person.id, accounts(store, person).await?));
            }
            Err(CliError::plain(format!(
                "several people are called '{name}'; write one of these ids:{lines}"
            )))
        }
    }
}
