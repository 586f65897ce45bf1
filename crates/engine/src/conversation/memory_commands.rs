//! `/memories`: what is remembered, where it comes from, and buttons to forget it.

use adjutant_chat::Choice;
use adjutant_chat::suggest::nearest;
use adjutant_l10n as l10n;
use adjutant_memory::{Asker, Forgetting, Found, Meant, SearchIn};
use adjutant_skills::builtin::undo::{Step, left};
use adjutant_store::executions::Closing;
use adjutant_store::inbox::InboxRow;
use adjutant_store::memories::{self, KnownRow};
use adjutant_store::outbox::Message;
use adjutant_store::people::{Conversation, Person};
use adjutant_store::{Batch, Result, people, taints};
use adjutant_turn::wording;
use adjutant_types::clock::{long_date, utc};
use chrono_tz::Tz;

use super::Conversations;

/// How many memories are shown at once; Discord takes no more buttons than 25.
const SHOWN: usize = 10;
/// How many memories, the newest, are looked through for what may be meant by mistyped words.
const NEWEST: usize = 1000;
/// How the id of a button begins that forgets a memory.
const BUTTON: &str = "memory:";

/// What follows the id where only what the memory was before is forgotten.
const BEFORE: &str = "before";

/// The command that a button below a list of memories stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    button.strip_prefix(BUTTON).map(|id| format!("/forget {id}"))
}

/// A memory with its number in the list.
type Numbered<'a> = (i64, &'a KnownRow);

/// Whose memories are meant, and where.
struct Remembered {
    here: Conversation,
    person: Person,
    zone: Tz,
}

impl Conversations {
    /// Shows a page of what may be recalled here, preferences and then the newest first.
    pub(super) async fn show_memories(&self, row: &InboxRow, page: &str) -> Result<()> {
        let page = page.parse().unwrap_or(1_i64);
        let page_size = i64::try_from(SHOWN).unwrap_or(i64::MAX);
        let before = (page.clamp(1, 10_000) - 1) * page_size;
        let Remembered { here, zone, .. } = &self.remembered(row).await?;
        let all = memories::with_origins(&self.store, &row.person_id, here, before + page_size + 1).await?;
        let shown: Vec<_> =
            (before + 1..).zip(all.iter().skip(usize::try_from(before).unwrap_or_default())).collect();
        let is_more = shown.len() > SHOWN;
        let shown = &shown[..shown.len().min(SHOWN)];
        let preferences = shown.iter().take_while(|(_, stored)| stored.memory.is_preference()).count();
        let lines = lines(shown, *zone);
        let lists = lines.split_at(preferences);
        let text = wording::memories::list(lists, is_more.then_some(page + 1), here.shared);
        self.reply_with(row, with_buttons(text, shown), Batch::new()).await
    }

    /// Forgets the memory of this id, or shows which ones may be meant by its number or words.
    pub(super) async fn forget_memory(&self, row: &InboxRow, asked: &str) -> Result<()> {
        if asked.is_empty() {
            return self.show_memories(row, "").await;
        }
        let remembered = self.remembered(row).await?;
        let Remembered { person, here, zone } = &remembered;
        let rows = memories::with_origins(&self.store, &person.id, here, 100_000).await?;
        let (id, is_past) = match asked.rsplit_once(' ') {
            Some((id, BEFORE)) => (id, true),
            _ => (asked, false),
        };
        let memory = rows.iter().find(|stored| stored.memory.id.eq_ignore_ascii_case(id));
        let forgotten = memory.and_then(|stored| match is_past {
            true => Meant::past_of(stored.memory.clone()),
            false => Some(Meant::all(stored.memory.clone())),
        });
        let Some(forgotten) = forgotten else {
            let shown = self.meant(&remembered, &rows, asked).await?;
            let text = match &shown[..] {
                [] => l10n::memories::no_such_memory(),
                shown => wording::memories::which(&lines(shown, *zone)),
            };
            let mut message = with_buttons(text, &shown);
            message.choices.extend(shown.iter().filter_map(|shown| of_the_past(shown, asked)));
            return self.reply_with(row, message, Batch::new()).await;
        };
        let mut batch = Batch::new();
        let asked = Forgetting { person: &person.id, here: Some(here), zone: *zone };
        let messages =
            adjutant_memory::forget(&self.store, asked, std::slice::from_ref(&forgotten), None, &mut batch)
                .await?;
        let rest = forgotten.rest().map(|rest| rest.text);
        let text = wording::memories::forgotten(&forgotten.text(), rest.as_deref(), messages);
        let taint = taints::of(&self.store, "memory", &forgotten.memory.id).await?;
        let closing = Closing {
            result: Some(text.clone()),
            undo: left(&[Step::forgotten(&forgotten, None)]).map(|steps| steps.to_string()),
            untrusted: !taint.is_clean(),
            taint,
            ..Closing::default()
        };
        let turn = self.add_press(&mut batch, row, ("memory.forget", &closing));
        memories::forget_own_turn(&mut batch, &turn, self.store.now());
        self.reply_with(row, Message { turn: Some(turn), text, ..Message::default() }, batch).await
    }

    async fn remembered(&self, row: &InboxRow) -> Result<Remembered> {
        let here = people::conversation_by_id(&self.store, &row.conversation_id).await?;
        let person = people::person_by_id(&self.store, &row.person_id).await?;
        let zone = self.zone_of(&person);
        Ok(Remembered { here, person, zone })
    }

    /// The memories that may be meant by a number of the list, or by words.
    async fn meant<'a>(
        &self,
        Remembered { person, here, zone }: &Remembered,
        rows: &'a [KnownRow],
        asked: &str,
    ) -> Result<Vec<Numbered<'a>>> {
        let all = || (1_i64..).zip(rows);
        if let Ok(number) = asked.parse::<i64>() {
            return Ok(all().filter(|(at, _)| *at == number).collect());
        }
        let services = &self.orchestrator.agents.executor.services;
        let vectors = services.vectors.as_deref();
        let asker = Asker { person: &person.id, here, zone: *zone, vectors, fade: services.fade };
        let found = adjutant_memory::search(&self.store, asker, asked, SearchIn::Memories, "", SHOWN).await?;
        let found = found.into_iter().filter_map(Found::memory);
        let found: Vec<_> =
            found.filter_map(|found| all().find(|(_, stored)| stored.memory.id == found.id)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let is_near = |(_, stored): &Numbered<'_>| has_word_like(&stored.memory.text, asked);
        Ok(all().take(NEWEST).filter(is_near).take(SHOWN).collect())
    }
}

/// Whether a text has a word that one of these may be with a typo.
fn has_word_like(text: &str, typed: &str) -> bool {
    let words = || text.split(|char: char| !char.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let mut typed = typed.split_whitespace().filter(|word| word.chars().count() > 3);
    typed.any(|word| nearest(word, words()).is_some())
}

fn lines(shown: &[Numbered<'_>], zone: Tz) -> Vec<String> {
    let day = |at: i64| long_date(&utc(at).with_timezone(&zone));
    let line = |(number, stored): &Numbered<'_>| {
        wording::memories::line(*number, stored, &day(stored.memory.created_at))
    };
    shown.iter().map(line).collect()
}

fn with_buttons(text: String, shown: &[Numbered<'_>]) -> Message {
    let choice = |(number, stored): &Numbered<'_>| Choice {
        id: format!("{BUTTON}{}", stored.memory.id),
        label: l10n::memories::forget(number),
    };
    Message { text, choices: shown.iter().map(choice).collect(), ..Message::default() }
}

/// A button that forgets only what a memory was before, where these words are of that alone.
fn of_the_past((number, stored): &Numbered<'_>, words: &str) -> Option<Choice> {
    let meant = adjutant_memory::meant(vec![stored.memory.clone()], words).pop()?;
    meant.past.is_some().then(|| Choice {
        id: format!("{BUTTON}{} {BEFORE}", stored.memory.id),
        label: l10n::memories::forget_past(number),
    })
}
