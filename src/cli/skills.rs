//! `adjutant skills`: lists, shows, checks and creates skills.

mod add;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_config::document::lines;
use adjutant_skills::arguments::Argument;
use adjutant_skills::handlers::mcp::McpServers;
use adjutant_skills::instructions::Instructions;
use adjutant_skills::{Domain, Layer, Registry, Skill, Skills, WORKFLOW, builtin, check_files, is_word};
use adjutant_types::clock::SystemClock;
use adjutant_workflows::trace::text::several;
use serde_json::Value;

use super::{CliError, Result, SkillsCommand as Command, conclude, wrapped};
use crate::service;

pub(super) async fn command(config: &Config, command: &Command) -> Result<ExitCode> {
    match command {
        Command::Add { path, network, read, write, yes } => {
            let permissions = add::permissions(*network, read, write)?;
            return add::add(config, path, &permissions, *yes).await;
        }
        Command::Remove { name } => return add::remove(config, name).await,
        _ => {}
    }
    let builtins = builtin::names_for(config);
    let (mcp, instructions) = (Arc::new(McpServers::new(config)), Arc::new(Instructions::new(config)));
    // Else there is nothing that anybody has accepted, and no store is needed.
    if instructions.are_there() || !config.mcp.is_empty() {
        let store = service::open_store(config, Arc::new(SystemClock)).await?;
        mcp.load(&store).await?;
        instructions.load(&store).await?;
        store.close().await;
    }
    let (layer, _) = service::skill_layer(config, &mcp, &instructions);
    let (text, is_ok) = run(&config.skill_paths(), &builtins, &layer, command)?;
    conclude(&wrapped(&text), is_ok)
}

/// Runs the command; returns its output and whether it found no problems.
fn run(paths: &[PathBuf], builtins: &[&str], layer: &Layer, command: &Command) -> Result<(String, bool)> {
    let load = || -> Result<Arc<Registry>> {
        let skills = Skills::load_with(paths, builtins, Some(layer.clone()));
        skills.map(|skills| skills.current()).map_err(|problems| CliError::plain(lines(&problems)))
    };
    Ok(match command {
        Command::List => {
            let registry = load()?;
            (list(registry.domains()) + &unavailable(&registry), true)
        }
        Command::Show { name } => (show_named(load()?.as_ref(), name)?, true),
        Command::Check { path } => check(paths, path.as_deref(), builtins, layer),
        Command::New { name } => (new(paths, name)?, true),
        // They need the store: see `command`.
        Command::Add { .. } | Command::Remove { .. } => (String::new(), true),
    })
}

fn show_named(registry: &Registry, name: &str) -> Result<String> {
    if let Some(skill) = registry.unavailable().iter().find(|skill| skill.name == name) {
        let missing = missing(skill);
        return Ok(format!("{}\n  {}\n\n{NOT_HERE}: {missing}\n", skill.signature(), skill.summary));
    }
    match (registry.get(name), registry.domain(name)) {
        (Some(skill), _) => {
            let file = registry.domain(&skill.domain).map(|domain| domain.file.as_str());
            Ok(show(skill, file.unwrap_or_default()))
        }
        (None, Some(domain)) => Ok(list(std::slice::from_ref(domain))),
        (None, None) => {
            let near = registry.nearest(name).map(|near| format!("; did you mean '{near}'?"));
            let hint = near.unwrap_or_else(|| ".".into());
            Err(CliError::plain(format!("there is no skill '{name}'{hint} `adjutant skills list` shows all")))
        }
    }
}

/// Why skills that were read aren't offered.
const NOT_HERE: &str = "not available here";

/// The settings that a skill needs and the configuration lacks.
fn missing(skill: &Skill) -> &'static str {
    match skill.domain.as_str() {
        "notes" => "no folder is configured in [notes]",
        "web" => "no search engine is configured in [web]",
        _ => "no chat platform is configured in [channels]",
    }
}

fn unavailable(registry: &Registry) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skill in registry.unavailable() {
        groups.entry(missing(skill)).or_default().push(&skill.name);
    }
    let group = |(why, names): (&str, Vec<&str>)| format!("\n{NOT_HERE}: {why}\n  {}\n", names.join(", "));
    groups.into_iter().map(group).collect()
}

fn list(domains: &[Domain]) -> String {
    let mut out = String::new();
    let names = domains.iter().flat_map(|domain| &domain.skills).map(|skill| skill.name.len());
    let width = names.max().unwrap_or(0);
    for (number, domain) in domains.iter().enumerate() {
        if number > 0 {
            let _ = writeln!(out);
        }
        let _ = writeln!(out, "{}: {}", domain.name, domain.summary);
        for skill in &domain.skills {
            let _ = writeln!(out, "  {:width$}  {:6}  {}", skill.name, skill.risk.as_str(), skill.summary);
        }
    }
    out
}

fn show(skill: &Skill, file: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n  {}\n", skill.signature(), skill.summary);
    let after = if skill.repeatable { "may be repeated" } else { "is never repeated" };
    let timeout =
        skill.timeout.map_or_else(|| "from the configuration".to_owned(), |timeout| format!("{timeout:?}"));
    let _ = writeln!(out, "risk      {}", skill.risk.as_str());
    let _ = writeln!(out, "handler   {}", skill.handler.describe());
    let _ = writeln!(out, "timeout   {timeout}; after a crash it {after}");
    let _ = writeln!(out, "file      {file}");
    show_arguments(skill, &mut out);
    let examples: Vec<&str> = skill.forms.iter().filter_map(|form| form.example.as_deref()).collect();
    if !examples.is_empty() {
        let _ = writeln!(out, "\nyou can say");
    }
    for example in examples {
        let _ = writeln!(out, "  {example}");
    }
    out
}

fn show_arguments(skill: &Skill, out: &mut String) {
    let row = |argument: &Argument| {
        let schema = skill.parameters["properties"].get(&argument.name);
        let name = if argument.required { argument.name.clone() } else { format!("{}?", argument.name) };
        let about = schema.and_then(|schema| schema["description"].as_str()).unwrap_or_default();
        (name, schema.map(kind).unwrap_or_default(), about)
    };
    let (required, optional): (Vec<_>, Vec<_>) = skill.arguments().iter().partition(|a| a.required);
    let rows: Vec<_> = required.into_iter().chain(optional).map(row).collect();
    if !rows.is_empty() {
        let _ = writeln!(out, "\narguments");
    }
    let names = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let kinds = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    for (name, kind, about) in rows {
        let _ = writeln!(out, "{}", format!("  {name:names$}  {kind:kinds$}  {about}").trim_end());
    }
}

/// A property's type: `text`, `text[]`, `low | high`.
fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let words = choices.iter().map(|c| c.as_str().map_or_else(|| c.to_string(), str::to_owned));
        return words.collect::<Vec<_>>().join(" | ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("{}[]", kind(&schema["items"])),
        Some("string") => "text".to_owned(),
        Some("object") => "table".to_owned(),
        Some("boolean") => "flag".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

fn check(paths: &[PathBuf], path: Option<&Path>, builtins: &[&str], layer: &Layer) -> (String, bool) {
    let (mut domains, mut problems) = check_files(paths, true, builtins, layer);
    let (workflows, remaining): (Vec<Domain>, _) =
        domains.into_iter().partition(|domain| domain.name == WORKFLOW);
    domains = remaining;
    if let Some(path) = path {
        // Its skills may run any workflow in use.
        let layer = Layer::new(move |_| workflows.clone());
        (domains, problems) = check_files(&[path.to_path_buf()], false, builtins, &layer);
        domains.retain(|domain| domain.name != WORKFLOW);
    }
    let mut out: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    let skills: usize = domains.iter().map(|domain| domain.skills.len() + domain.unavailable.len()).sum();
    let (skills, files) = (several(skills, "skill"), several(domains.len(), "file"));
    if problems.is_empty() {
        let _ = writeln!(out, "{skills} in {files}: no problems");
    } else {
        let _ = writeln!(out, "{}; {skills} in {files} have none", several(problems.len(), "problem"));
    }
    (out, problems.is_empty())
}

fn new(paths: &[PathBuf], name: &str) -> Result<String> {
    let (domain, word) = name.split_once('.').unwrap_or((name, "today"));
    if !is_word(domain) || !is_word(word) {
        return Err(CliError::plain(format!(
            "'{name}' is not a valid skill name; use lower-case letters, digits and '_', such as weather or weather.today"
        )));
    }
    let folder = paths.first().map_or_else(PathBuf::new, PathBuf::clone);
    let path = folder.join(format!("{domain}.toml"));
    let shown = path.display();
    super::write_new(&folder, &path, &starter(domain, word)).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CliError::plain(format!("{shown} already exists; choose another name, or edit that file"))
        }
        _ => CliError::failed(format!("can't write {shown}"), error),
    })?;
    let mut out = format!("{shown} is written. Edit it, then run: adjutant skills check {shown}\n");
    if paths.is_empty() {
        out.push_str("To use it, add its folder to the configuration: [skills] paths = [\".\"]\n");
    }
    Ok(out)
}

fn starter(domain: &str, word: &str) -> String {
    include_str!("starter.toml").replace("DOMAIN", domain).replace("WORD", word)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Replaces the built-in domains, so that what is shown depends on this test alone.
    fn folder() -> TempDir {
        let folder = TempDir::new().unwrap();
        let stub = |name: &str| {
            format!(
                "domain = '{name}'\nsummary = 'About {name}'\n[[skill]]\nname = '{name}.run'\nsummary = 'Run it'\n\
                 risk = 'low'\nhandler = {{ command = ['true'] }}\n"
            )
        };
        for domain in ["calendar", "contacts", "email", "memory", "schedule", "tasks", "web"] {
            std::fs::write(folder.path().join(format!("{domain}.toml")), stub(domain)).unwrap();
        }
        let weather = r#"
domain = "weather"
summary = "Weather anywhere"
[[skill]]
name = "weather.today"
summary = "Today's weather"
risk = "low"
repeatable = true
timeout = "10s"
handler.http = { url = "https://api.example.org/{{place}}", headers = { Authorization = "Bearer abc" } }
[skill.parameters]
required = ["place"]
[skill.parameters.properties.units]
enum = ["metric", "imperial"]
[skill.parameters.properties.place]
type = "string"
description = "A city"
[skill.parameters.properties.days]
type = "array"
items = { type = "integer" }
[[skill.forms]]
say = "weather in {place}"
example = "weather in Lyon"
[[skill]]
name = "weather.report_storm"
summary = "Tell the weather service of a storm"
risk = "high"
handler = { command = ["storm", "--", "{{where}}"] }
[skill.parameters.properties.where]
type = "string"
"#;
        std::fs::write(folder.path().join("weather.toml"), weather).unwrap();
        folder
    }

    /// Whether there are no problems, and the output or the error.
    fn output(folder: &Path, command: &Command) -> (bool, String) {
        let result = run(&[folder.to_path_buf()], &[], &Layer::new(|_| Vec::new()), command);
        let (text, is_ok) = result.unwrap_or_else(|error| (error.to_string(), false));
        (is_ok, text.replace(&folder.display().to_string(), "FOLDER"))
    }

    #[test]
    fn list_shows_aligned_columns() {
        let folder = folder();
        insta::assert_snapshot!(output(folder.path(), &Command::List).1, @"
        calendar: About calendar
          calendar.run          low     Run it

        contacts: About contacts
          contacts.run          low     Run it

        email: About email
          email.run             low     Run it

        memory: About memory
          memory.run            low     Run it

        schedule: About schedule
          schedule.run          low     Run it

        tasks: About tasks
          tasks.run             low     Run it

        weather: Weather anywhere
          weather.today         low     Today's weather
          weather.report_storm  high    Tell the weather service of a storm

        web: About web
          web.run               low     Run it

        not available here: no chat platform is configured in [channels]
          assistant.history, assistant.usage, assistant.undo, assistant.clock, assistant.withdraw, assistant.replace, assistant.lines, chat.read_channel, chat.read_thread, chat.search, chat.user_info, chat.summarise, chat.post, files.list, files.read, watch.create, watch.list, watch.delete, watch.later, watch.done, watch.event

        not available here: no folder is configured in [notes]
          notes.search, notes.list, notes.read, notes.create, notes.append, notes.replace_section
        ");
    }

    #[test]
    fn show_prints_all_of_a_skill_but_its_headers() {
        let folder = folder();
        let show = |name: &str| output(folder.path(), &Command::Show { name: name.to_owned() });
        insta::assert_snapshot!(show("weather.today").1, @"
        weather.today(place, units?: metric|imperial, days?: [number])
          Today's weather

        risk      low
        handler   http GET https://api.example.org/{{place}}
        timeout   10s; after a crash it may be repeated
        file      FOLDER/weather.toml

        arguments
          place   text               A city
          units?  metric | imperial
          days?   integer[]

        you can say
          weather in Lyon
        ");
        insta::assert_snapshot!(show("tasks").1, @"
        tasks: About tasks
          tasks.run  low     Run it
        ");
        insta::assert_snapshot!(show("wether.today").1, @"there is no skill 'wether.today'; did you mean 'weather.today'? `adjutant skills list` shows all");
    }

    #[test]
    fn check_counts_skills_and_lists_problems() {
        let folder = folder();
        let check = |path: Option<PathBuf>| output(folder.path(), &Command::Check { path });
        let (result, text) = check(None);
        assert!(result);
        insta::assert_snapshot!(text, @"36 skills in 13 files: no problems");
        std::fs::write(folder.path().join("bad.toml"), "domain = \"bad\"\nsumary = \"x\"\n").unwrap();
        let (result, text) = check(None);
        assert!(!result);
        insta::assert_snapshot!(text, @"
        FOLDER/bad.toml:1: the file has no [[skill]]
        FOLDER/bad.toml:1: the file lacks `summary`
        FOLDER/bad.toml:2: the file has no key 'sumary'; did you mean 'summary'?
        3 problems; 36 skills in 13 files have none
        ");
        let (result, text) = check(Some(folder.path().join("weather.toml")));
        assert!(result);
        insta::assert_snapshot!(text, @"2 skills in 1 file: no problems");
        let (result, text) = check(Some(folder.path().join("none.toml")));
        assert!(!result);
        insta::assert_snapshot!(text, @"
        FOLDER/none.toml: can't be read: No such file or directory (os error 2); see [skills] paths
        1 problem; 0 skills in 0 files have none
        ");
    }

    #[test]
    fn new_writes_a_file_that_passes_and_overwrites_nothing() {
        let folder = TempDir::new().unwrap();
        let new = |name: &str| output(folder.path(), &Command::New { name: name.to_owned() });
        for name in ["weather", "news.latest"] {
            let (result, text) = new(name);
            assert!(result && text.contains("is written"), "{text}");
            let path = folder.path().join(name.split('.').next().unwrap()).with_extension("toml");
            let (result, text) = output(folder.path(), &Command::Check { path: Some(path) });
            assert!(result, "{text}");
        }
        let (result, text) = new("weather.today");
        assert!(!result && text.contains("already exists"), "{text}");
        for name in ["", "Weather", "a.b.c", "../x", "a/b", "1a", "a."] {
            let (result, text) = new(name);
            assert!(!result && text.contains("is not a valid skill name"), "{text}");
        }
        let starter = std::fs::read_to_string(folder.path().join("news.toml")).unwrap();
        assert!(starter.contains("name = \"news.latest\"") && !starter.contains("WORD"));
    }
}
