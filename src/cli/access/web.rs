//! `adjutant web`: who is signed in on the web page, and their passkeys.

use std::fmt::Write;
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_store::people::Person;
use adjutant_store::{Store, StoreError, instances, known, passkeys, people, web};
use adjutant_types::clock::utc;
use adjutant_workflows::trace::one_line;

use crate::cli::{CliError, Result, WebCommand, on_store, say};

pub(in crate::cli) async fn run(config: Config, command: WebCommand) -> Result<ExitCode> {
    let page = config.page().map(|(_, url)| url.to_owned());
    let Some(page) = page else {
        let problem = "the web page is off\nNext step: add the line [channels.web] to the configuration and restart `adjutant serve`.";
        return Err(CliError::Missing(problem.to_owned()));
    };
    let text = on_store(&config, async |store| match &command {
        WebCommand::Login { person } => login(store, &page, person.as_deref(), &config.assistant.owner).await,
        WebCommand::Sessions { revoke: None } => Ok(list(store).await?),
        WebCommand::Sessions { revoke: Some(which) } => revoke(store, which).await,
    });
    say(&text.await?)
}

async fn login(store: &Store, page: &str, who: Option<&str>, owners: &[String]) -> Result<String> {
    let owner = match owners {
        [one] if who.is_none() => {
            let (channel, user) = one.split_once(':').unwrap_or_default();
            people::person_of(store, channel, user).await?
        }
        _ => None,
    };
    let person = match (who, owner) {
        (Some(who), _) => only(store, who).await?,
        (None, Some(owner)) => owner,
        (None, None) => people::person(store, "console", "local", "you").await?,
    };
    if instances::living(store).await?.is_empty() {
        return Err(CliError::plain(
            "`adjutant serve` isn't running, so there is no page yet; start it first",
        ));
    }
    let code = web::offer(store, &person.id).await?;
    Ok(format!("{page}/login#{code}\n"))
}

/// The only person that is meant by this.
pub(super) async fn only(store: &Store, who: &str) -> Result<Person> {
    let mut found = known::find_people(store, who, 2).await?;
    match (found.pop(), found.is_empty()) {
        (Some(person), true) => Ok(person),
        (Some(_), false) => {
            Err(CliError::plain(format!("several people are called {who:?}; say CHANNEL:USER-ID")))
        }
        (None, _) => Err(CliError::plain(format!("nobody is known as {who:?}; say CHANNEL:USER-ID"))),
    }
}

async fn list(store: &Store) -> Result<String, StoreError> {
    let sessions = web::sessions(store, None).await?.into_iter();
    let sessions =
        sessions.map(|one| (one.id, one.person_id, "since", one.created_at, Some(one.seen_at), one.browser));
    let keys = passkeys::list(store, None).await?.into_iter();
    let keys =
        keys.map(|one| (one.key, one.person_id, "passkey since", one.created_at, one.used_at, one.browser));
    let mut text = String::new();
    for (id, person, what, since, used, browser) in sessions.chain(keys) {
        let name = people::person_by_id(store, &person).await?.name;
        let (name, browser, since) = (one_line(&name), one_line(&browser), utc(since).format("%Y-%m-%d"));
        let used = used.map(|at| utc(at).format("last used %Y-%m-%d %H:%M UTC").to_string());
        let used = used.as_deref().unwrap_or("not used yet");
        let _ = writeln!(text, "{id}  {name}, {what} {since}, {used}  {browser}");
    }
    if text.is_empty() {
        text.push_str("Nobody is signed in. `adjutant web login` makes a link.\n");
    }
    Ok(text)
}

async fn revoke(store: &Store, which: &str) -> Result<String> {
    for passkey in passkeys::list(store, None).await? {
        if passkey.key == which {
            passkeys::remove(store, which, &passkey.person_id).await?;
            return Ok("Passkey removed; whoever signed in with it is signed out.\n".to_owned());
        }
    }
    let mut count = 0;
    for session in web::sessions(store, None).await? {
        if which == "all" || session.id == which {
            count += usize::from(web::revoke(store, &session.id, None).await?);
        }
    }
    match count {
        0 => Err(CliError::plain("there is no such session or passkey; `adjutant web sessions` lists them")),
        1 => Ok("Signed out.\n".to_owned()),
        many => Ok(format!("{many} browsers signed out.\n")),
    }
}
