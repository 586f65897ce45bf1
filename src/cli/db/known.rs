//! `adjutant db export` and `erase`: what is known of somebody.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::cli::CliError;
use crate::store::people::{self, Person};
use crate::store::{Store, known, leases};
use crate::trace::one_line;

/// More people than this are not named.
const NAMED: i64 = 5;

/// All that is known of somebody, as JSON.
///
/// # Errors
/// When there is no such person, or the store fails.
pub(super) async fn export(store: &Store, who: &str) -> Result<String, CliError> {
    let person = one(store, who).await?;
    let all = known::export(store, &person.id).await?;
    let json = serde_json::to_string_pretty(&all);
    Ok(json.map_err(|error| CliError::failed("what is known can't be written as JSON", error))? + "\n")
}

/// Forgets somebody, once there is a yes. Says what was done, and whether it was.
///
/// # Errors
/// When there is no such person, something is at work on the store, nobody can be asked, or the store fails.
pub(super) async fn erase(store: &Store, who: &str, yes: bool) -> Result<(String, bool), CliError> {
    let person = one(store, who).await?;
    let name = format!("{} ({})", one_line(&person.name), accounts(store, &person).await?);
    if !leases::living(store).await?.is_empty() {
        return Err(CliError::plain(format!(
            "the assistant is at work, and may be for {name}; stop it (systemctl stop adjutant) and try again"
        )));
    }
    if !yes && !agreed(&name)? {
        return Ok(("nothing was erased\n".to_owned(), false));
    }
    let rooms = known::rooms(store, &person.id).await?;
    known::erase(store, &person.id).await?;
    let mut text = format!(
        "{name} is forgotten. Not gone are backups, what the platforms keep themselves, \
                            and mails, events and contacts on your servers.\n"
    );
    if rooms > 0 {
        let noun = if rooms == 1 { "1 room" } else { &format!("{rooms} rooms") };
        text.push_str(&format!("What others said in {noun} remains there, and may name them.\n"));
    }
    Ok((text, true))
}

async fn accounts(store: &Store, person: &Person) -> Result<String, CliError> {
    let accounts = people::accounts(store, &person.id).await?;
    Ok(if accounts.is_empty() { person.id.to_string() } else { one_line(&accounts.join(", ")) })
}

/// The one person who is meant.
async fn one(store: &Store, who: &str) -> Result<Person, CliError> {
    let mut meant = known::meant(store, who, NAMED).await?;
    let name = one_line(who);
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => Err(CliError::plain(format!(
            "nobody is known as '{name}'; write a person's id, CHANNEL:USER-ID, or their name"
        ))),
        _ => {
            let mut lines = String::new();
            for person in &meant {
                lines.push_str(&format!("\n  {}  {}", person.id, accounts(store, person).await?));
            }
            Err(CliError::plain(format!(
                "several people are called '{name}'; write one of their ids:{lines}"
            )))
        }
    }
}

/// Asks on the terminal.
fn agreed(name: &str) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::Usage(
            "nobody can be asked here; say --yes to erase without asking".to_owned(),
        ));
    }
    let unasked = |error: io::Error| CliError::failed("nobody could be asked", error);
    let mut stderr = io::stderr();
    write!(stderr, "Forget {name} for good: messages, tasks, memories, everything? yes/no: ")
        .map_err(unasked)?;
    stderr.flush().map_err(unasked)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(unasked)?;
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}
