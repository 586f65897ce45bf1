//! `adjutant mcp`: the servers, their tools, and what an owner accepts of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{Config, McpClient, McpConfig, McpLaunch, Secret};
use adjutant_sandbox::{Launcher, Permissions};
use adjutant_skills::handlers::mcp::{
    Definition, Inspection, McpServers, ToolState, approve, difference, withdraw,
};
use adjutant_skills::oauth::LoginState;
use adjutant_store::{Batch, Store};
use adjutant_types::clock::{Clock, SystemClock};
use adjutant_types::invisible_chars::{line, shown};
use adjutant_workflows::trace::text::several;

use super::oauth::{attached, by_browser, in_words, plain};
use super::{CliError, McpCommand as Command, Result, conclude, confirmed, on_store, out, say};

/// A probed server needn't be stopped for being idle.
const PROBE: Duration = Duration::from_secs(60);

pub(super) async fn run(config: Config, command: Command) -> Result<ExitCode> {
    if let Command::Probe { env, launch } = &command {
        return probe(&config.launcher(), env, launch).await;
    }
    if let Command::Login { server } | Command::Logout { server } = &command {
        check_configured(config.mcp.keys().map(String::as_str), server)?;
        let is_login = matches!(command, Command::Login { .. });
        return on_store(&config, async |store| login(&config, store, server, is_login).await).await;
    }
    on_store(&config, async |store| {
        let servers = McpServers::new(&config);
        let done = carry_out(&config, store, &servers, &command).await;
        servers.stop().await;
        done
    })
    .await
}

async fn carry_out(
    config: &Config,
    store: &Store,
    servers: &McpServers,
    command: &Command,
) -> Result<ExitCode> {
    servers.load(store).await?;
    match command {
        Command::List => list(config, store, servers).await,
        Command::Tools { server } => tools(servers, server).await,
        Command::Approve { server, tools, yes } => accept(store, servers, server, tools, *yes).await,
        Command::Probe { .. } | Command::Login { .. } | Command::Logout { .. } => Ok(ExitCode::SUCCESS),
    }
}

async fn list(config: &Config, store: &Store, servers: &McpServers) -> Result<ExitCode> {
    let mut text = String::new();
    let oauth = attached(config, store).await?;
    let width = servers.names().map(str::len).max().unwrap_or_default();
    for (name, server) in &config.mcp {
        let approved = servers.approved(name);
        let tools = several(approved, "approved tool");
        let _ = writeln!(text, "{name:width$}  {tools:>17}  {}", launch(&server.launch));
        let state = oauth.state_at_server(name).await;
        if let Some(state) = state.filter(|state| *state != LoginState::None) {
            let _ = writeln!(text, "{:width$}  {}", "", in_words(state, config));
        }
        if approved == 0 {
            let _ = writeln!(text, "{:width$}  → run: adjutant mcp approve {name}", "");
        }
    }
    if text.is_empty() {
        text.push_str("No MCP servers. Add one to the configuration: [mcp.NAME] command = [\"PROGRAM\"]\n");
    }
    say(&text)
}

/// Without anything secret.
fn launch(launch: &McpLaunch) -> String {
    match launch {
        McpLaunch::Command { words, .. } => line(&words.join(" "), 100),
        McpLaunch::Url { url, .. } => line(url.split('?').next().unwrap_or_default(), 100),
    }
}

async fn inspect(servers: &McpServers, name: &str) -> Result<Inspection> {
    check_configured(servers.names(), name)?;
    servers.inspect(name).await.map_err(|error| CliError::plain(error.message.whole()))
}

fn check_configured<'a>(names: impl Iterator<Item = &'a str>, name: &str) -> Result<()> {
    let names: Vec<&str> = names.collect();
    if names.contains(&name) {
        return Ok(());
    }
    let configured = if names.is_empty() { "it names none".to_owned() } else { names.join(", ") };
    let message = format!("there is no [mcp.{}] in the configuration: {configured}", line(name, 60));
    Err(CliError::plain(message))
}

async fn login(config: &Config, store: &Store, server: &str, is_login: bool) -> Result<ExitCode> {
    let oauth = attached(config, store).await?;
    if is_login {
        by_browser(oauth.log_in_at_server(server).await.map_err(plain)?).await?;
        return say(&format!("You are logged in: {server}\n"));
    }
    let text = match oauth.log_out_of_server(server).await.map_err(plain)? {
        true => "logged out. The service may still list this login; you can end it there, too",
        false => "nobody was logged in",
    };
    say(&format!("{server}: {text}\n"))
}

async fn tools(servers: &McpServers, server: &str) -> Result<ExitCode> {
    let found = inspect(servers, server).await?;
    let mut text = about(&found);
    let domains = servers.domains();
    let skills = domains.iter().filter(|domain| domain.name == server).flat_map(|domain| &domain.skills);
    let skills: BTreeMap<String, &str> =
        skills.filter_map(|skill| Some((skill.handler.tool()?.name.clone(), skill.name.as_str()))).collect();
    for (tool, state) in &found.tools {
        let (sign, what) = match state {
            ToolState::Approved => ('✓', "approved".to_owned()),
            ToolState::Changed(_) => ('!', "has changed since it was approved".to_owned()),
            ToolState::New => ('!', "not approved yet".to_owned()),
            ToolState::NotAllowed => ('-', "not in `allow`".to_owned()),
            ToolState::Unusable(why) => ('✗', line(why, 200)),
        };
        let name = shown(&tool.name);
        let skill = skills.get(&tool.name).map(|skill| format!(" → {skill}")).unwrap_or_default();
        let risk = servers.risk(server, &tool.name);
        let _ = writeln!(text, "{sign} {name}{skill}: {what}, risk {risk}{}", hints(tool));
        let _ = writeln!(text, "    {}", shown(&tool.summary()));
    }
    for gone in &found.gone {
        let _ = writeln!(text, "! {}: approved, but the server no longer offers it", shown(gone));
    }
    say(&text)
}

fn about(found: &Inspection) -> String {
    let about = &found.about;
    let name = if about.server.is_empty() { "A server without a name" } else { &about.server };
    format!("{name}, MCP {}: {}\n", line(&about.protocol, 20), several(found.tools.len(), "tool"))
}

fn hints(tool: &Definition) -> &'static str {
    if tool.only_reads() { "; it says that it only reads" } else { "" }
}

async fn accept(
    store: &Store,
    servers: &McpServers,
    name: &str,
    only: &[String],
    yes: bool,
) -> Result<ExitCode> {
    let found = inspect(servers, name).await?;
    if let Some(unknown) = only.iter().find(|tool| !found.has(tool)) {
        return Err(CliError::plain(format!("{name} has no tool '{}'", line(unknown, 60))));
    }
    let is_wanted = |tool: &str| only.is_empty() || only.iter().any(|wanted| wanted == tool);
    let open: Vec<&(Definition, ToolState)> = found
        .tools
        .iter()
        .filter(|(tool, state)| {
            is_wanted(&tool.name) && matches!(state, ToolState::New | ToolState::Changed(_))
        })
        .collect();
    let gone: Vec<&String> = found.gone.iter().filter(|tool| is_wanted(tool)).collect();
    let mut text = about(&found);
    for (tool, state) in &open {
        describe(&mut text, name, servers, tool, state);
    }
    text.extend(gone.iter().map(|tool| format!("\n{}: the server no longer offers it\n", shown(tool))));
    for (tool, state) in &found.tools {
        if let ToolState::Unusable(why) = state {
            let _ = writeln!(text, "\n{}: can't be used: {}", shown(&tool.name), line(why, 200));
        }
    }
    let number = open.len() + gone.len();
    if number == 0 {
        text.push_str("Nothing to approve: all tools are as they were accepted.\n");
        return say(&text);
    }
    out(&text)?;
    let question = format!("\nLet the assistant use {name} like this ({})?", several(number, "change"));
    if !yes && !confirmed(&question, "--yes to approve without asking")? {
        return conclude("Nothing was approved.\n", false);
    }
    let mut batch = Batch::new();
    let now = SystemClock.now_ms();
    open.iter().for_each(|(tool, _)| approve(&mut batch, name, tool, now));
    gone.iter().for_each(|tool| withdraw(&mut batch, name, tool));
    store.write(batch).await?;
    say(&format!("{} approved.\n", several(number, "change")))
}

fn describe(text: &mut String, server: &str, servers: &McpServers, tool: &Definition, state: &ToolState) {
    let risk = servers.risk(server, &tool.name);
    let (what, lines) = match state {
        ToolState::Changed(old) => ("changed", difference(&old.lines(), &tool.lines())),
        _ => ("new", tool.lines()),
    };
    let _ = writeln!(text, "\n{}: {what}, risk {risk}", shown(&tool.name));
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

async fn probe(launcher: &Launcher, env: &[String], launch: &[String]) -> Result<ExitCode> {
    let is_address = |word: &String| word.starts_with("https://") || word.starts_with("http://");
    let launch = match launch {
        [url] if is_address(url) => McpLaunch::Url {
            url: url.clone(),
            headers: BTreeMap::new(),
            oauth: None,
            client: McpClient::default(),
        },
        words => {
            let read = |name: &String| match std::env::var(name) {
                Ok(value) => Ok((name.clone(), Secret::new(value))),
                Err(_) => Err(CliError::Usage(format!("--env {}: it isn't set", line(name, 60)))),
            };
            let env = env.iter().map(read).collect::<Result<_, _>>()?;
            let permissions = Permissions { network: true, ..Permissions::default() };
            let permissions = permissions.with_script(words.iter().skip(1).map(String::as_str));
            McpLaunch::Command { words: words.to_vec(), env, permissions }
        }
    };
    let home = tempfile::tempdir().map_err(|error| CliError::failed("can't create a folder", error))?;
    let config = McpConfig::new(launch);
    let configs = BTreeMap::from([("probe".to_owned(), config)]);
    let servers = McpServers::with(&configs, home.path(), launcher, PROBE, &Arc::default());
    let found = servers.inspect("probe").await;
    servers.stop().await;
    let found = found.map_err(|error| CliError::plain(error.message.whole()))?;
    let mut text = about(&found);
    for (tool, state) in &found.tools {
        let why = match state {
            ToolState::Unusable(why) => format!("; can't be used: {}", line(why, 200)),
            _ => String::new(),
        };
        let _ = writeln!(text, "\n{}{}{why}", shown(&tool.name), hints(tool));
        let _ = writeln!(text, "  {}", shown(&tool.summary()));
    }
    say(&text)
}
