//! `adjutant workflow`: pipelines of agents and their runs.

mod draft;
mod hold;
pub(super) mod run;
pub(super) mod runs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::{Problem, lines};
use adjutant_config::{BUILTIN, Config};
use adjutant_skills::{Registry, Skills, builtin};
use adjutant_types::clock::{Clock, SystemClock, utc};
use adjutant_workflows::catalogue::{self, BUILT_IN, Catalogue, File};
use adjutant_workflows::draft::save;
use adjutant_workflows::language::inputs::resolve;
use adjutant_workflows::trace::text::{one_line, several};
use adjutant_workflows::view::plan::{EstimateContext, plan};
use adjutant_workflows::{CheckContext, Workflow, draw, explain, is_name, mermaid, missing_roles};
use serde_json::{Map, Value};

use super::{CliError, Result, RunArgs, WorkflowArgs, WorkflowCommand as Command, conclude, on_store, say};
use crate::service::load_roles;
use hold::Control;

pub(super) async fn run(config: &Config, args: &WorkflowArgs) -> Result<ExitCode> {
    let workspace = || Workspace::open(config);
    let text = match &args.command {
        Command::List => workspace()?.list(),
        Command::Check { path } => return workspace()?.check(path.as_deref()),
        Command::Explain { name } => explain(&workspace()?.find(name)?.1),
        Command::Draw { name, mermaid: true } => mermaid(&workspace()?.find(name)?.1),
        Command::Draw { name, .. } => draw(&workspace()?.find(name)?.1, super::columns()),
        Command::Run(args) if args.dry_run => workspace()?.dry_run(args)?,
        Command::Run(args) => return run::run(&workspace()?, args).await,
        Command::Runs { limit, json } => {
            on_store(config, async |store| {
                Ok(runs::list(store, config.assistant.timezone, *limit, *json).await?)
            })
            .await?
        }
        Command::Show { run, json } => {
            on_store(config, async |store| runs::show(store, run, *json).await).await?
        }
        Command::Pause { run } => hold::send(config, run, Control::Pause).await?,
        Command::Resume { run } => hold::send(config, run, Control::Resume).await?,
        Command::Cancel { run } => hold::send(config, run, Control::Cancel).await?,
        Command::New { name, words: Some(words), print, .. } => {
            workspace()?.draft(name, words, *print).await?
        }
        Command::New { name, from, .. } => {
            workspace()?.new_file(name, from.as_deref().unwrap_or_default())?
        }
    };
    say(&text)
}

struct Workspace<'w> {
    config: &'w Config,
    skills: Arc<Registry>,
}

impl<'w> Workspace<'w> {
    fn open(config: &'w Config) -> Result<Self> {
        let builtins = builtin::names_for(config);
        let skills = Skills::load(&config.skill_paths(), &builtins);
        let skills = skills.map_err(|problems| CliError::plain(lines(&problems)))?;
        Ok(Self { config, skills: skills.current() })
    }

    fn all(&self) -> Catalogue {
        Catalogue::load(&self.config.skill_paths(), &self.skills, &self.config.approval)
    }

    /// The workflow of a name or a file, and all workflows.
    fn find(&self, name: &str) -> Result<(Catalogue, Workflow)> {
        let path = Path::new(name);
        let mut all = self.all();
        if is_file(name) {
            let file = catalogue::read_file(path).map_err(|problem| CliError::plain(problem.to_string()))?;
            let (workflow, problems) = self.checked(&file, &all);
            let errors: Vec<String> =
                problems.iter().filter(|problem| !problem.is_warning()).map(ToString::to_string).collect();
            return match workflow {
                Some(workflow) if errors.is_empty() => Ok((all, workflow)),
                _ => Err(CliError::plain(errors.join("\n"))),
            };
        }
        if let Some(at) = all.workflows.iter().position(|workflow| workflow.name == name) {
            let workflow = all.workflows[at].clone();
            return Ok((all, workflow));
        }
        // It may exist and be invalid.
        all.problems.retain(|problem| !problem.is_warning() && file_stem(&problem.file) == Some(name));
        if !all.problems.is_empty() {
            return Err(CliError::plain(lines(&all.problems)));
        }
        let hint = did_you_mean(name, all.workflows.iter().map(|workflow| workflow.name.as_str()));
        let hint = if hint.is_empty() { ".".to_owned() } else { hint };
        Err(CliError::plain(format!(
            "there is no workflow '{name}'{hint} `adjutant workflow list` shows all workflows"
        )))
    }

    fn context<'c>(&'c self, all: &'c Catalogue) -> CheckContext<'c> {
        CheckContext { skills: &self.skills, approval: &self.config.approval, workflows: &all.workflows }
    }

    fn checked(&self, file: &File, all: &Catalogue) -> (Option<Workflow>, Vec<Problem>) {
        adjutant_workflows::check(&file.name, &file.text, &self.context(all))
    }

    fn list(&self) -> String {
        let all = self.all();
        let mut out = String::new();
        let width = all.workflows.iter().map(|workflow| workflow.name.chars().count()).max().unwrap_or(0);
        for workflow in &all.workflows {
            let _ = writeln!(out, "{:width$}  {}", workflow.name, one_line(&workflow.description));
            let inputs = workflow.inputs.iter().map(|input| {
                if input.required && input.default.is_none() {
                    input.name.clone()
                } else {
                    format!("{}?", input.name)
                }
            });
            let inputs: Vec<String> = inputs.collect();
            if !inputs.is_empty() {
                let _ = writeln!(out, "{:width$}  inputs: {}", "", inputs.join(", "));
            }
        }
        let wrong = all.problems.iter().filter(|problem| !problem.is_warning()).count();
        if wrong > 0 {
            let _ = writeln!(
                out,
                "\n{} in other files: see `adjutant workflow check`",
                several(wrong, "problem")
            );
        }
        out
    }

    fn check(&self, path: Option<&Path>) -> Result<ExitCode> {
        let mut found = match path {
            None => self.all(),
            Some(path) => {
                let mut files = Vec::new();
                let mut problems = Vec::new();
                if path.is_dir() {
                    problems.extend(catalogue::read_folder(path, &mut files));
                } else {
                    match catalogue::read_file(path) {
                        Ok(file) => files.push(file),
                        Err(problem) => problems.push(problem),
                    }
                }
                let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
                let besides = self.all().workflows.into_iter();
                let besides = besides.map(|workflow| File { name: workflow.file, text: workflow.text });
                let besides: Vec<File> = besides.filter(|file| !names.contains(&file.name)).collect();
                let mut found = Catalogue::of(&files, &besides, &self.skills, &self.config.approval);
                found.workflows.retain(|workflow| names.contains(&workflow.file));
                found.problems.retain(|problem| names.contains(&problem.file));
                found.problems.splice(0..0, problems);
                found
            }
        };
        let roles = load_roles(self.config, &self.skills);
        found.workflows.retain(|workflow| {
            let missing = missing_roles(workflow, &roles);
            let is_sound = missing.is_empty();
            found.problems.extend(missing);
            is_sound
        });
        let mut out = lines(&found.problems);
        if !out.is_empty() {
            out.push('\n');
        }
        found.workflows.iter().for_each(|workflow| out.push_str(&rules(workflow)));
        let errors = found.problems.iter().filter(|problem| !problem.is_warning()).count();
        let warnings = found.problems.len() - errors;
        let warned = if warnings > 0 { format!(", {}", several(warnings, "warning")) } else { String::new() };
        let sound = several(found.workflows.len(), "workflow");
        let _ = match errors {
            0 => writeln!(out, "{sound}: all fine{warned}"),
            _ => writeln!(out, "{}{warned}; {sound} fine", several(errors, "problem")),
        };
        conclude(&out, errors == 0)
    }

    fn dry_run(&self, args: &RunArgs) -> Result<String> {
        let (all, workflow) = self.find(&args.name)?;
        let inputs = resolve(&workflow, &given(&args.input))
            .map_err(|problems| CliError::Usage(problems.join("\n")))?;
        let model = &self.config.model;
        let endpoint = &model.agent.as_ref().unwrap_or(&model.main).first;
        let roles = load_roles(self.config, &self.skills);
        let setting = EstimateContext {
            context: self.context(&all),
            limits: &self.config.limits,
            roles: Some(&roles),
            model: &endpoint.name,
            price: endpoint.price,
            is_free: endpoint.provider == BUILTIN,
            history: None,
            values: None,
        };
        let plan = plan(&workflow, &inputs, &self.now(), &setting);
        Ok(if args.json { format!("{}\n", plan.json()) } else { plan.text() })
    }

    /// The values of [`adjutant_workflows::DATE_NAMES`].
    fn now(&self) -> Map<String, Value> {
        let now = utc(SystemClock.now_ms()).with_timezone(&self.config.assistant.timezone).naive_local();
        adjutant_workflows::date_values(now, None)
    }

    fn new_file(&self, name: &str, from: &str) -> Result<String> {
        named(name)?;
        let templates = || BUILT_IN.iter().map(|(name, _)| *name);
        let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == from) else {
            let hint = did_you_mean(from, templates());
            let names: Vec<&str> = templates().collect();
            return Err(CliError::plain(format!(
                "there is no template '{from}'{hint}; the templates are {}",
                names.join(", ")
            )));
        };
        let text = text.replacen(&format!("  name: {from}\n"), &format!("  name: {name}\n"), 1);
        let shown = self.write(name, &text)?;
        Ok(format!(
            "{shown} is written. Edit it, then: adjutant workflow check {shown}\n{}",
            self.in_use_later()
        ))
    }

    /// The folder for new files.
    fn folder(&self) -> PathBuf {
        self.config.skill_paths().first().map(|path| path.join("workflows")).unwrap_or_default()
    }

    /// Writes a new file and returns its path.
    fn write(&self, name: &str, text: &str) -> Result<String> {
        let folder = self.folder();
        save(&folder, name, text).map(|path| path.display().to_string()).map_err(|error| {
            let path = folder.join(format!("{name}.yaml"));
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => CliError::plain(format!(
                    "{} already exists; choose another name, or edit that file",
                    path.display()
                )),
                _ => CliError::failed(format!("{} can't be written", path.display()), error),
            }
        })
    }

    fn in_use_later(&self) -> &'static str {
        match self.config.skill_paths().is_empty() {
            true => "To use it, put it into the folder `workflows` of one of `[skills] paths`.\n",
            false => "",
        }
    }
}

fn is_file(name: &str) -> bool {
    catalogue::is_file_name(Path::new(name)) || name.contains('/')
}

/// The inputs of the command line, as texts.
fn given(input: &[(String, String)]) -> BTreeMap<String, Value> {
    input.iter().map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect()
}

fn named(name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    let message = format!(
        "'{name}' isn't a valid workflow name: use letters, digits, '-' and '_', such as visit-report"
    );
    Err(CliError::plain(message))
}

/// The checks of each rule.
fn rules(workflow: &Workflow) -> String {
    let mut out = String::new();
    for agent in &workflow.agents {
        for rule in &agent.validation.rules {
            let understood = one_line(&rule.understood());
            let _ =
                writeln!(out, "{}: {}: “{}”: {understood}", workflow.name, agent.id, one_line(&rule.text));
        }
    }
    out
}

fn file_stem(file: &str) -> Option<&str> {
    Path::new(file.trim_end_matches(" (built in)")).file_stem()?.to_str()
}
