//! A person's things, the system, and what can be done with them.

use adjutant_engine::conversation::watches::source_of;
use adjutant_files::FolderError;
use adjutant_l10n::{page, page_tables};
use adjutant_memory::{Forgetting, Meant};
use adjutant_skills::builtin::short_id;
use adjutant_skills::builtin::watches::{change, described, new_row};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{
    Batch, StoreError, access, check, dead, files, memories, people, rules, runs, schedules, tasks,
};
use adjutant_types::invisible_chars::line;
use adjutant_types::watches::MAX_WATCHES;
use adjutant_types::{Bounds, FileId, FileProblem, PersonId, TaskState, WatchTrigger};
use adjutant_web::views::{Cell, PageAction, Table, TableRow, Viewer};
use adjutant_workflows::trace::one_line;

use super::WebBackend;
use super::view::ViewerContext;

/// The longest name that a watch is for, in characters.
const MAX_FROM: usize = 50;
/// How many rows a table has.
const ROWS: i64 = 200;
/// The longest title of a new task, in characters.
const TITLE: usize = 200;

pub(super) fn row(cells: Vec<Cell>, act: Option<(PageAction, String)>) -> TableRow {
    TableRow { cells, acts: act.into_iter().collect() }
}

/// Cells of texts alone.
pub(super) fn texts<const N: usize>(texts: [String; N]) -> Vec<Cell> {
    texts.into_iter().map(Cell::Text).collect()
}

impl WebBackend {
    pub(super) async fn things_of(&self, viewer: &Viewer) -> Result<Vec<Table>, StoreError> {
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let view = self.view(viewer).await?;
        let open = tasks::of_person(store, &person, Some(TaskState::Open), ROWS).await?;
        let task = |task: tasks::TaskRow| {
            let key = task.id.to_string();
            // One that repeats is completed in the chat, which says when it is due again.
            let complete = task.recurrence.is_none().then(|| (PageAction::CompleteTask, key.clone()));
            let acts = complete.into_iter().chain([(PageAction::DeleteTask, key)]).collect();
            let cells = texts([task.title, task.due.unwrap_or_default(), task.priority.to_string()]);
            TableRow { cells, acts }
        };
        let schedule = |schedule: schedules::ScheduleRow| {
            let next = view.moment(schedule.next_at);
            let cells = vec![
                schedule.text.into(),
                schedule.rule.into(),
                next.into(),
                schedule.state.to_string().into(),
            ];
            row(cells, Some((PageAction::DeleteSchedule, schedule.id.to_string())))
        };
        let watch = |watch: WatchRow| {
            let cells = texts([described(&watch), watch.words.clone(), watch.state.to_string()]);
            row(cells, Some((PageAction::StopWatch, watch.id.to_string())))
        };
        let rule = |rule: rules::RuleRow| {
            let used = page::used_of(rule.used, rule.most_uses);
            let (since, until) = (view.moment(rule.created_at), view.moment(rule.expires_at));
            let cells = vec![rule.in_words().into(), since.into(), until.into(), used.into()];
            row(cells, Some((PageAction::EndRule, rule.id.to_string())))
        };
        Ok(vec![
            Table {
                title: page_tables::tasks(),
                empty: page_tables::no_tasks(),
                columns: vec![page_tables::task(), page_tables::due(), page_tables::priority()],
                rows: open.into_iter().map(task).collect(),
                field: Some((PageAction::AddTask, page_tables::new_task())),
            },
            Table {
                title: page_tables::schedules(),
                empty: page_tables::no_schedules(),
                columns: vec![
                    page_tables::what(),
                    page_tables::when(),
                    page_tables::next(),
                    page_tables::status(),
                ],
                rows: schedules::of_person(store, &person).await?.into_iter().map(schedule).collect(),
                ..Table::default()
            },
            Table {
                title: page_tables::watches(),
                empty: page_tables::no_watches(),
                columns: vec![page_tables::what(), page_tables::then(), page_tables::status()],
                rows: watches::of_person(store, &person).await?.into_iter().map(watch).collect(),
                ..Table::default()
            },
            self.memories(&view, &person).await?,
            Table {
                title: page_tables::allowed(),
                empty: page_tables::nothing_allowed(),
                columns: vec![
                    page_tables::what(),
                    page_tables::since(),
                    page_tables::until(),
                    page_tables::used(),
                ],
                rows: rules::of_person(store, &person).await?.into_iter().map(rule).collect(),
                ..Table::default()
            },
            self.sent_files(&view, &person).await?,
        ])
    }

    async fn sent_files(&self, view: &ViewerContext<'_>, person: &PersonId) -> Result<Table, StoreError> {
        let line = |file: files::FileRow| {
            let (size, since) =
                (page_tables::kilobytes((file.bytes + 999) / 1000), view.moment(file.created_at));
            let name = match file.problem.is_none_or(FileProblem::is_kept) {
                true => Cell::Link(file.name, format!("/sent/{}", file.id)),
                false => Cell::Text(file.name),
            };
            row(vec![name, file.kind.to_string().into(), size.into(), since.into()], None)
        };
        Ok(Table {
            title: page_tables::files(),
            empty: page_tables::no_files(),
            columns: vec![
                page_tables::name(),
                page_tables::kind(),
                page_tables::size(),
                page_tables::since(),
            ],
            rows: files::of_person(&self.store, person, ROWS).await?.into_iter().map(line).collect(),
            ..Table::default()
        })
    }

    pub(super) async fn system_tables(&self, viewer: &Viewer) -> Result<Vec<Table>, StoreError> {
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
            Table {
                title: page_tables::problems(),
                empty: page_tables::no_problems(),
                columns: vec![page_tables::what()],
                rows: self.problems().await?.into_iter().map(|what| row(texts([what]), None)).collect(),
                ..Table::default()
            },
            Table {
                title: page_tables::access_requests(),
                empty: page_tables::no_access_requests(),
                columns: vec![page_tables::name(), page_tables::channel(), page_tables::until()],
                rows: strangers.collect(),
                ..Table::default()
            },
            Table {
                title: page_tables::undelivered(),
                empty: page_tables::all_delivered(),
                columns: vec![
                    page_tables::when(),
                    page_tables::channel(),
                    page_tables::text(),
                    page_tables::why(),
                ],
                rows: dead.collect(),
                ..Table::default()
            },
            self.instances(&view).await?,
            self.leases().await?,
            self.servers(),
            self.logs(&view),
        ])
    }

    /// What somebody should look at.
    async fn problems(&self) -> Result<Vec<String>, StoreError> {
        let (store, now) = (&self.store, self.store.now());
        let mut problems: Vec<String> =
            self.health.errors().into_iter().map(|(name, why)| format!("{name}: {why}")).collect();
        for broken in check::findings(store).await? {
            problems.push(format!("{} ({})", broken.rule, broken.rows.len()));
        }
        for (event, _) in dead::arrivals(store).await? {
            problems.push(page_tables::set_aside(event));
        }
        let orchestrator = &self.conversations.orchestrator;
        let registry = orchestrator.skills.current();
        let skills = registry.domains().iter().flat_map(|domain| &domain.skills);
        let breakers = &orchestrator.agents.executor.breakers;
        for skill in skills.filter(|skill| breakers.peek(&skill.name, now).is_err()) {
            problems.push(page_tables::resting_skill(&skill.name));
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
    ) -> Result<Option<(String, Vec<u8>)>, StoreError> {
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

    /// Adds a watch that tells of email. The form's own button is the yes.
    async fn add_watch(&self, person: &PersonId, from: &str) -> Result<bool, StoreError> {
        let (store, from) = (&self.store, line(from, MAX_FROM));
        let source = source_of(store, self.live.initial(), WatchTrigger::Mail, person).await?;
        let here = people::last_direct_conversation(store, person).await?;
        let is_full = watches::of_person(store, person).await?.len() >= MAX_WATCHES;
        let (Some(source), Some(here), false) = (source, here, is_full) else { return Ok(false) };
        let mut row = new_row(store, (&here, person), source);
        match from.as_str() {
            "" => row.bounds.every_s = Bounds::MIN_EVERY_S_OF_ALL,
            _ => row.condition.from.push(from),
        }
        let mut batch = Batch::new();
        watches::insert(&mut batch, &row);
        store.write(batch).await?;
        Ok(true)
    }

    pub(super) async fn do_act(
        &self,
        viewer: &Viewer,
        act: PageAction,
        key: &str,
    ) -> Result<bool, StoreError> {
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let mut batch = Batch::new();
        match act {
            PageAction::AddTask => {
                let title = line(key, TITLE);
                if title.is_empty() {
                    return Ok(false);
                }
                let task = tasks::TaskRow::new(short_id(store), person, title, store.now());
                tasks::insert(&mut batch, &task);
            }
            PageAction::CompleteTask => {
                let task = tasks::by_id(store, &person, &key.into()).await?;
                if task.is_none_or(|task| task.recurrence.is_some()) {
                    return Ok(false);
                }
                tasks::complete(&mut batch, &key.into(), store.now());
            }
            PageAction::DeleteTask => {
                if tasks::by_id(store, &person, &key.into()).await?.is_none() {
                    return Ok(false);
                }
                tasks::delete(&mut batch, &key.into());
            }
            PageAction::DeleteSchedule => {
                let own = schedules::of_person(store, &person).await?;
                if !own.iter().any(|schedule| schedule.id.as_str() == key) {
                    return Ok(false);
                }
                schedules::delete(&mut batch, &key.into());
            }
            PageAction::DeleteMemory => {
                let Some(memory) = memories::by_id(store, &person, &key.into()).await? else {
                    return Ok(false);
                };
                let zone = self.conversations.zone_of(&people::person_by_id(store, &person).await?);
                let asked = Forgetting { person: &person, here: None, zone };
                adjutant_memory::forget(store, asked, &[Meant::all(memory)], None, &mut batch).await?;
            }
            PageAction::DeletePlan => {
                let Some((row, _)) = self.own_plan(viewer, key).await? else { return Ok(false) };
                runs::delete_plan(&mut batch, &row.id);
            }
            PageAction::StopWatch => {
                let watch = watches::by_id(store, &key.into()).await?;
                let Some(watch) = watch.filter(|watch| watch.person_id == person) else { return Ok(false) };
                change(&mut batch, &watch, None, store.now());
            }
            PageAction::WatchMail => return self.add_watch(&person, key).await,
            PageAction::EndRule => rules::end(&mut batch, &person, &key.into(), store.now()),
            PageAction::CancelPlan => return Ok(false),
            PageAction::Retry | PageAction::Approve if !viewer.is_owner => return Ok(false),
            PageAction::Retry => return dead::retry(store, &key.into()).await,
            PageAction::Approve => return Ok(access::approve(store, key).await?.is_some()),
        }
        match store.write(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::Stale(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    one_line(text).chars().take(100).collect()
}
