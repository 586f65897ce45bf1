//! A person's things, the system, and what can be done with them.

mod acts;
mod notes;

use std::collections::HashMap;

use adjutant_files::FolderError;
use adjutant_l10n::{page, page_tables as words};
use adjutant_skills::builtin::watches::{described, unread};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Result, access, check, dead, files, origins, rules, schedules, tasks, timeline, usage};
use adjutant_types::{FileId, FileProblem, MemoryId, PersonId, ScheduleState, TaskState, TurnId, WatchState};
use adjutant_web::views::{Cell, Edit, PageAction, Table, TableRow, Viewer};
use adjutant_workflows::trace::one_line;

use super::WebBackend;
use super::view::ViewerContext;

const ROWS: i64 = 200;
/// For how long a task that is done is shown, in milliseconds.
const DONE_MS: i64 = 7 * 24 * 3600 * 1000;
/// The model calls of this time tell whether the model answers, in milliseconds.
const LATELY_MS: i64 = 3600 * 1000;

/// A table without a field above it. The second text stands there if it is empty.
pub(super) fn table<const N: usize>(
    (title, empty): (String, String),
    columns: [String; N],
    rows: impl IntoIterator<Item = TableRow>,
) -> Table {
    Table { title, empty, columns: columns.into(), rows: rows.into_iter().collect(), field: None }
}

pub(super) fn row(cells: Vec<Cell>, act: Option<(PageAction, String)>) -> TableRow {
    TableRow { cells, acts: act.into_iter().collect(), edit: None }
}

/// Cells of texts alone.
pub(super) fn texts<const N: usize>(texts: [String; N]) -> Vec<Cell> {
    texts.into_iter().map(Cell::Text).collect()
}

impl WebBackend {
    pub(super) async fn things_of(&self, viewer: &Viewer) -> Result<Vec<Table>> {
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let view = self.view(viewer).await?;
        let schedule = |schedule: schedules::ScheduleRow| {
            let next = view.moment(schedule.next_at);
            let cells = vec![
                schedule.text.into(),
                schedule.rule.into(),
                next.into(),
                schedule.state.to_string().into(),
            ];
            let switch = match schedule.state {
                ScheduleState::Active => PageAction::PauseSchedule,
                ScheduleState::Paused | ScheduleState::Stopped => PageAction::ResumeSchedule,
            };
            let acts = [switch, PageAction::DeleteSchedule].map(|act| (act, schedule.id.to_string()));
            TableRow { cells, acts: acts.to_vec(), edit: None }
        };
        let watch = |watch: WatchRow| {
            let state = unread(&watch, view.zone).unwrap_or_else(|| watch.state.to_string());
            let cells = texts([described(&watch), watch.words.clone(), state]);
            let is_active = watch.state == WatchState::Active;
            let switch = if is_active { PageAction::PauseWatch } else { PageAction::ResumeWatch };
            let acts = [switch, PageAction::StopWatch].map(|act| (act, watch.id.to_string()));
            TableRow { cells, acts: acts.to_vec(), edit: None }
        };
        let rule = |rule: rules::RuleRow| {
            let used = page::used_of(rule.used, rule.most_uses);
            let (since, until) = (view.moment(rule.created_at), view.moment(rule.expires_at));
            let cells = vec![rule.in_words().into(), since.into(), until.into(), used.into()];
            row(cells, Some((PageAction::EndRule, rule.id.to_string())))
        };
        let mut all = vec![
            self.open_tasks(&view, &person).await?,
            table(
                (words::schedules(), words::no_schedules()),
                [words::what(), words::when(), words::next(), words::status()],
                schedules::of_person(store, &person).await?.into_iter().map(schedule),
            ),
            Table {
                field: Some((PageAction::WatchMail, String::new())),
                ..table(
                    (words::watches(), words::no_watches()),
                    [words::what(), words::then(), words::status()],
                    watches::of_person(store, &person).await?.into_iter().map(watch),
                )
            },
            self.memories(&view, &person).await?,
            table(
                (words::allowed(), words::nothing_allowed()),
                [words::what(), words::since(), words::until(), words::used()],
                rules::of_person(store, &person).await?.into_iter().map(rule),
            ),
            self.sent_files(&view, &person).await?,
            self.done_tasks(&person).await?,
        ];
        all.extend(self.notes(viewer).await);
        Ok(all)
    }

    async fn open_tasks(&self, view: &ViewerContext<'_>, person: &PersonId) -> Result<Table> {
        let open = tasks::of_person(&self.store, person, Some(TaskState::Open), ROWS).await?;
        let task = |task: tasks::TaskRow| {
            let shown = view.due(&task).map_or_else(|| Cell::Text(String::new()), Cell::Time);
            let (title, due) = (task.title, task.due.unwrap_or_default());
            let key = task.id.to_string();
            let fields = vec![(words::task(), title.clone()), (words::due_as(), due)];
            TableRow {
                edit: Some(Edit { act: PageAction::EditTask, key: key.clone(), fields }),
                cells: vec![title.into(), shown, task.priority.to_string().into()],
                acts: vec![(PageAction::CompleteTask, key.clone()), (PageAction::DeleteTask, key)],
            }
        };
        let columns = [words::task(), words::due(), words::priority()];
        Ok(Table {
            field: Some((PageAction::AddTask, words::new_task())),
            ..table((words::tasks(), words::no_tasks()), columns, open.into_iter().map(task))
        })
    }

    async fn memories(&self, view: &ViewerContext<'_>, person: &PersonId) -> Result<Table> {
        let mut from = self.saved_by_request(person).await?;
        for origin in origins::of_person(&self.store, person).await? {
            let said = match &*origin.quote {
                "" => words::wrote(),
                quote => words::quote(quote),
            };
            from.insert(origin.memory_id, (origin.turn_id, said));
        }
        let memories = timeline::memories(&self.store, person, ROWS).await?;
        let line = |(key, kind, scope, text, at): (MemoryId, String, String, String, i64)| {
            let origin = match from.remove(&key) {
                Some((turn, said)) => Cell::Link(said, format!("/turn/{turn}")),
                None => Cell::Text(String::new()),
            };
            let fields = vec![(words::what(), text.clone())];
            let cells = vec![text.into(), kind.into(), scope.into(), view.moment(at).into(), origin];
            TableRow {
                edit: Some(Edit { act: PageAction::EditMemory, key: key.to_string(), fields }),
                ..row(cells, Some((PageAction::DeleteMemory, key.to_string())))
            }
        };
        Ok(table(
            (words::memories(), words::no_memories()),
            [words::what(), words::kind(), words::meant_for(), words::since(), words::from()],
            memories.into_iter().map(line),
        ))
    }

    /// The memories that a person asked for, each with its turn.
    async fn saved_by_request(&self, person: &PersonId) -> Result<HashMap<MemoryId, (TurnId, String)>> {
        let mut saved = HashMap::new();
        for (turn, data) in timeline::remembered_in(&self.store, person, 5 * ROWS).await? {
            let data: serde_json::Value = serde_json::from_str(&data).unwrap_or_default();
            if let Some(id) = data["id"].as_str() {
                saved.insert(id.into(), (turn, words::asked_to_remember()));
            }
        }
        Ok(saved)
    }

    async fn done_tasks(&self, person: &PersonId) -> Result<Table> {
        let done = tasks::done_since(&self.store, person, self.store.now() - DONE_MS).await?.into_iter();
        Ok(table(
            (words::done_lately(), words::nothing_done()),
            [words::task()],
            done.map(|task| row(texts([task.title]), Some((PageAction::ReopenTask, task.id.to_string())))),
        ))
    }

    async fn sent_files(&self, view: &ViewerContext<'_>, person: &PersonId) -> Result<Table> {
        let line = |file: files::FileRow| {
            let (size, since) = (words::kilobytes((file.bytes + 999) / 1000), view.moment(file.created_at));
            let name = match file.problem.is_none_or(FileProblem::is_kept) {
                true => Cell::Link(file.name, format!("/sent/{}", file.id)),
                false => Cell::Text(file.name),
            };
            row(vec![name, file.kind.to_string().into(), size.into(), since.into()], None)
        };
        Ok(table(
            (words::files(), words::no_files()),
            [words::name(), words::kind(), words::size(), words::since()],
            files::of_person(&self.store, person, ROWS).await?.into_iter().map(line),
        ))
    }

    pub(super) async fn system_tables(&self, viewer: &Viewer) -> Result<Vec<Table>> {
        let (store, view) = (&self.store, self.view(viewer).await?);
        let dead = dead::replies(store, ROWS).await?.into_iter().map(|(key, channel, text, error, at)| {
            let why = error.unwrap_or_default();
            let cells = vec![view.moment(at).into(), channel.into(), short(&text).into(), why.into()];
            row(cells, Some((PageAction::Retry, key.to_string())))
        });
        let strangers = access::open_codes(store).await?.into_iter().filter(|code| code.user_id.is_some());
        let strangers = strangers.map(|code| {
            let (name, channel) = (code.name.unwrap_or_default(), code.channel.unwrap_or_default());
            let cells = vec![name.into(), channel.into(), view.moment(code.expires_at).into()];
            row(cells, Some((PageAction::Approve, code.code)))
        });
        Ok(vec![
            table(
                (words::problems(), words::no_problems()),
                [words::what()],
                self.problems().await?.into_iter().map(|what| row(texts([what]), None)),
            ),
            table(
                (words::access_requests(), words::no_access_requests()),
                [words::name(), words::channel(), words::until()],
                strangers,
            ),
            table(
                (words::undelivered(), words::all_delivered()),
                [words::when(), words::channel(), words::text(), words::why()],
                dead,
            ),
            self.rooms().await?,
            self.instances(&view).await?,
            self.leases().await?,
            self.servers(),
            self.logs(&view),
        ])
    }

    /// What somebody should look at.
    async fn problems(&self) -> Result<Vec<String>> {
        let (store, now) = (&self.store, self.store.now());
        let mut problems: Vec<String> =
            self.health.errors().into_iter().map(|(name, why)| format!("{name}: {why}")).collect();
        for broken in check::findings(store).await? {
            problems.push(format!("{} ({})", broken.rule, broken.rows.len()));
        }
        for (event, _) in dead::arrivals(store).await? {
            problems.push(words::set_aside(event));
        }
        let models = usage::by_model(store, now - LATELY_MS, now + 1).await?;
        let [calls, failed] =
            models.iter().fold([0, 0], |[calls, failed], model| [calls + model.calls, failed + model.failed]);
        problems.extend((failed > 0).then(|| words::model_fails(failed, calls)));
        let orchestrator = &self.conversations.orchestrator;
        let registry = orchestrator.skills.current();
        let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        let breakers = &orchestrator.agents.executor.breakers;
        for skill in skills.filter(|skill| breakers.peek(&skill.name, now).is_err()) {
            problems.push(words::resting_skill(&skill.name));
        }
        let catalogue = orchestrator.runner.workflows.current();
        problems.extend(catalogue.problems.iter().map(ToString::to_string));
        Ok(problems)
    }

    /// The name and the content of a file that the viewer sent.
    pub(super) async fn sent_file(
        &self,
        viewer: &Viewer,
        file: &FileId,
    ) -> Result<Option<(String, Vec<u8>)>> {
        let Some(row) = files::of_sender(&self.store, file, &viewer.person.as_str().into()).await? else {
            return Ok(None);
        };
        let folder = &self.conversations.services().files;
        let content = match folder.find(&self.store, file).await {
            Ok(path) => tokio::fs::read(path).await.ok(),
            Err(FolderError::Store(error)) => return Err(error),
            Err(FolderError::Gone | FolderError::Disk(_)) => None,
        };
        Ok(content.map(|content| (row.name, content)))
    }
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    one_line(text).chars().take(100).collect()
}
