//! Reads the files of some paths into domains, and collects every problem.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_config::document::{Position, Problem};
use adjutant_config::reload::Fingerprint;

use super::builtin::{self, BuiltinDomain};
use super::check::{parse, parse_with, workflow_problems};
use super::definition::{Domain, Skill};
use super::registry::Registry;

/// The folder in each path that holds what a layer reads; a change there is a change of the skills.
const WORKFLOWS: &str = "workflows";

/// Generates more domains from the skills of the files; called at each reading.
#[derive(Clone)]
pub struct Layer(Arc<Generate>);

type Generate = dyn Fn(&Registry) -> Vec<Domain> + Send + Sync;

impl Layer {
    /// The layer that this function makes.
    pub fn new(domains: impl Fn(&Registry) -> Vec<Domain> + Send + Sync + 'static) -> Self {
        Self(Arc::new(domains))
    }
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Layer")
    }
}

/// The domains and problems of the files of some paths.
pub(super) struct Gathered {
    /// The good domain of each file.
    pub(super) good: BTreeMap<PathBuf, Domain>,
    /// All domains that count.
    pub(super) domains: Vec<Domain>,
    pub(super) problems: Vec<Problem>,
}

/// Reads these files; for a file with errors its domain in `last` stands in, if it has one.
pub(super) fn gather(
    files: &[Vec<PathBuf>],
    builtins: &[&str],
    layer: Option<&Layer>,
    built_in: bool,
    last: &mut BTreeMap<PathBuf, Domain>,
) -> Gathered {
    let (mut good, mut problems) = (BTreeMap::new(), Vec::new());
    for file in files.iter().flatten() {
        let domain = read(file, builtins).map_err(|wrong| problems.extend(wrong)).ok();
        good.extend(domain.or_else(|| last.remove(file)).map(|domain| (file.clone(), domain)));
    }
    let (mut domains, mut unjoined) = join(files, &good, builtins, built_in);
    if let Some(Layer(generate)) = layer {
        let mut generated = generate(&Registry::new(domains.clone()));
        // The list of workflows exists only now.
        let broken = without_workflow(&good, &generated);
        if !broken.is_empty() {
            for (file, wrong) in broken {
                problems.extend(wrong);
                match last.remove(&file) {
                    Some(domain) => good.insert(file, domain),
                    None => good.remove(&file),
                };
            }
            (domains, unjoined) = join(files, &good, builtins, built_in);
            generated = generate(&Registry::new(domains.clone()));
        }
        lend_inputs(&mut domains, &generated);
        domains.extend(generated);
    }
    problems.extend(unjoined);
    Gathered { good, domains, problems }
}

/// The domains that count, and the problems of those that clash.
fn join(
    files: &[Vec<PathBuf>],
    good: &BTreeMap<PathBuf, Domain>,
    builtins: &[&str],
    built_in: bool,
) -> (Vec<Domain>, Vec<Problem>) {
    let mut domains = Vec::new();
    let mut problems: Vec<Problem> =
        files.iter().flat_map(|folder| take(folder, good, &mut domains)).collect();
    if built_in {
        problems.extend(add_built_in(&mut domains, builtins));
    }
    (domains, problems)
}

fn workflows(generated: &[Domain]) -> Vec<&Skill> {
    generated.iter().flat_map(|domain| &domain.skills).map(Arc::as_ref).collect()
}

/// The files whose skills run workflows that are not there, with their problems.
fn without_workflow(good: &BTreeMap<PathBuf, Domain>, generated: &[Domain]) -> Vec<(PathBuf, Vec<Problem>)> {
    let workflows = workflows(generated);
    let runs_one = |domain: &Domain| domain.skills.iter().any(|skill| skill.workflow().is_some());
    let files = good.iter().filter(|(_, domain)| runs_one(domain));
    let problems = files.filter_map(|(file, domain)| {
        let problems = workflow_problems(&domain.file, &std::fs::read_to_string(file).ok()?, &workflows);
        (!problems.is_empty()).then(|| (file.clone(), problems))
    });
    problems.collect()
}

/// A skill that runs a workflow and says nothing of parameters has the workflow's.
fn lend_inputs(domains: &mut [Domain], generated: &[Domain]) {
    let workflows = workflows(generated);
    for skill in domains.iter_mut().flat_map(|domain| &mut domain.skills) {
        if skill.arguments().is_empty()
            && let Some(name) = skill.workflow()
            && let Some(workflow) = workflows.iter().find(|workflow| workflow.workflow() == Some(name))
        {
            *skill = Arc::new(skill.with_arguments_of(workflow));
        }
    }
}

/// All sound domains of these paths, the built-in ones too if wanted, and every problem.
pub fn check_files(
    paths: &[PathBuf],
    built_in: bool,
    builtins: &[&str],
    layer: &Layer,
) -> (Vec<Domain>, Vec<Problem>) {
    let (files, mut problems) = find(paths);
    let gathered = gather(&files, builtins, Some(layer), built_in, &mut BTreeMap::new());
    problems.extend(gathered.problems);
    (gathered.domains, problems)
}

/// Adds the built-in domains that no file replaces.
fn add_built_in(domains: &mut Vec<Domain>, builtins: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for BuiltinDomain { name, toml, .. } in builtin::DOMAINS {
        if !domains.iter().any(|domain| domain.name == *name) {
            match parse_with(&format!("skills/{name}.toml (built in)"), toml, builtins, true) {
                Ok(domain) => domains.push(domain),
                Err(wrong) => problems.extend(wrong),
            }
        }
    }
    problems
}

fn read(file: &Path, builtins: &[&str]) -> Result<Domain, Vec<Problem>> {
    let name = file.display().to_string();
    let toml = std::fs::read_to_string(file)
        .map_err(|error| vec![whole(file, format!("can't be read: {error}"))])?;
    parse(&name, &toml, builtins)
}

fn whole(file: &Path, message: String) -> Problem {
    Problem::of_file(file.display(), message)
}

/// The skill files of each path, in order, and the paths that are missing.
pub(super) fn find(paths: &[PathBuf]) -> (Vec<Vec<PathBuf>>, Vec<Problem>) {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_file() {
            files.push(vec![path.clone()]);
            continue;
        }
        match std::fs::read_dir(path) {
            Ok(entries) => {
                let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
                let mut found: Vec<PathBuf> =
                    entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
                found.sort();
                files.push(found);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && is_default(path) => {}
            Err(error) => problems.push(whole(path, format!("can't be read: {error}; see [skills] paths"))),
        }
    }
    (files, problems)
}

fn is_default(path: &Path) -> bool {
    let parent = path.parent().is_some_and(|parent| parent.as_os_str().is_empty() || parent.is_dir());
    path == Path::new("/etc/adjutant/skills") || (path.ends_with("skills") && parent)
}

/// The current size and time of the files of these paths, the workflows among them.
pub(super) fn fingerprint(paths: &[PathBuf], files: &[Vec<PathBuf>]) -> Fingerprint {
    let layered = paths.iter().filter_map(|path| std::fs::read_dir(path.join(WORKFLOWS)).ok());
    let layered = layered.flatten().filter_map(Result::ok).map(|entry| entry.path());
    files.iter().flatten().cloned().chain(layered).collect()
}

/// Takes a path's domains, unless an earlier path has them; two files of one path may not share a domain.
fn take(folder: &[PathBuf], good: &BTreeMap<PathBuf, Domain>, domains: &mut Vec<Domain>) -> Vec<Problem> {
    let (before, mut problems) = (domains.len(), Vec::new());
    for domain in folder.iter().filter_map(|file| good.get(file)) {
        match domains.iter().position(|existing| existing.name == domain.name) {
            None => domains.push(domain.clone()),
            Some(at) if at >= before => {
                let other = &domains[at].file;
                let message =
                    format!("the domain '{}' is in {other} already; join the two files", domain.name);
                problems.push(Problem {
                    position: Position { line: 1, column: 0 },
                    ..Problem::of_file(&domain.file, message)
                });
            }
            Some(_) => {}
        }
    }
    problems
}
