//! All roles: the built-in ones, and the files of some folders.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use adjutant_config::document::{MAX_FILE, Position, Problem, Severity};
use adjutant_config::reload::{Fingerprint, Reloadable, watch};
use adjutant_skills::{Registry, Skills};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Role;
use super::reading::{self, ReadRole};
use super::resolving::{self, Names};

/// The built-in roles.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("executor", include_str!("../../../../skills/roles/executor.toml")),
    ("planner", include_str!("../../../../skills/roles/planner.toml")),
    ("researcher", include_str!("../../../../skills/roles/researcher.toml")),
    ("reviewer", include_str!("../../../../skills/roles/reviewer.toml")),
    ("tester", include_str!("../../../../skills/roles/tester.toml")),
];
/// Ends the name of a built-in role's file.
pub(super) const OURS: &str = " (built in)";

pub(super) type Denials = BTreeMap<String, Vec<String>>;

/// All roles at one moment.
#[derive(Debug, Default)]
pub struct RoleSet {
    /// The sound roles, sorted by name.
    pub roles: Vec<Role>,
    /// The problems of the other files, and all warnings.
    pub problems: Vec<Problem>,
}

impl RoleSet {
    /// Reads the roles of these folders and files, and the built-in ones. Of several with the same name the first
    /// path's is used, and a built-in one last.
    pub fn load(paths: &[PathBuf], skills: &Registry) -> Self {
        gather(paths, skills, &BTreeMap::new()).0
    }

    /// The same without the skills that the roles are denied: patterns, by the role's name.
    #[must_use]
    pub fn without(mut self, denials: &Denials, skills: &Registry) -> Self {
        let problems = resolving::deny(&mut self.roles, denials, &Names::of(skills, &[]));
        self.problems.extend(problems);
        self
    }
}

/// Reads all files. For one with errors, its last good version is used if there is one. Returns the good ones, too.
fn gather(
    paths: &[PathBuf],
    skills: &Registry,
    last: &BTreeMap<String, ReadRole>,
) -> (RoleSet, BTreeMap<String, ReadRole>) {
    let (texts, mut problems) = read_paths(paths);
    let mut reads: Vec<ReadRole> = Vec::new();
    for (file, text) in &texts {
        match reading::read(file, text) {
            Ok(role) => reads.push(role),
            Err(found) => {
                problems.extend(found);
                reads.extend(last.get(file).cloned());
            }
        }
    }
    for (name, text) in BUILT_IN {
        match reading::read(&format!("skills/roles/{name}.toml{OURS}"), text) {
            Ok(role) => reads.push(role),
            Err(found) => problems.extend(found),
        }
    }
    let reads = first_of_each(reads, &mut problems);
    let names = Names::of(skills, &reads);
    let mut good = BTreeMap::new();
    let mut roles = Vec::new();
    for read in reads {
        let (role, found) = resolving::resolve(&read, &names);
        problems.extend(found);
        match role {
            Some(role) => {
                good.insert(read.file.clone(), read);
                roles.push(role);
            }
            None => {
                let before = last.get(&read.file);
                roles.extend(before.and_then(|before| resolving::resolve(before, &names).0));
                good.extend(before.map(|before| (before.file.clone(), before.clone())));
            }
        }
    }
    roles.sort_by(|a, b| a.name.cmp(&b.name));
    problems.extend(resolving::cycles(&roles, &good));
    problems.sort_by(|a, b| (&a.file, a.position, &a.message).cmp(&(&b.file, b.position, &b.message)));
    (RoleSet { roles, problems }, good)
}

/// The first role of each name; replacing a built-in one is fine.
fn first_of_each(reads: Vec<ReadRole>, problems: &mut Vec<Problem>) -> Vec<ReadRole> {
    let mut unique: Vec<ReadRole> = Vec::new();
    for read in reads {
        match unique.iter().find(|other| other.name == read.name) {
            None => unique.push(read),
            Some(_) if read.file.ends_with(OURS) => {}
            Some(other) => {
                let message = format!("{} has the same name and is used instead; choose another", other.file);
                let severity = Severity::Warning;
                problems.push(Problem {
                    position: read.at,
                    severity,
                    ..Problem::of_file(&read.file, message)
                });
            }
        }
    }
    unique
}

/// The role files under these paths with their texts, and the problems of those that can't be read.
fn read_paths(paths: &[PathBuf]) -> (Vec<(String, String)>, Vec<Problem>) {
    let (mut texts, mut problems) = (Vec::new(), Vec::new());
    for path in paths.iter().flat_map(|path| files(path)).filter(|path| is_role_file(path)) {
        match read_file(&path) {
            // A prompt in a file of its own is no role.
            Ok(text) if is_markdown(&path) && !text.trim_start_matches('\u{feff}').starts_with("---") => {
                let position = Position { line: 1, column: 0 };
                let message = "the file has no head (a line ---, keys in YAML, a line ---), so it's no role";
                let problem = Problem::of_file(path.display(), message);
                problems.push(Problem { position, severity: Severity::Warning, ..problem });
            }
            Ok(text) => texts.push((path.display().to_string(), text)),
            Err(problem) => problems.push(problem),
        }
    }
    (texts, problems)
}

/// The files of a folder, by name, or the file itself.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn is_role_file(path: &Path) -> bool {
    is_markdown(path) || path.extension().is_some_and(|end| end == "toml")
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

/// Reads a file, at most up to the size limit.
pub fn read_file(path: &Path) -> Result<String, Problem> {
    let problem = |message: String| Problem::of_file(path.display(), message);
    let failed = |error: std::io::Error| problem(format!("can't be read: {error}"));
    let limit = u64::try_from(MAX_FILE + 1).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() > MAX_FILE {
        return Err(problem(format!("the file is longer than {} KB", MAX_FILE / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| problem("is not UTF-8; save the file as UTF-8".into()))
}

/// The roles, shared and reloadable.
#[derive(Debug)]
pub struct Roles {
    paths: Vec<PathBuf>,
    denials: Denials,
    skills: Arc<Skills>,
    current: Reloadable<RoleSet>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    fingerprint: Fingerprint,
    registry: Weak<Registry>,
    /// The last good version of each file, by its name.
    good: BTreeMap<String, ReadRole>,
}

impl Roles {
    /// Reads the roles under these paths. A broken file is left out, and its problems are logged.
    pub fn load(paths: Vec<PathBuf>, denials: Denials, skills: Arc<Skills>) -> Self {
        let roles = Self { paths, denials, skills, current: Reloadable::default(), state: Mutex::default() };
        roles.poll();
        roles
    }

    pub fn current(&self) -> Arc<RoleSet> {
        self.current.current()
    }

    /// Reads the files again if one of them, or the skills, have changed. Problems are logged once for each change; the
    /// last good version of a broken file stays in use.
    pub fn poll(&self) {
        let now = fingerprint(&self.paths);
        let registry = self.skills.current();
        let mut state = self.state.lock();
        let is_same = state.registry.upgrade().is_some_and(|last| Arc::ptr_eq(&last, &registry));
        if is_same && now == state.fingerprint {
            return;
        }
        let (set, good) = gather(&self.paths, &registry, &state.good);
        let set = set.without(&self.denials, &registry);
        *state = State { fingerprint: now, registry: Arc::downgrade(&registry), good };
        if self.current().problems != set.problems {
            for problem in set.problems.iter().filter(|problem| !problem.is_warning()) {
                match set.roles.iter().any(|role| role.file == problem.file) {
                    true => tracing::warn!("{problem}; the last good version stays in use"),
                    false => tracing::warn!("{problem}; until this is fixed, it can't be used"),
                }
            }
        }
        self.current.replace(set);
    }

    /// Picks up changed files once a second, until the stop.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        watch(|| self.poll(), stop).await;
    }
}

/// The current size and time of all files under these paths: a prompt may be in any of them.
fn fingerprint(paths: &[PathBuf]) -> Fingerprint {
    paths.iter().flat_map(|path| files(path)).collect()
}

#[cfg(test)]
mod tests {
    use adjutant_skills::builtin;

    use super::*;

    #[test]
    fn a_dropped_in_file_is_offered_and_a_broken_one_keeps_its_last_good_version() {
        let folder = tempfile::tempdir().unwrap();
        let skills = Arc::new(Skills::load(&[], &builtin::names(false)).unwrap());
        let roles = Roles::load(vec![folder.path().to_path_buf()], Denials::new(), skills);
        assert!(roles.current().get("lawyer").is_none());
        let write = |text: &str| {
            std::fs::write(folder.path().join("lawyer.md"), text).unwrap();
            roles.poll();
            roles.current()
        };
        let set = write("---\nname: lawyer\ndescription: Reads contracts\n---\nYou are a lawyer.\n");
        assert_eq!(set.get("lawyer").unwrap().prompt, "You are a lawyer.");
        assert!(set.listing().contains("lawyer: Reads contracts; planner: "), "{}", set.listing());
        let broken = [
            "---\nname: lawyer\ndescription: Reads\nskills: [\"no.such\"]\n---\nYou are lost.\n",
            "---\nname: [lawyer\n---\nYou are lost, too.\n",
        ];
        for text in broken {
            let set = write(text);
            assert!(set.problems.iter().any(|problem| !problem.is_warning()), "{text}");
            assert_eq!(set.get("lawyer").unwrap().prompt, "You are a lawyer.", "{text}");
        }
        let set = write("---\nname: lawyer\ndescription: Reads contracts\n---\nYou are a better lawyer.\n");
        assert_eq!(
            (set.get("lawyer").unwrap().prompt.as_str(), set.problems.len()),
            ("You are a better lawyer.", 0)
        );
        std::fs::remove_file(folder.path().join("lawyer.md")).unwrap();
        roles.poll();
        assert!(roles.current().get("lawyer").is_none());
    }

    #[test]
    fn a_role_that_reads_emails_for_a_step_opens_their_attachments_too() {
        let skills = Skills::load(&[], &builtin::names(false)).unwrap().current();
        let set = RoleSet::load(&[], &skills);
        let reads = |role: &str| {
            let allowed = &set.get(role).unwrap().rights.allow;
            allowed.contains(&"email.read".to_owned()) && allowed.contains(&"email.attachment".to_owned())
        };
        assert!(["executor", "researcher", "reviewer", "tester"].iter().all(|role| reads(role)));
        assert!(!reads("planner"), "what a step can find out itself belongs into the step");
    }

    #[test]
    fn a_role_of_ones_own_replaces_a_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let skills = Arc::new(Skills::load(&[], &builtin::names(false)).unwrap());
        let text = "name = \"reviewer\"\ndescription = \"Ours\"\nprompt = \"p\"\n";
        std::fs::write(folder.path().join("reviewer.toml"), text).unwrap();
        let set = RoleSet::load(&[folder.path().to_path_buf()], &skills.current());
        assert_eq!((set.roles.len(), set.get("reviewer").unwrap().description.as_str()), (5, "Ours"));
        assert_eq!(set.problems, []);
    }

    #[test]
    fn the_configuration_takes_skills_from_roles_and_a_rule_that_takes_nothing_is_a_problem() {
        let skills = Skills::load(&[], &builtin::names(false)).unwrap().current();
        let without = |role: &str, pattern: &str| {
            let denials = Denials::from([(role.to_owned(), vec![pattern.to_owned()])]);
            RoleSet::load(&[], &skills).without(&denials, &skills)
        };
        let set = without("researcher", "web.*");
        assert_eq!(set.problems, []);
        let rights = &set.get("researcher").unwrap().rights;
        assert!(rights.deny.contains(&"web.search".to_owned()), "{rights:?}");
        assert!(!rights.deny.contains(&"email.search".to_owned()), "{rights:?}");
        for (role, pattern, why) in [
            ("resercher", "web.*", "[roles.deny]: there is no role 'resercher'; did you mean 'researcher'?"),
            ("researcher", "wbe.*", "[roles.deny]: `researcher`: 'wbe.*' matches no skill"),
        ] {
            let problems: Vec<_> = without(role, pattern).problems.iter().map(ToString::to_string).collect();
            assert!(problems.len() == 1 && problems[0].starts_with(why), "{problems:?}");
        }
    }
}
