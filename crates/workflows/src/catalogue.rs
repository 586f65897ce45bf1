//! All workflows: the built-in ones, and the files under `workflows/` in the `[skills] paths`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_config::Approval;
use adjutant_config::document::{Problem, Problems};
use adjutant_config::reload::Reloadable;
use adjutant_skills::Registry;
use parking_lot::{Mutex, RwLock};

use super::check::{CheckContext, check};
use super::definition::Workflow;
use super::language::reading::{self, ReadWorkflow};
use super::roles;

/// The built-in workflows; they serve as templates, too.
pub const BUILT_IN: [(&str, &str); 7] = [
    ("content-pipeline", include_str!("../../../skills/workflows/content-pipeline.yaml")),
    ("iterative-refinement", include_str!("../../../skills/workflows/iterative-refinement.yaml")),
    ("map-reduce", include_str!("../../../skills/workflows/map-reduce.yaml")),
    ("morning-briefing", include_str!("../../../skills/workflows/morning-briefing.yaml")),
    ("multi-angle-analysis", include_str!("../../../skills/workflows/multi-angle-analysis.yaml")),
    ("qualify-and-route", include_str!("../../../skills/workflows/qualify-and-route.yaml")),
    ("weekly-review", include_str!("../../../skills/workflows/weekly-review.yaml")),
];

#[derive(Debug, Clone)]
pub struct File {
    pub name: String,
    pub text: String,
}

/// The workflows found in some folders.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The valid workflows, sorted by name.
    pub workflows: Vec<Workflow>,
    /// The problems of the other files, and all warnings.
    pub problems: Vec<Problem>,
}

impl Catalogue {
    /// Reads and checks the workflows of these `[skills] paths`, and the built-in ones. Of several with the same name the first path's
    /// is used, and a built-in one last.
    pub fn load(paths: &[PathBuf], skills: &Registry, approval: &Approval) -> Self {
        let (files, problems) = read_paths(paths);
        let mut catalogue = Self::of(&files, &built_in(), skills, approval);
        catalogue.problems.splice(0..0, problems);
        catalogue
    }

    /// Checks these files. They may use the workflows of `besides`, unless a file of the same name replaces one.
    pub fn of(files: &[File], besides: &[File], skills: &Registry, approval: &Approval) -> Self {
        let mut catalogue = Self::default();
        let mut documents = Vec::new();
        for file in files.iter().chain(besides) {
            match reading::document(&file.name, &file.text) {
                Ok(document) => documents.push(document),
                Err(problems) => catalogue.problems.extend(problems),
            }
        }
        let mut reads: Vec<(ReadWorkflow, Problems<'_>)> = Vec::new();
        for document in &documents {
            let mut problems = Problems::new(document);
            let Some(read) = reading::workflow(&mut problems) else {
                catalogue.problems.extend(problems.into_sorted());
                continue;
            };
            let Some((other, _)) = reads.iter().find(|(other, _)| other.workflow.name == read.workflow.name)
            else {
                reads.push((read, problems));
                continue;
            };
            // Replacing a built-in workflow is fine.
            if files.iter().any(|file| file.name == read.workflow.file) {
                let other = &other.workflow.file;
                let message = format!("{other} has the same name and is used instead; choose another name");
                problems.warning("/workflow/name", message);
                catalogue.problems.extend(problems.into_sorted().into_iter().filter(Problem::is_warning));
            }
        }
        let all: Vec<Workflow> = reads.iter().map(|(read, _)| read.workflow.clone()).collect();
        let context = CheckContext { skills, approval, workflows: &all };
        for (mut read, mut problems) in reads {
            check(&read, &context, &mut problems);
            let problems = super::at_most(problems);
            if problems.iter().all(Problem::is_warning) {
                read.workflow.keep_skills(|skill| skills.get(skill).is_some());
                catalogue.workflows.push(read.workflow);
            }
            catalogue.problems.extend(problems);
        }
        catalogue.workflows.sort_by(|a, b| a.name.cmp(&b.name));
        catalogue
    }

    fn has_file(&self, name: &str) -> bool {
        self.workflows.iter().any(|workflow| workflow.file == name)
    }

    pub fn log_problems(&self) {
        for problem in self.problems.iter().filter(|problem| !problem.is_warning()) {
            match self.has_file(&problem.file) {
                true => tracing::warn!("{problem}; the last good version stays in use"),
                false => tracing::warn!("{problem}; the workflow can't be used until this is fixed"),
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| workflow.name == name)
    }
}

/// The workflows, shared and reloadable.
#[derive(Debug)]
pub struct Workflows {
    paths: Vec<PathBuf>,
    approval: RwLock<Approval>,
    current: Reloadable<Catalogue>,
    /// The last good version of each file, by its name.
    good: Mutex<BTreeMap<String, File>>,
}

impl Workflows {
    /// The workflows of these `[skills] paths`, read by [`Workflows::reload`].
    pub fn new(paths: &[PathBuf], approval: &Approval) -> Self {
        let (paths, approval) = (paths.to_vec(), RwLock::new(approval.clone()));
        Self { paths, approval, current: Reloadable::default(), good: Mutex::default() }
    }

    /// Sets the policy for the next reload; whether it changed.
    pub fn set_approval(&self, approval: &Approval) -> bool {
        let mut current = self.approval.write();
        let changes = *current != *approval;
        current.clone_from(approval);
        changes
    }

    pub fn current(&self) -> Arc<Catalogue> {
        self.current.current()
    }

    /// Reads the files and checks them against these skills. The last good version of an invalid file stays in use, and its problems
    /// are logged, except on the first read: see [`Catalogue::log_problems`].
    pub fn reload(&self, skills: &Registry) -> Arc<Catalogue> {
        let mut good = self.good.lock();
        let approval = self.approval.read().clone();
        let (mut files, unread) = read_paths(&self.paths);
        let mut catalogue = Catalogue::of(&files, &built_in(), skills, &approval);
        catalogue.problems.splice(0..0, unread);
        let stands_in = stand_in(&mut files, &catalogue.problems, &good);
        if !stands_in.is_empty() {
            // Of two files with the same name, the one in the first path counts.
            files.sort_by_cached_key(|file| {
                let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
                let index = self.paths.iter().position(|path| path.join("workflows") == folder);
                (index, file.name.clone())
            });
            let mut problems = std::mem::take(&mut catalogue.problems);
            catalogue = Catalogue::of(&files, &built_in(), skills, &approval);
            // Problems caused by another file are gone.
            problems.retain(|problem| {
                problem.is_warning()
                    || stands_in.contains(&problem.file)
                    || !catalogue.has_file(&problem.file)
            });
            catalogue.problems = problems;
        }
        good.retain(|name, _| files.iter().any(|file| file.name == *name));
        let sound = files.into_iter().filter(|file| catalogue.has_file(&file.name));
        good.extend(sound.map(|file| (file.name.clone(), file)));
        let current = self.current();
        let is_first = current.workflows.is_empty() && current.problems.is_empty();
        if !is_first && current.problems != catalogue.problems {
            catalogue.log_problems();
        }
        self.current.replace(catalogue);
        self.current()
    }
}

/// Replaces each invalid file with its last good version, and returns the names of the replaced files.
fn stand_in(files: &mut Vec<File>, problems: &[Problem], good: &BTreeMap<String, File>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for last in
        problems.iter().filter(|problem| !problem.is_warning()).filter_map(|problem| good.get(&problem.file))
    {
        match files.iter_mut().find(|file| file.name == last.name) {
            Some(file) if file.text == last.text => continue,
            Some(file) => file.clone_from(last),
            None => files.push(last.clone()),
        }
        names.insert(last.name.clone());
    }
    names
}

pub fn is_file_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "toml"))
}

fn built_in() -> Vec<File> {
    let name = |name| format!("skills/workflows/{name}.yaml (built in)");
    BUILT_IN.iter().map(|(stem, text)| File { name: name(stem), text: (*text).to_owned() }).collect()
}

/// The workflow files of these `[skills] paths`, and the problems of unreadable ones.
fn read_paths(paths: &[PathBuf]) -> (Vec<File>, Vec<Problem>) {
    let mut files = Vec::new();
    let folders = paths.iter().map(|path| path.join("workflows")).filter(|path| path.is_dir());
    let problems = folders.flat_map(|folder| read_folder(&folder, &mut files)).collect();
    (files, problems)
}

/// Adds the workflow files of a folder, by name, and returns the problems of unreadable ones.
pub fn read_folder(folder: &Path, files: &mut Vec<File>) -> Vec<Problem> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()),
        Err(error) => return vec![Problem::of_file(folder.display(), format!("can't be read: {error}"))],
    };
    let mut paths: Vec<PathBuf> = entries.filter(|path| is_file_name(path)).collect();
    paths.sort();
    let mut problems = Vec::new();
    for path in paths {
        match read_file(&path) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

/// Reads a file, at most up to the size limit.
pub fn read_file(path: &Path) -> Result<File, Problem> {
    Ok(File { name: path.display().to_string(), text: roles::read_file(path)? })
}
