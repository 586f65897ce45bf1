//! `adjutant oauth`: logs in at services that skills and MCP servers use.

use std::fmt::Write as _;
use std::io::BufRead as _;
use std::process::ExitCode;
use std::thread;

use adjutant_config::Config;
use adjutant_skills::SkillError;
use adjutant_skills::oauth::{CodeLogin, DeviceLogin, LoginState, OAuth};
use adjutant_store::Store;
use adjutant_types::clock::local_day;
use adjutant_types::invisible_chars::line;
use tokio::sync::oneshot;

use crate::cli::{CliError, OAuthCommand as Command, Result, on_store, tell};

pub(in crate::cli) async fn run(config: Config, command: Command) -> Result<ExitCode> {
    on_store(&config, async |store| carry_out(&config, store, command).await).await
}

/// The logins, in this store.
pub(in crate::cli) async fn attached(config: &Config, store: &Store) -> Result<OAuth> {
    let oauth = OAuth::new(config);
    oauth.attach(store);
    oauth.take_over().await.map_err(|error| CliError::plain(error.to_string()))?;
    Ok(oauth)
}

async fn carry_out(config: &Config, store: &Store, command: Command) -> Result<ExitCode> {
    let oauth = attached(config, store).await?;
    match command {
        Command::List => tell(&list(config, &oauth).await)?,
        Command::Login { name, device } => {
            if device || (!oauth.has_page(&name) && config.oauth.contains_key(&name)) {
                by_device(oauth.log_in_by_device(&name).await.map_err(plain)?).await?;
            } else {
                by_browser(oauth.log_in(&name).await.map_err(plain)?).await?;
            }
            tell(&format!("You are logged in: {name}\n"))?;
        }
        Command::Logout { name } => {
            let text = match oauth.log_out(&name).await.map_err(plain)? {
                true => "logged out. The service may still list this login; you can end it there, too",
                false => "nobody was logged in",
            };
            tell(&format!("{name}: {text}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(in crate::cli) fn plain(error: SkillError) -> CliError {
    CliError::plain(error.message.whole())
}

async fn list(config: &Config, oauth: &OAuth) -> String {
    let states = oauth.states().await;
    if states.is_empty() {
        return "There are no logins: [oauth.NAME] in the configuration names none\n".to_owned();
    }
    let mut text = String::new();
    for (name, state) in states {
        let state = match state {
            LoginState::None => format!("not logged in; run `adjutant oauth login {name}`"),
            state => in_words(state, config),
        };
        let _ = writeln!(text, "{name}: {state}");
    }
    text
}

pub(in crate::cli) fn in_words(state: LoginState, config: &Config) -> String {
    let day = |ms| local_day(ms, config.assistant.timezone);
    match state {
        LoginState::None => "not logged in".to_owned(),
        LoginState::Ready { since, until: None } => format!("logged in since {}", day(since)),
        LoginState::Ready { since, until: Some(until) } => {
            format!("logged in since {}; ends on {} and can't be renewed", day(since), day(until))
        }
        LoginState::Broken(why) => why,
    }
}

pub(in crate::cli) async fn by_browser(login: CodeLogin) -> Result<()> {
    let page = login.page();
    tell(&format!(
        "Open this address in your browser and allow access:\n\n  {page}\n\n\
         If the browser is on another machine, it ends at a page that it can't open: paste that page's address here.\n"
    ))?;
    login.finish(pasted()).await.map_err(plain)
}

/// The first line that somebody types. The thread that waits for it holds up nothing.
pub(super) async fn pasted() -> String {
    let (sender, typed) = oneshot::channel();
    thread::spawn(move || {
        let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
        if let Some(line) = lines.find(|line| !line.trim().is_empty()) {
            // The browser may have been faster.
            let _ = sender.send(line);
        }
    });
    match typed.await {
        Ok(line) => line,
        Err(_) => std::future::pending().await,
    }
}

async fn by_device(login: DeviceLogin) -> Result<()> {
    let (page, code) = (line(&login.page, 200), line(&login.user_code, 60));
    tell(&format!("Open {page} on any device and type this code:\n\n  {code}\n\n"))?;
    login.finish().await.map_err(plain)
}
