//! All workflows that there are: those that are compiled in, and the files under `workflows/` in the skills' places.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::check::{World, check};
use super::definition::Workflow;
use super::read::{self, Read as Draft};
use super::source::{Fault, LONGEST_FILE, Place, Source};
use super::table::Faults;
use crate::config::Approval;
use crate::skills::Registry;

/// The workflows that are compiled in; they are templates to start from as well.
pub const BUILT_IN: [(&str, &str); 7] = [
    ("content-pipeline", include_str!("../../skills/workflows/content-pipeline.yaml")),
    ("iterative-refinement", include_str!("../../skills/workflows/iterative-refinement.yaml")),
    ("map-reduce", include_str!("../../skills/workflows/map-reduce.yaml")),
    ("morning-briefing", include_str!("../../skills/workflows/morning-briefing.yaml")),
    ("multi-angle-analysis", include_str!("../../skills/workflows/multi-angle-analysis.yaml")),
    ("qualify-and-route", include_str!("../../skills/workflows/qualify-and-route.yaml")),
    ("weekly-review", include_str!("../../skills/workflows/weekly-review.yaml")),
];

/// A file and its text.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name, as people see it.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// What was found in some places.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The sound workflows, sorted by name.
    pub workflows: Vec<Workflow>,
    /// What is wrong in the other files, and the warnings.
    pub faults: Vec<Fault>,
}

impl Catalogue {
    /// Reads and checks the workflows of these places of skills, and those that are compiled in. Of two of the same
    /// name the first place's counts; all count before one that is compiled in.
    pub fn load(paths: &[PathBuf], skills: &Registry, approval: &Approval) -> Self {
        let (files, faults) = read_places(paths);
        let mut catalogue = Self::of(&files, &built_in(), skills, approval);
        catalogue.faults.splice(0..0, faults);
        catalogue
    }

    /// Checks these files; those `besides` are there for the others to use, and where no other has their name.
    pub fn of(files: &[File], besides: &[File], skills: &Registry, approval: &Approval) -> Self {
        let mut catalogue = Self::default();
        let mut sources = Vec::new();
        for file in files.iter().chain(besides) {
            match Source::read(&file.name, &file.text) {
                Ok(source) => sources.push(source),
                Err(faults) => catalogue.faults.extend(faults),
            }
        }
        let mut drafts: Vec<(Draft, Faults<'_>)> = Vec::new();
        for source in &sources {
            let mut faults = Faults::new(source);
            let read = read::workflow(&mut faults);
            let name = read.as_ref().map(|draft| draft.workflow.name.clone());
            let other = drafts.iter().find(|(other, _)| Some(&other.workflow.name) == name.as_ref());
            match (read, other.map(|(other, _)| &other.workflow.file)) {
                (Some(draft), Some(other)) => {
                    // To replace what is compiled in is what its name is for.
                    if files.iter().any(|file| file.name == draft.workflow.file) {
                        let message =
                            format!("the name is taken already by {other}, which counts; choose another");
                        faults.warning("/workflow/name", message);
                        catalogue
                            .faults
                            .extend(faults.into_sorted().into_iter().filter(|fault| fault.is_warning));
                    }
                }
                (Some(draft), None) => drafts.push((draft, faults)),
                (None, _) => catalogue.faults.extend(faults.into_sorted()),
            }
        }
        let mut found: Vec<Vec<Fault>> = Vec::new();
        let all: Vec<Workflow> = drafts.iter().map(|(draft, _)| draft.workflow.clone()).collect();
        let all: Vec<&Workflow> = all.iter().collect();
        let world = World { skills, approval, workflows: &all };
        let mut read = Vec::new();
        for (draft, mut faults) in drafts {
            check(&draft, &world, &mut faults);
            found.push(faults.into_sorted());
            read.push(draft.workflow);
        }
        for (mut workflow, faults) in read.into_iter().zip(found) {
            workflow.keep_skills(|skill| skills.get(skill).is_some());
            if faults.iter().all(|fault| fault.is_warning) {
                catalogue.workflows.push(workflow);
            }
            catalogue.faults.extend(faults);
        }
        catalogue.workflows.sort_by(|a, b| a.name.cmp(&b.name));
        catalogue
    }

    fn has_file(&self, name: &str) -> bool {
        self.workflows.iter().any(|workflow| workflow.file == name)
    }

    /// Writes into the log what is wrong, warnings aside.
    pub fn log_faults(&self) {
        for fault in self.faults.iter().filter(|fault| !fault.is_warning) {
            match self.has_file(&fault.file) {
                true => tracing::warn!("{fault}; the last good version stays in use"),
                false => tracing::warn!("{fault}; the workflow can't be used until that is mended"),
            }
        }
    }

    /// The workflow of this name.
    pub fn get(&self, name: &str) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| workflow.name == name)
    }
}

/// The workflows, shared and reloadable.
#[derive(Debug)]
pub struct Workflows {
    paths: Vec<PathBuf>,
    approval: RwLock<Approval>,
    current: RwLock<Arc<Catalogue>>,
    /// The last good version of each file, by its name.
    good: Mutex<BTreeMap<String, File>>,
}

impl Workflows {
    /// Those of these places of skills; they are read by [`Workflows::reload`].
    pub fn new(paths: &[PathBuf], approval: &Approval) -> Self {
        let (paths, approval) = (paths.to_vec(), RwLock::new(approval.clone()));
        Self { paths, approval, current: RwLock::default(), good: Mutex::default() }
    }

    /// From the next reading on they are checked against this. Whether it is another one than before.
    pub fn set_approval(&self, approval: &Approval) -> bool {
        let mut current = self.approval.write().unwrap_or_else(PoisonError::into_inner);
        let changes = *current != *approval;
        current.clone_from(approval);
        changes
    }

    /// The workflows as they are now, and what is wrong in their files.
    pub fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files and checks them against these skills. Of a file that has become faulty the last good version stays;
    /// its faults are logged. Those of the first reading are not: see [`Catalogue::log_faults`].
    pub fn reload(&self, skills: &Registry) -> Arc<Catalogue> {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        let approval = self.approval.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut files, unread) = read_places(&self.paths);
        let mut catalogue = Catalogue::of(&files, &built_in(), skills, &approval);
        catalogue.faults.splice(0..0, unread);
        let stands_in = stand_in(&mut files, &catalogue.faults, &good);
        if !stands_in.is_empty() {
            // Of two of the same name the first place's counts.
            files.sort_by_cached_key(|file| {
                let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
                let place = self.paths.iter().position(|place| place.join("workflows") == folder);
                (place, file.name.clone())
            });
            let mut faults = std::mem::take(&mut catalogue.faults);
            catalogue = Catalogue::of(&files, &built_in(), skills, &approval);
            // What was wrong only because another file was.
            faults
                .retain(|it| it.is_warning || stands_in.contains(&it.file) || !catalogue.has_file(&it.file));
            catalogue.faults = faults;
        }
        good.retain(|name, _| files.iter().any(|file| file.name == *name));
        let sound = files.into_iter().filter(|file| catalogue.has_file(&file.name));
        good.extend(sound.map(|file| (file.name.clone(), file)));
        let catalogue = Arc::new(catalogue);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_first = current.workflows.is_empty() && current.faults.is_empty();
        if !is_first && current.faults != catalogue.faults {
            catalogue.log_faults();
        }
        *current = Arc::clone(&catalogue);
        catalogue
    }
}

/// Puts the last good version of each faulty file in its place; the names of the files that are then another version.
fn stand_in(files: &mut Vec<File>, faults: &[Fault], good: &BTreeMap<String, File>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for last in faults.iter().filter(|fault| !fault.is_warning).filter_map(|fault| good.get(&fault.file)) {
        match files.iter_mut().find(|file| file.name == last.name) {
            Some(file) if file.text == last.text => continue,
            Some(file) => file.clone_from(last),
            None => files.push(last.clone()),
        }
        names.insert(last.name.clone());
    }
    names
}

/// Whether a file's name says that it is a workflow.
pub fn is_file_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "toml"))
}

fn built_in() -> Vec<File> {
    let name = |name| format!("skills/workflows/{name}.yaml (built in)");
    BUILT_IN.iter().map(|(stem, text)| File { name: name(stem), text: (*text).to_owned() }).collect()
}

/// The workflow files of these places of skills, and what can't be read.
fn read_places(paths: &[PathBuf]) -> (Vec<File>, Vec<Fault>) {
    let mut files = Vec::new();
    let places = paths.iter().map(|path| path.join("workflows")).filter(|path| path.is_dir());
    let faults = places.flat_map(|place| read_folder(&place, &mut files)).collect();
    (files, faults)
}

/// Adds the workflow files of a folder, in the order of their names; what can't be read is a fault.
pub fn read_folder(folder: &Path, files: &mut Vec<File>) -> Vec<Fault> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()),
        Err(error) => return vec![unread(folder, &format!("can't be read: {error}"))],
    };
    let mut paths: Vec<PathBuf> = entries.filter(|path| is_file_name(path)).collect();
    paths.sort();
    let mut faults = Vec::new();
    for path in paths {
        match read_file(&path) {
            Ok(file) => files.push(file),
            Err(fault) => faults.push(fault),
        }
    }
    faults
}

/// Reads a file; of one that is too long no more than is needed to know that.
///
/// # Errors
/// That it can't be read.
pub fn read_file(path: &Path) -> Result<File, Fault> {
    let failed = |error: std::io::Error| unread(path, &format!("can't be read: {error}"));
    let mut bytes = Vec::new();
    let limit = u64::try_from(LONGEST_FILE + 1).unwrap_or(u64::MAX);
    std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() > LONGEST_FILE {
        return Err(unread(
            path,
            &format!("the file is longer than {} KB; no workflow is", LONGEST_FILE / 1024),
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(File { name: path.display().to_string(), text }),
        Err(_) => Err(unread(path, "is not UTF-8; save the file as UTF-8")),
    }
}

fn unread(path: &Path, message: &str) -> Fault {
    Fault {
        file: path.display().to_string(),
        at: Place::default(),
        is_warning: false,
        message: message.to_owned(),
    }
}
