//! The search over everything that a person has and said: what was said and is remembered by the words of the index, all
//! else by its own words.

use adjutant_l10n::{page_search, page_tables};
use adjutant_memory::{Asker, Found, SearchIn, has_all_words};
use adjutant_skills::builtin::watches::described;
use adjutant_store::memories::MemoryRow;
use adjutant_store::search::SaidRow;
use adjutant_store::{Result, files, people, schedules, tasks, watches};
use adjutant_types::text::shortened;
use adjutant_types::{FileProblem, PersonId, TaskState};
use adjutant_web::views::{Hit, Hits, PageAction, Viewer};
use adjutant_web::without_code;
use adjutant_workflows::trace::one_line;

use super::WebBackend;
use super::view::{ViewerContext, place};

/// How many of a kind are shown, and how many are looked at.
const SHOWN: usize = 20;
const ROWS: i64 = 200;
/// How much of a file's text is looked at, in bytes.
const CONTENT: usize = 20_000;
/// The longest line, in characters.
const LINE: usize = 160;

impl WebBackend {
    pub(super) async fn find(&self, viewer: &Viewer, query: &str) -> Result<Vec<Hits>> {
        let (store, person): (_, PersonId) = (&self.store, viewer.person.as_str().into());
        let view = self.view(viewer).await?;
        let hit = |text: &str, about: String, act: PageAction, key: &str| Hit {
            text: excerpt(text, query),
            about,
            at: None,
            to: format!("/things#{}-{key}", act.name()),
        };
        let (said, memories) = self.recalled(&view, query).await?;
        let memories = memories
            .into_iter()
            .map(|memory| hit(&memory.text, String::new(), PageAction::DeleteMemory, memory.id.as_str()));
        let open = tasks::of_person(store, &person, Some(TaskState::Open), ROWS).await?;
        let open = open
            .iter()
            .filter(|task| has_all_words(&format!("{} {} {}", task.title, task.notes, task.tags), query));
        let open = open.map(|task| {
            let due = view.due(task).map(|due| due.shown).unwrap_or_default();
            hit(&task.title, due, PageAction::DeleteTask, task.id.as_str())
        });
        let schedules = schedules::of_person(store, &person).await?;
        let schedules = schedules.iter().filter(|schedule| has_all_words(&schedule.text, query));
        let schedules = schedules.map(|schedule| {
            hit(&schedule.text, schedule.rule.clone(), PageAction::DeleteSchedule, schedule.id.as_str())
        });
        let watches = watches::of_person(store, &person).await?;
        let watches = watches.iter().map(|watch| (described(watch), watch));
        let watches =
            watches.filter(|(what, watch)| has_all_words(&format!("{what} {}", watch.words), query));
        let watches = watches
            .map(|(what, watch)| hit(&what, watch.words.clone(), PageAction::StopWatch, watch.id.as_str()));
        let groups = [
            (page_search::said(), said),
            (page_tables::tasks(), open.take(SHOWN).collect()),
            (page_tables::memories(), memories.take(SHOWN).collect()),
            (page_tables::notes(), self.found_notes(viewer, query, SHOWN).await),
            (page_tables::files(), self.found_files(&view, query).await?),
            (page_tables::schedules(), schedules.take(SHOWN).collect()),
            (page_tables::watches(), watches.take(SHOWN).collect()),
        ];
        let groups = groups.into_iter().map(|(title, hits)| Hits { title, hits });
        Ok(groups.filter(|group| !group.hits.is_empty()).collect())
    }

    /// What was said, with where it is, and what is remembered.
    async fn recalled(&self, view: &ViewerContext<'_>, query: &str) -> Result<(Vec<Hit>, Vec<MemoryRow>)> {
        let (store, person) = (&self.store, &view.viewer);
        let Some(here) = people::last_direct_conversation(store, person).await? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let here = people::conversation_by_id(store, &here).await?;
        let asker = Asker { person, here: &here, zone: view.zone, vectors: None, fade: None };
        let (mut said, mut memories) = (Vec::new(), Vec::new());
        for found in adjutant_memory::search(store, asker, query, SearchIn::Both, "", 2 * SHOWN).await? {
            match found {
                Found::Memory(row) => memories.push(row),
                Found::Said(row) => said.push(said_hit(view, row, query)),
            }
        }
        said.truncate(SHOWN);
        Ok((said, memories))
    }

    async fn found_files(&self, view: &ViewerContext<'_>, query: &str) -> Result<Vec<Hit>> {
        let all = files::of_person(&self.store, &view.viewer, ROWS).await?.into_iter();
        let stored = all.filter(|file| file.problem.is_none_or(FileProblem::is_kept));
        let found = stored.filter(|file| {
            let content = file.content.as_deref().unwrap_or_default();
            let content = &content[..content.floor_char_boundary(CONTENT)];
            has_all_words(&format!("{} {content}", file.name), query)
        });
        let hit = |file: files::FileRow| Hit {
            about: file.content.as_deref().map(|text| excerpt(text, query)).unwrap_or_default(),
            text: file.name,
            at: Some(view.moment(file.created_at)),
            to: format!("/sent/{}", file.id),
        };
        Ok(found.take(SHOWN).map(hit).collect())
    }
}

/// A turn as a hit that leads to it in its conversation.
fn said_hit(view: &ViewerContext<'_>, row: SaidRow, query: &str) -> Hit {
    let answer = excerpt(&row.answer.unwrap_or_default(), query);
    let about = [row.name, place(row.channel, row.shared), answer];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    Hit {
        text: excerpt(&row.text, query),
        about: about.join(" · "),
        at: Some(view.moment(row.started_at)),
        to: format!("/talk?before={}#turn-{}", row.seq + 1, row.id),
    }
}

/// The first line with one of the words, or else the first one.
pub(super) fn excerpt(text: &str, query: &str) -> String {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let has_one = |line: &&str| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    let filled = || text.lines().filter(|line| !line.trim().is_empty());
    let line = filled().find(has_one).or_else(|| filled().next()).unwrap_or_default();
    shortened(&without_code(&one_line(line)), LINE)
}
