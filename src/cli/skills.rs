//! `adjutant skills`: what the assistant can do.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use super::{CliError, SkillsArgs, SkillsCommand as Command};
use crate::config::Config;
use crate::document::Problem;
use crate::service;
use crate::skills::builtin;
use crate::skills::definition::Argument;
use crate::skills::{Domain, Layer, Skill, Skills, WORKFLOW, check_files, is_word};
use crate::trace::text::several;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum SkillsError {
    /// Skill files are wrong.
    #[error("{}", lines(.0))]
    Faults(Vec<Problem>),
    /// There is no such skill.
    #[error("there is no skill '{name}'{hint} `adjutant skills list` shows all")]
    Unknown {
        /// What was asked for.
        name: String,
        /// `; did you mean ...?`, or a full stop.
        hint: String,
    },
    /// A new skill's name is badly formed.
    #[error(
        "'{0}' is no skill's name: write small letters, digits and '_', such as weather or weather.today"
    )]
    BadName(String),
    /// `new` does not overwrite.
    #[error("{} is there already; choose another name, or edit that file", .0.display())]
    Exists(PathBuf),
    /// A file can't be written.
    #[error("{} can't be written: {error}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The terminal or pipe is gone.
    #[error(transparent)]
    Out(#[from] io::Error),
}

fn lines(faults: &[Problem]) -> String {
    faults.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Runs `adjutant skills`.
pub(super) fn command(config: &Config, args: &SkillsArgs) -> Result<ExitCode, CliError> {
    let mut out = Vec::new();
    let builtins = builtin::names(!config.channels.is_empty());
    let (layer, _) = service::workflows_of(config);
    let done = run(&config.skills.paths, &builtins, &layer, &args.command, &mut out);
    super::out(&String::from_utf8_lossy(&out))?;
    match done {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(1)),
        Err(error) => Err(CliError::plain(error.to_string())),
    }
}

/// Runs the command; false when it found faults, so that the exit status says so.
///
/// # Errors
/// [`SkillsError`], a sentence for the person.
pub(super) fn run(
    paths: &[PathBuf],
    builtins: &[&str],
    layer: &Layer,
    command: &Command,
    out: &mut dyn Write,
) -> Result<bool, SkillsError> {
    let load = || {
        let skills = Skills::load_with(paths, builtins, Some(layer.clone()));
        skills.map(|skills| skills.current()).map_err(SkillsError::Faults)
    };
    match command {
        Command::List => list(load()?.domains(), out)?,
        Command::Show { name } => {
            let registry = load()?;
            match (registry.get(name), registry.domain(name)) {
                (Some(skill), _) => show(skill, &registry_file(registry.domains(), skill), out)?,
                (None, Some(domain)) => list(std::slice::from_ref(domain), out)?,
                (None, None) => {
                    let near = registry.nearest(name).map(|near| format!("; did you mean '{near}'?"));
                    return Err(SkillsError::Unknown {
                        name: name.clone(),
                        hint: near.unwrap_or_else(|| ".".into()),
                    });
                }
            }
        }
        Command::Check { path } => return check(paths, path.as_deref(), builtins, layer, out),
        Command::New { name } => new(paths, name, out)?,
    }
    Ok(true)
}

fn registry_file(domains: &[Domain], skill: &Skill) -> String {
    let domain = domains.iter().find(|domain| domain.name == skill.domain);
    domain.map(|domain| domain.file.clone()).unwrap_or_default()
}

fn list(domains: &[Domain], out: &mut dyn Write) -> io::Result<()> {
    let names = domains.iter().flat_map(|domain| &domain.skills).map(|skill| skill.name.len());
    let width = names.max().unwrap_or(0);
    for (number, domain) in domains.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}: {}", domain.name, domain.summary)?;
        for skill in &domain.skills {
            writeln!(out, "  {:width$}  {:6}  {}", skill.name, skill.risk.as_str(), skill.summary)?;
        }
    }
    Ok(())
}

fn show(skill: &Skill, file: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}\n  {}\n", skill.signature(), skill.summary)?;
    let after = if skill.repeatable { "may be repeated" } else { "is never repeated" };
    let timeout = skill.timeout.map_or_else(|| "as configured".to_owned(), |timeout| format!("{timeout:?}"));
    writeln!(out, "risk      {}", skill.risk.as_str())?;
    writeln!(out, "handler   {}", skill.handler.describe())?;
    writeln!(out, "time-out  {timeout}; after a crash it {after}")?;
    writeln!(out, "file      {file}")?;
    show_arguments(skill, out)?;
    let examples: Vec<&str> = skill.intents.iter().filter_map(|intent| intent.example.as_deref()).collect();
    if !examples.is_empty() {
        writeln!(out, "\nyou can say")?;
    }
    examples.iter().try_for_each(|example| writeln!(out, "  {example}"))
}

fn show_arguments(skill: &Skill, out: &mut dyn Write) -> io::Result<()> {
    let row = |argument: &Argument| {
        let schema = skill.parameters.pointer(&format!("/properties/{}", pointer_step(&argument.name)));
        let name = if argument.required { argument.name.clone() } else { format!("{}?", argument.name) };
        let about = schema.and_then(|schema| schema["description"].as_str()).unwrap_or_default();
        (name, schema.map(kind).unwrap_or_default(), about)
    };
    let (required, optional): (Vec<_>, Vec<_>) = skill.arguments().iter().partition(|a| a.required);
    let rows: Vec<_> = required.into_iter().chain(optional).map(row).collect();
    if !rows.is_empty() {
        writeln!(out, "\narguments")?;
    }
    let names = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let kinds = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    for (name, kind, about) in rows {
        writeln!(out, "{}", format!("  {name:names$}  {kind:kinds$}  {about}").trim_end())?;
    }
    Ok(())
}

fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A property's type in a word or two: `text`, `texts`, `low | high`.
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

fn check(
    paths: &[PathBuf],
    path: Option<&Path>,
    builtins: &[&str],
    layer: &Layer,
    out: &mut dyn Write,
) -> Result<bool, SkillsError> {
    let (mut domains, mut faults) = check_files(paths, true, builtins, layer);
    let (workflows, others): (Vec<Domain>, _) =
        domains.into_iter().partition(|domain| domain.name == WORKFLOW);
    domains = others;
    if let Some(path) = path {
        // The workflows that its skills may run are those of all the skills.
        let layer = Layer::new(move |_| workflows.clone());
        (domains, faults) = check_files(&[path.to_path_buf()], false, builtins, &layer);
        domains.retain(|domain| domain.name != WORKFLOW);
    }
    for fault in &faults {
        writeln!(out, "{fault}")?;
    }
    let skills: usize = domains.iter().map(|domain| domain.skills.len()).sum();
    let (skills, files) = (several(skills, "skill"), several(domains.len(), "file"));
    if faults.is_empty() {
        writeln!(out, "{skills} in {files}: all fine")?;
    } else {
        writeln!(out, "{}; {skills} in {files} are fine", several(faults.len(), "fault"))?;
    }
    Ok(faults.is_empty())
}

fn new(paths: &[PathBuf], name: &str, out: &mut dyn Write) -> Result<(), SkillsError> {
    let (domain, word) = name.split_once('.').unwrap_or((name, "today"));
    if !is_word(domain) || !is_word(word) {
        return Err(SkillsError::BadName(name.to_owned()));
    }
    let folder = paths.first().map_or_else(PathBuf::new, PathBuf::clone);
    let path = folder.join(format!("{domain}.toml"));
    match super::write_new(&folder, &path, &starter(domain, word)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(SkillsError::Exists(path)),
        Err(error) => return Err(SkillsError::Write { path, error }),
    }
    let path = path.display();
    writeln!(out, "{path} is written. Edit it, then: adjutant skills check {path}")?;
    if paths.is_empty() {
        writeln!(out, "It is read once its folder is named in the configuration: [skills] paths = [\".\"]")?;
    }
    Ok(())
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
[[skill.intents]]
pattern = 'weather in (?<place>.+)'
arguments = { place = "{place}" }
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

    fn said(folder: &Path, command: &Command) -> (Result<bool, SkillsError>, String) {
        let mut out = Vec::new();
        let result = run(&[folder.to_path_buf()], &[], &Layer::new(|_| Vec::new()), command, &mut out);
        let text = String::from_utf8(out).unwrap();
        (result, text.replace(&folder.display().to_string(), "FOLDER"))
    }

    #[test]
    fn list_shows_aligned_columns() {
        let folder = folder();
        insta::assert_snapshot!(said(folder.path(), &Command::List).1, @r"
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
        ");
    }

    #[test]
    fn show_tells_all_of_a_skill_but_its_headers() {
        let folder = folder();
        let show = |name: &str| said(folder.path(), &Command::Show { name: name.to_owned() });
        insta::assert_snapshot!(show("weather.today").1, @"
        weather.today(place, units?, days?)
          Today's weather

        risk      low
        handler   http GET https://api.example.org/{{place}}
        time-out  10s; after a crash it may be repeated
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
        insta::assert_snapshot!(show("wether.today").0.unwrap_err(), @"there is no skill 'wether.today'; did you mean 'weather.today'? `adjutant skills list` shows all");
    }

    #[test]
    fn check_counts_what_is_fine_and_names_what_is_not() {
        let folder = folder();
        let check = |path: Option<PathBuf>| said(folder.path(), &Command::Check { path });
        let (result, text) = check(None);
        assert!(result.unwrap());
        insta::assert_snapshot!(text, @"9 skills in 8 files: all fine");
        std::fs::write(folder.path().join("bad.toml"), "domain = \"bad\"\nsumary = \"x\"\n").unwrap();
        let (result, text) = check(None);
        assert!(!result.unwrap());
        insta::assert_snapshot!(text, @"
        FOLDER/bad.toml:1: the file has no [[skill]]
        FOLDER/bad.toml:1: the file lacks `summary`
        FOLDER/bad.toml:2: the file has no key 'sumary'; did you mean 'summary'?
        3 faults; 9 skills in 8 files are fine
        ");
        let (result, text) = check(Some(folder.path().join("weather.toml")));
        assert!(result.unwrap());
        insta::assert_snapshot!(text, @"2 skills in 1 file: all fine");
        let (result, text) = check(Some(folder.path().join("none.toml")));
        assert!(!result.unwrap());
        insta::assert_snapshot!(text, @"
        FOLDER/none.toml: can't be read: No such file or directory (os error 2); see [skills] paths
        1 fault; 0 skills in 0 files are fine
        ");
    }

    #[test]
    fn new_writes_a_file_that_passes_and_overwrites_nothing() {
        let folder = TempDir::new().unwrap();
        let new = |name: &str| said(folder.path(), &Command::New { name: name.to_owned() });
        for name in ["weather", "news.latest"] {
            let (result, text) = new(name);
            assert!(result.unwrap() && text.contains("is written"), "{text}");
            let path = folder.path().join(name.split('.').next().unwrap()).with_extension("toml");
            let (result, text) = said(folder.path(), &Command::Check { path: Some(path) });
            assert!(result.unwrap(), "{text}");
        }
        assert!(matches!(new("weather.today").0, Err(SkillsError::Exists(_))));
        for name in ["", "Weather", "a.b.c", "../x", "a/b", "1a", "a."] {
            assert!(matches!(new(name).0, Err(SkillsError::BadName(_))), "{name}");
        }
        let starter = std::fs::read_to_string(folder.path().join("news.toml")).unwrap();
        assert!(starter.contains("name = \"news.latest\"") && !starter.contains("WORD"));
    }
}
