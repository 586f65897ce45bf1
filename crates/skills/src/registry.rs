//! All skills that there are, and their reload while running.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_chat::suggest::nearest;
use adjutant_config::document::Problem;
use adjutant_config::reload::{Fingerprint, Reloadable, watch};
use adjutant_types::AccountService;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::builtin;
use super::definition::{Domain, Handler, Skill};
use super::files::{Layer, find, fingerprint, gather};

/// The most that [`Registry::brief`] has, in bytes: a turn's first request has 8 KB for all.
const BRIEF: usize = 3250;
/// The domains that are cut last for it, in this order.
const EVERYDAY: [&str; 5] = ["contacts", "memory", "calendar", "email", "tasks"];

/// How much of a domain's skills is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A line for each, with its arguments and its summary.
    Lines,
    /// The same, and what a turn hears of when it has something for it, but a plan must know before.
    Whole,
    Arguments,
    Names,
}

/// All skills at one moment.
#[derive(Debug, Default)]
pub struct Registry {
    domains: Vec<Domain>,
    by_name: HashMap<String, Arc<Skill>>,
    unavailable: Vec<Arc<Skill>>,
    catalogue: String,
    brief: String,
    /// Whether the catalogue names what only matters to people with several accounts.
    has_several: bool,
    /// What people are shown of it, each made on first use.
    views: Mutex<Vec<(View, Arc<Registry>)>>,
}

/// Who is shown the skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Somebody who may not use what is an owner's.
    pub(crate) hides_owners: bool,
    /// What others have an account for, and they don't.
    pub(crate) hidden: Vec<AccountService>,
    /// Somebody with several accounts of one service.
    pub(crate) has_several: bool,
}

impl Registry {
    pub fn new(domains: Vec<Domain>) -> Self {
        Self::with(domains, false)
    }

    fn with(mut domains: Vec<Domain>, has_several: bool) -> Self {
        domains.sort_by(|a, b| a.name.cmp(&b.name));
        let unavailable = domains.iter().flat_map(|domain| domain.unavailable.clone()).collect();
        domains.retain(|domain| !domain.skills.is_empty());
        let skills = domains.iter().flat_map(|domain| &domain.skills);
        let by_name = skills.map(|skill| (skill.name.clone(), Arc::clone(skill))).collect();
        let lines = |form: Form| -> Vec<String> {
            domains.iter().map(|domain| listed(domain, form, has_several)).collect()
        };
        let (catalogue, brief) =
            (lines(Form::Whole).concat(), brief(lines(Form::Lines), &domains, has_several));
        let views = Mutex::default();
        Self { domains, by_name, unavailable, catalogue, brief, has_several, views }
    }

    /// The skills that this is true of, as somebody is shown them. It must be true of the same ones each time that the view
    /// is the same.
    pub(crate) fn view(&self, view: View, is_in: impl Fn(&Skill) -> bool) -> Arc<Self> {
        let mut views = self.views.lock();
        if let Some((_, made)) = views.iter().find(|(made, _)| *made == view) {
            return made.clone();
        }
        let made = self.part(view.has_several, is_in);
        views.push((view, made.clone()));
        made
    }

    /// The skills of which this is true.
    pub fn only(&self, is_in: impl Fn(&Skill) -> bool) -> Arc<Self> {
        self.part(self.has_several, is_in)
    }

    fn part(&self, has_several: bool, is_in: impl Fn(&Skill) -> bool) -> Arc<Self> {
        let part = |domain: &Domain| {
            let skills = domain.skills.iter().filter(|skill| is_in(skill)).cloned().collect();
            Domain { skills, ..domain.clone() }
        };
        Arc::new(Self::with(self.domains.iter().map(part).collect(), has_several))
    }

    /// A skill with its arguments, as far as they matter here.
    pub fn signature(&self, skill: &Skill) -> String {
        skill.signature_after(&mut HashSet::new(), self.has_several)
    }

    /// The skills that were read and can't work here. Nobody is offered them.
    pub fn unavailable(&self) -> &[Arc<Skill>] {
        &self.unavailable
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Skill>> {
        self.by_name.get(name)
    }

    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    pub fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.name == name)
    }

    /// The skill or domain whose name is nearest to this one, if one is near.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let domains = self.domains.iter().map(|domain| domain.name.as_str());
        let mut names: Vec<&str> = self.by_name.keys().map(String::as_str).chain(domains).collect();
        names.sort_unstable();
        // "search" or "task.serch" without its domain is still a skill's word.
        nearest(name, names.iter().copied())
            .or_else(|| names.iter().copied().find(|registered| registered.split('.').nth(1) == Some(name)))
            .map(str::to_owned)
    }

    /// Why there is no skill of this name.
    pub fn missing(&self, name: &str) -> String {
        let near = self.nearest(name).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        format!("there is no skill \"{name}\"{near}")
    }

    /// Every skill in a line: sorted, and the same bytes for the same skills.
    pub fn catalogue(&self) -> &str {
        &self.catalogue
    }

    /// The same for each turn's prompt. Where there are many skills, it leaves out what `get_skill` tells.
    pub fn brief(&self) -> &str {
        &self.brief
    }
}

/// A domain's part of the catalogue; nothing if no skill of it is shown.
fn listed(domain: &Domain, form: Form, has_several: bool) -> String {
    let mut skills: Vec<&Arc<Skill>> = domain.skills.iter().filter(|skill| is_listed(skill, form)).collect();
    if skills.is_empty() {
        return String::new();
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut text, mut seen) = (format!("{}: {}", domain.name, domain.summary), HashSet::new());
    if !domain.is_folded() {
        for (index, skill) in skills.into_iter().enumerate() {
            let shown = match form {
                Form::Whole | Form::Lines | Form::Arguments => skill.signature_after(&mut seen, has_several),
                Form::Names => skill.name.clone(),
            };
            let word = shown.split_once('.').map_or(shown.as_str(), |(_, word)| word);
            text.push_str(&match (form, index) {
                (Form::Whole | Form::Lines, _) => format!("\n- {shown}: {}", skill.summary),
                (_, 0) => format!(": {word}"),
                _ => format!(", {word}"),
            });
        }
    }
    text + "\n"
}

/// A catalogue of these parts, shortened until it fits. All lose their summaries before one loses its arguments, the longest
/// first, and those that people need every day last.
fn brief(mut texts: Vec<String>, domains: &[Domain], has_several: bool) -> String {
    let everyday = |at: &usize| EVERYDAY.iter().position(|name| *name == domains[*at].name);
    let mut order: Vec<usize> = (0..domains.len()).collect();
    order.sort_by_key(|at| (everyday(at), Reverse(texts[*at].len())));
    for form in [Form::Arguments, Form::Names] {
        for at in &order {
            if texts.iter().map(String::len).sum::<usize>() > BRIEF {
                texts[*at] = listed(&domains[*at], form, has_several);
            }
        }
    }
    texts.concat()
}

fn is_listed(skill: &Skill, form: Form) -> bool {
    let Handler::Builtin(name) = &skill.handler else { return true };
    !builtin::is_unlisted(name) || form == Form::Whole && name == "email.attachment"
}

#[derive(Debug)]
pub struct Skills {
    paths: Vec<PathBuf>,
    builtins: Vec<String>,
    layer: Option<Layer>,
    current: Reloadable<Registry>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    fingerprint: Fingerprint,
    /// The last good domain of each file.
    good: BTreeMap<PathBuf, Domain>,
}

impl Skills {
    /// Reads the built-in domains and those in these paths (folders, or single files). Where two paths
    /// have the same domain, the one named first wins; both win over a built-in one.
    /// A missing folder called `skills` is no error if its parent exists: that is the default path.
    pub fn load(paths: &[PathBuf], builtins: &[&str]) -> Result<Self, Vec<Problem>> {
        Self::load_with(paths, builtins, None)
    }

    /// Like [`Skills::load`], with a layer of skills made from these: the workflows.
    pub fn load_with(
        paths: &[PathBuf],
        builtins: &[&str],
        layer: Option<Layer>,
    ) -> Result<Self, Vec<Problem>> {
        let skills = Self {
            paths: paths.to_vec(),
            builtins: builtins.iter().map(|name| (*name).to_owned()).collect(),
            layer,
            current: Reloadable::default(),
            state: Mutex::default(),
        };
        skills.reload().map(|_| skills)
    }

    pub fn current(&self) -> Arc<Registry> {
        self.current.current()
    }

    /// Reads the files again; true when the skills have changed. For a file with errors, its last good version stays.
    pub fn reload(&self) -> Result<bool, Vec<Problem>> {
        let mut state = self.state.lock();
        let (files, mut problems) = find(&self.paths);
        state.fingerprint = fingerprint(&self.paths, &files);
        let builtins: Vec<&str> = self.builtins.iter().map(String::as_str).collect();
        let gathered = gather(&files, &builtins, self.layer.as_ref(), true, &mut state.good);
        problems.extend(gathered.problems);
        state.good = gathered.good;
        let changed = self.put(Registry::new(gathered.domains));
        if problems.is_empty() { Ok(changed) } else { Err(problems) }
    }

    /// Picks up changed files once a second, until the stop.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        watch(|| self.poll(), stop).await;
    }

    /// Reloads if a file has changed since the last time; problems are logged once for each change.
    pub fn poll(&self) {
        let now = fingerprint(&self.paths, &find(&self.paths).0);
        if now != self.state.lock().fingerprint {
            self.reload_and_log();
        }
    }

    /// Reloads, and writes into the log what came of it.
    pub fn reload_and_log(&self) {
        match self.reload() {
            Ok(true) => tracing::info!(skills = self.current().by_name.len(), "the skills have changed"),
            Ok(false) => {}
            Err(problems) => {
                for problem in problems {
                    tracing::warn!("{problem}; the last good version stays in use");
                }
            }
        }
    }

    fn put(&self, registry: Registry) -> bool {
        let current = self.current();
        // Every field of a skill can be seen in its Debug form, and reloads are rare.
        let shown = |registry: &Registry| format!("{:?}{:?}", registry.domains, registry.unavailable);
        let changed = shown(&current) != shown(&registry);
        if changed {
            self.current.replace(registry);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn domain(name: &str, summary: &str) -> String {
        format!(
            "domain = '{name}'\nsummary = '{summary}'\n[[skill]]\nname = '{name}.run'\nsummary = 'Run it'\n\
             risk = 'low'\nhandler = {{ command = ['true', '{{{{x}}}}'] }}\n[skill.parameters.properties.x]\n\
             type = 'string'\n"
        )
    }

    fn write(folder: &TempDir, file: &str, text: &str) {
        std::fs::write(folder.path().join(file), text).unwrap();
    }

    fn load(folders: &[&TempDir]) -> Skills {
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_path_buf()).collect();
        Skills::load(&paths, &builtin::names(true)).unwrap()
    }

    #[test]
    fn a_file_replaces_the_built_in_domain_and_the_first_place_wins() {
        let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        write(&first, "a.toml", &domain("tasks", "Ours"));
        write(&second, "a.toml", &domain("tasks", "Theirs"));
        write(&second, "b.toml", &domain("weather", "Weather"));
        write(&second, "notes.txt", "no TOML");
        let skills = load(&[&first, &second]).current();
        let names: Vec<&str> = skills.domains().iter().map(|domain| domain.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "assistant",
                "calendar",
                "chat",
                "contacts",
                "email",
                "files",
                "memory",
                "notes",
                "schedule",
                "tasks",
                "watch",
                "weather",
                "web"
            ]
        );
        assert_eq!(skills.domain("tasks").unwrap().summary, "Ours");
        assert!(skills.get("tasks.run").is_some() && skills.get("tasks.search").is_none());
    }

    #[test]
    fn the_catalogue_is_sorted_and_the_same_bytes_each_time() {
        let folder = TempDir::new().unwrap();
        for name in ["tasks", "memory", "zoo"] {
            write(&folder, &format!("{name}.toml"), &domain(name, "Things"));
        }
        let skills = load(&[&folder]);
        let before = skills.current();
        insta::assert_snapshot!(before.catalogue(), @"
        assistant: What the assistant did
        - assistant.history(since?: time, until?: time, limit?): What was asked and done; default: today
        - assistant.undo(): Undo what was done last
        - assistant.usage(since?, until?): Model calls, tokens and cost; default: today
        calendar: Events, meetings, free time
        - calendar.check_availability(start: time, end: time, timezone?, attendees?: [name/email], duration?: 45m): Check whether a time is free, or find free slots
        - calendar.create_event(title, start, end?, duration?: PT45M | 45m, timezone?, all_day?, attendees?, location?, notes?, recurrence?: RRULE, reminders?: [minutes, for their app; here: tasks.create], calendar?): Create an event, and invite people to it
        - calendar.delete_event(id, instance?, span?: one|following|all): Delete an event, or part of a series
        - calendar.list_events(start?, end?: last day, calendar?): List the events of a period; default: the next 7 days
        - calendar.search(query, start?, end?): Find events by words of their title, place or notes
        - calendar.update_event(id, title?, start?, end?, duration?, timezone?, all_day?, attendees?, location?, notes?, recurrence?, reminders?, instance?, span?): Change an event
        chat: The channels and groups of the chat platforms that the person is in
        - chat.post(place, text): Post a message into a channel or group
        - chat.read_channel(place, since?, limit?): Read the newest messages of a channel or group
        - chat.read_thread(place, thread, since?, limit?): Read a thread
        - chat.search(query, place?, since?, limit?): Search the messages of channels and groups
        - chat.summarise(place, since?, limit?): Get the messages of a channel or group, to summarize them
        - chat.user_info(user): Look up a person on a chat platform
        contacts: Addresses, numbers, organizations
        - contacts.create(name, emails?: [text], phones?: [text], organization?, notes?): Add a contact
        - contacts.get(id): Get all details of a contact
        - contacts.organizations(query?): List the organizations of the contacts
        - contacts.search(query?, organization?, limit?): Find people by name, email or organization
        - contacts.update(id, name?, emails?, phones?, organization?, notes?): Change a contact
        - contacts.validate_email(email): Check an email address
        email: The person's mail: writing, finding, reading, sorting
        - email.attachment(message_id, number?): Read an attachment of an email, and keep it as a file
        - email.draft(body, to?: [name/email], subject?, cc?: [name/email], bcc?: [name/email], replaces?, message_id?, attachments?: [{name, text} or {file} or {note}]): Save a draft
        - email.forward(message_id, to, body?, cc?): Forward an email with its attachments
        - email.mark(message_id, as: read|unread|flagged|unflagged): Mark an email
        - email.move(message_id, folder): Move an email to a folder
        - email.read(message_id?, message_ids?: [text], thread?): Read an email, or several
        - email.reply(message_id, body, all?, cc?, attachments?): Reply to an email
        - email.search(text?, from?, to?, subject?, since?: time, before?: time, unread?, unanswered?, folder?, limit?, with_text?): Find emails
        - email.send(to?, subject?, body?, cc?, bcc?, draft?, attachments?): Send an email
        - email.status(message_id): Check if an email bounced
        memory: Things
        - memory.run(x?): Run it
        notes: The person's notes: a folder of Markdown files
        - notes.append(path, text?, file?, section?, version?): Add to a note, at its end or at the end of a section
        - notes.create(path, text?, file?, overwrite?): Create a note
        - notes.list(folder?, limit?): List notes
        - notes.read(path): Read a note
        - notes.replace_section(path, section, text, version?): Replace what stands below a heading of a note
        - notes.search(query, folder?, limit?): Find notes by words of their text or name
        schedule: Recurring jobs; to remind once, add a task due then
        - schedule.create(when, text, timezone?, only_if_news?): Schedule a recurring job
        - schedule.list(): List the schedules
        tasks: Things
        - tasks.run(x?): Run it
        watch: Tell or act when mail or events come: watch.create(on: mail, from?: [name])
        web: Web pages
        - web.fetch(url): Read a web page
        - web.search(query, limit?): Search the web; web.fetch reads a result
        zoo: Things
        - zoo.run(x?): Run it
        ");
        assert!(!skills.reload().unwrap(), "nothing has changed");
        assert!(Arc::ptr_eq(&before, &skills.current()));
    }

    #[test]
    fn the_brief_catalogue_loses_summaries_then_arguments() {
        let folder = TempDir::new().unwrap();
        let brief = || load(&[&folder]).current().brief().to_owned();
        write(&folder, "zoo.toml", &domain("zoo", "Animals"));
        let few = brief();
        assert!(few.len() <= BRIEF && few.contains("\nzoo: Animals: run(x?)\n"), "{few}");
        assert!(few.contains("\n- tasks.search("), "what people need every day stays whole: {few}");
        assert!(!few.contains("attachment("), "a turn with an email that has one is told: {few}");
        for number in 0..40 {
            let name = format!("z{number}");
            write(&folder, &format!("{name}.toml"), &domain(&name, &"x".repeat(30)));
        }
        let many = brief();
        assert!(many.len() <= BRIEF && many.contains("\nzoo: Animals: run\n"), "{many}");
    }

    #[test]
    fn what_only_matters_to_people_with_several_accounts_costs_nobody_else_a_word() {
        let folder = TempDir::new().unwrap();
        let skills = load(&[&folder]).current();
        assert!(!skills.catalogue().contains("account?"));
        let send = skills.get("email.send").unwrap();
        assert!(!skills.signature(send).contains("account?") && send.signature().contains("account?"));
        let several = View { has_several: true, ..View::default() };
        let seen = skills.view(several.clone(), |_| true);
        assert!(seen.catalogue().contains("account?: label") && seen.signature(send).contains("account?"));
        assert!(seen.only(|_| true).catalogue() == seen.catalogue(), "a room takes nothing of that away");
        assert!(Arc::ptr_eq(&seen, &skills.view(several, |_| true)), "it is made once");
    }

    #[test]
    fn each_view_has_its_own_skills() {
        let folder = TempDir::new().unwrap();
        let skills = load(&[&folder]).current();
        let without = |hidden: AccountService| {
            let view = View { hidden: vec![hidden], ..View::default() };
            skills.view(view, |skill| skill.domain != hidden.as_str())
        };
        let (no_calendar, no_contacts) =
            (without(AccountService::Calendar), without(AccountService::Contacts));
        assert!(no_calendar.domain("calendar").is_none() && no_calendar.domain("contacts").is_some());
        assert!(no_contacts.domain("calendar").is_some() && no_contacts.domain("contacts").is_none());
    }

    #[test]
    fn a_wrong_file_keeps_its_last_good_domain_and_the_others_apply() {
        let folder = TempDir::new().unwrap();
        write(&folder, "a.toml", &domain("apples", "Old"));
        write(&folder, "b.toml", &domain("pears", "Old"));
        let skills = load(&[&folder]);
        write(&folder, "a.toml", "domain = 'apples'\nsummary = 'broken'");
        write(&folder, "b.toml", &domain("pears", "New and longer"));
        skills.poll();
        assert_eq!(skills.current().domain("apples").unwrap().summary, "Old");
        assert_eq!(skills.current().domain("pears").unwrap().summary, "New and longer");
        let again = skills.reload().unwrap_err();
        assert!(again[0].to_string().ends_with("a.toml:1: the file has no [[skill]]"), "{again:?}");
        write(&folder, "a.toml", &domain("apples", "Mended"));
        skills.poll();
        assert_eq!(skills.current().domain("apples").unwrap().summary, "Mended");
        std::fs::remove_file(folder.path().join("a.toml")).unwrap();
        skills.poll();
        assert!(skills.current().domain("apples").is_none());
    }

    #[test]
    fn a_missing_place_is_a_fault_unless_it_is_the_default() {
        let folder = TempDir::new().unwrap();
        let missing = folder.path().join("none");
        let problems = Skills::load(&[missing], &builtin::names(true)).unwrap_err();
        assert!(problems[0].to_string().contains("none: can't be read: "), "{problems:?}");
        assert!(Skills::load(&[folder.path().join("skills")], &builtin::names(true)).is_ok());
        assert!(Skills::load(&[folder.path().join("etc/skills")], &builtin::names(true)).is_err());
    }

    #[test]
    fn two_files_of_one_place_may_not_share_a_domain() {
        let folder = TempDir::new().unwrap();
        write(&folder, "a.toml", &domain("apples", "One"));
        write(&folder, "b.toml", &domain("apples", "Two"));
        let problems = Skills::load(&[folder.path().to_path_buf()], &builtin::names(true)).unwrap_err();
        assert!(problems[0].message.contains("a.toml already; join the two files"), "{problems:?}");
    }

    #[test]
    fn a_slip_finds_the_nearest_name() {
        let folder = TempDir::new().unwrap();
        write(&folder, "w.toml", &domain("weather", "W"));
        let skills = load(&[&folder]).current();
        assert_eq!(skills.nearest("wether.run").as_deref(), Some("weather.run"));
        assert_eq!(skills.nearest("weathr").as_deref(), Some("weather"));
        assert_eq!(skills.nearest("run").as_deref(), Some("weather.run"));
        assert_eq!(skills.nearest("qqqq"), None);
    }

    #[tokio::test]
    async fn the_watch_picks_up_a_change_and_ends_at_the_stop() {
        let folder = TempDir::new().unwrap();
        let skills = Arc::new(load(&[&folder]));
        write(&folder, "w.toml", &domain("weather", "W"));
        let stop = CancellationToken::new();
        let watch = tokio::spawn(Arc::clone(&skills).watch(stop.clone()));
        while skills.current().domain("weather").is_none() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
        watch.await.unwrap();
    }
}
