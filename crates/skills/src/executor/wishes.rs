//! The clean room: a model reads what the person asked for from their own words alone.
//!
//! The request holds this turn's message, a few of theirs before it, the kinds of effects, and labels of what the system
//! showed ("mail 2"), never its text; right after a question, the kind of effect that it was about. So nothing that
//! others wrote can make a wish, however obedient the model is.
//!
//! - A turn makes the call only after it has read text from outside, and once; again if the person has added something
//!   while it runs. The answer is stored with the turn.
//! - If the model fails, is late or talks nonsense, nothing was wished for, and effects ask.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_models::{Message, Request, Role, SharedModel};
use adjutant_store::executions::{ExecutionRow, PersonsResult};
use adjutant_store::questions::QuestionRow;
use adjutant_store::watches::{self, TurnItems, WatchRow};
use adjutant_store::{StoreError, executions, inbox, outbox, questions, turns};
use adjutant_turn::journal::{TurnContext, WishBook};
use adjutant_turn::trust::{Action, ActionKind, OwnWords, Shown, Thing, WishFailure, Wishes};
use adjutant_types::clock::duration::parse_event;
use adjutant_types::clock::spoken::Named;
use adjutant_types::clock::utc;
use adjutant_types::clock::when::When;
use adjutant_types::text::words;
use adjutant_types::{Basis, ExecutionKind, ExecutionStatus, ItemNoun, PromptText, QuestionKind, WatchState};
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::approval_policy::{handler_in, kind};
use crate::builtin::watches::{found_thing, read_later};
use crate::{Registry, Skill};

const PATIENCE: Duration = Duration::from_secs(15);
/// The most of a message that is read, in bytes; of a longer one its beginning and its end.
const MAX_MESSAGE: usize = 3_000;
/// How many results may have shown what the person points at.
const RESULTS: i64 = 30;

const INSTRUCTIONS: &str = "You read what a person asks their assistant to do. Answer with JSON alone: \
    {\"wishes\":[{\"kind\":\"...\",\"count\":1,\"targets\":[\"...\"],\"text\":\"...\"}]}, one wish for each thing they want \
    done. To be told, shown or asked something is no wish; neither are statements, questions and thanks: {\"wishes\":[]}. \
    kind: task.create (also reminders and list items), task.change (also done), task.delete, event.create, event.change, \
    event.delete, mail.send, mail.reply, mail.forward, mail.draft, mail.sort (move, archive, mark, delete), contact.create, \
    contact.change, memory.save, memory.forget, schedule.create (again and again), schedule.change, schedule.delete, \
    watch.create (tell me when, whenever), watch.change, note.write, post.send, page.open, web.search, undo, \
    workflow.run, tool.use (a service). \
    count: a number, or \"each\" for all, every, them. targets: who gets it, and what is changed, forwarded, deleted or \
    used, each in their words without articles, for a pronoun the name from an earlier message, or a label of what they \
    were shown; for schedule.create and schedule.change the time as a cron pattern, and beside them \"only_if_news\":true \
    if they want to hear nothing of a run without any. text: the title or text of what is made, in their words and \
    language; keep every \"not\". An earlier message counts only if the last one refers to it.";

/// How our answers offer something, and the verbs and nouns for what they may so make or change of the person's own.
const OFFERS: [&str; 5] = ["shall i", "should i", "want me to", "like me to", "soll ich"];
const MAKING: &str = "add put create make set remind write setzen hinzufügen eintragen anlegen";
const ADDING: &str = "add create hinzufügen eintragen anlegen";
/// The same of what takes a length at one time.
const PUTTING: &str = "add create put block hinzufügen eintragen blocken";
/// How long an event is of which nobody says that.
const USUAL: Duration = Duration::from_hours(1);
const MADE: [(ActionKind, &str); 3] = [
    (ActionKind::TaskCreate, "task tasks list remind reminder aufgabe aufgaben liste erinnern"),
    (ActionKind::EventCreate, "calendar event kalender termin"),
    (ActionKind::NoteWrite, "note notes notiz notizen"),
];
const DRAFTING: &str = "draft write prepare make schreiben entwerfen vorbereiten anlegen";
const DRAFTED: &str = "draft answer reply entwurf antwort";
const COMPLETING: &str = "mark complete abhaken erledigen markieren";
const CHANGING: &str = "move reschedule postpone change rename archive restore verschieben verlegen ändern \
    umbenennen archivieren zurücklegen zurückverschieben";
const CHANGED: [ActionKind; 3] = [ActionKind::TaskChange, ActionKind::EventChange, ActionKind::MailSort];
const SEVERAL: &str = "them these those both all sie beide alle";
/// What is right behind the verb where each event of a series is meant, or in German what the offer begins with.
const EVERY: &str = "all every each alle jede jeden jedes";
const QUOTES: [char; 6] = ['“', '”', '„', '"', '«', '»'];
/// What ends a sentence, and the words that a dot only shortens.
const ENDS: [char; 4] = ['.', '!', ':', '\n'];
const SHORT: &str = "dr mr mrs ms st nr ca bzw prof";
/// What denies something; "t" is that of "don't".
const NOT: &str = "not t dont cannot never no none nothing nobody neither nor without except stop avoid skip nicht \
    nichts kein keine keinen keinem keiner nie niemals niemand ohne außer";

/// What right after a question follows the kind of effect that it was about.
const CHANGE: &str = "If the last message wants this done, with a change, that is a wish of this kind, with the target \
    \"same\" if everybody and everything it is for stays, and \"other NAME\" for another one of that name. A no is none.";

/// The same of the kinds of effects that wait for that one.
const BEHIND: &str = "With that wish, they are wished for, too, as the message before it says.";

/// The wishes of this turn's person, read once.
pub(super) async fn of<'s>(
    ctx: &'s TurnContext,
    registry: &Registry,
    model: &SharedModel,
) -> Result<&'s WishBook, StoreError> {
    let read = || async {
        let wishes = match stored(ctx).await? {
            Some(stored) if stored.read.is_none_or(|read| read >= length(ctx)) => stored,
            before => ask_and_store(ctx, registry, model, before).await?,
        };
        let rows = executions::of_turn(&ctx.store, &ctx.turn.id).await?;
        let book = WishBook::new(wishes, &rows);
        // What a yes to an offer settled before they were read is done for them, too.
        for row in rows.iter().filter(|row| row.basis == Some(Basis::OwnWords)) {
            let skill = row.skill.as_deref().filter(|_| row.status != ExecutionStatus::Failed);
            let kind = skill.and_then(|name| kind(registry.get(name)?));
            let action = kind.map(|kind| Action { kind, targets: Vec::new() });
            let asks =
                |action: Action| book.wishes.all.iter().position(|wish| action.is_asked_for_by(wish.kind));
            book.take(1, |_| ((), action.and_then(asks)));
        }
        Ok(book)
    };
    ctx.trust.wishes.get_or_try_init(read).await
}

/// The wishes as far as they were read, also before the turn waited for a yes.
pub(super) async fn stored(ctx: &TurnContext) -> Result<Option<Wishes>, StoreError> {
    let stored = turns::wishes(&ctx.store, &ctx.turn.id).await?;
    let nonsense = |_| Wishes::failed(WishFailure::Nonsense);
    Ok(stored.map(|stored| serde_json::from_str(&stored).unwrap_or_else(nonsense)))
}

fn length(ctx: &TurnContext) -> usize {
    ctx.trust.own_text.as_deref().map_or(0, str::len)
}

async fn ask_and_store(
    ctx: &TurnContext,
    registry: &Registry,
    model: &SharedModel,
    before: Option<Wishes>,
) -> Result<Wishes, StoreError> {
    // Text of other people holds no wishes, and those of a watch were read when it was made.
    let wishes = match (ctx.watch(), &ctx.trust.own_text) {
        (Some(found), own_text) => of_watch(ctx, model, found, own_text.as_deref()).await?,
        (None, Some(_)) if !is_beside_question(ctx).await? => ask(ctx, registry, model).await?,
        (None, _) => Wishes::default(),
    };
    let is_more = before.is_some();
    let wishes = Wishes { read: Some(length(ctx)), ..wishes.after(before.unwrap_or_default()) };
    let mut batch = ctx.batch();
    let json = serde_json::to_string(&wishes).unwrap_or_default();
    turns::set_wishes(&mut batch, &ctx.turn.id, &json, is_more);
    ctx.store.write(batch).await?;
    Ok(wishes)
}

/// Whether the person says a bare yes while a question waits: it is for an offer alone, and would read as one to the question.
async fn is_beside_question(ctx: &TurnContext) -> Result<bool, StoreError> {
    let turn = &ctx.turn;
    let (open, _) = match turn.is_yes {
        true => questions::open_and_read(&ctx.store, &turn.conversation.id).await?,
        false => return Ok(false),
    };
    Ok(open.iter().any(|question| question.turn_id != turn.id))
}

/// The wishes of a watch for each thing that it tells now; none if it was paused or deleted, or its words have changed.
/// If none were read yet, they are now, and the person hears what it may do; a model that makes no sense isn't asked again.
async fn of_watch(
    ctx: &TurnContext,
    model: &SharedModel,
    found: &TurnItems,
    words: Option<&str>,
) -> Result<Wishes, StoreError> {
    let Some(watch) = &found.watch else { return Ok(Wishes::default()) };
    let now = watches::by_id(&ctx.store, &watch.id).await?;
    let is_same = |now: &WatchRow| now.state != WatchState::Paused && Some(now.words.as_str()) == words;
    let Some(now) = now.filter(is_same) else { return Ok(Wishes::default()) };
    let mut wishes: Wishes = serde_json::from_str(&now.wishes).unwrap_or_default();
    if wishes.read == Some(0) {
        let read = of_words(ctx, model, &now.words).await?;
        if matches!(read.failure, None | Some(WishFailure::Nonsense)) {
            let mut batch = ctx.batch();
            watches::change(&mut batch, &now, &WatchRow { wishes: json!(read).to_string(), ..now.clone() });
            let told = read_later(&now, &read).into();
            outbox::say(&ctx.store, &mut batch, &ctx.turn.conversation.id, &outbox::anybody(), &told);
            if ctx.store.try_write(batch).await? {
                ctx.wake_delivery();
                wishes = read;
            }
        }
    }
    let things = u32::try_from(found.items.len()).unwrap_or(u32::MAX);
    for wish in &mut wishes.all {
        wish.count = wish.count.map(|count| count.saturating_mul(things));
    }
    Ok(wishes)
}

/// What a person wants done with each thing that a watch will find, read from their words for it alone.
pub(crate) async fn of_words(
    ctx: &TurnContext,
    model: &SharedModel,
    words: &str,
) -> Result<Wishes, StoreError> {
    let shown = "They will be shown one of these: mail, event, task, file. What they wait for has just come: that \
                 is no wish.";
    let mut wishes = ask_model(ctx, model, format!("{shown}\nNow: {}", Value::from(words))).await?;
    // The watch is made already, and its turns may make no other one.
    wishes.all.retain(|wish| !matches!(wish.kind.as_str().split('.').next(), Some("watch" | "schedule")));
    Ok(wishes)
}

async fn ask(ctx: &TurnContext, registry: &Registry, model: &SharedModel) -> Result<Wishes, StoreError> {
    let asked = match asked_about(ctx, registry).await? {
        Some((question, _, skill)) => {
            let rows = executions::of_turn(&ctx.store, &question.turn_id).await?;
            kind(skill).map(|kind| (kind, behind(registry, &rows)))
        }
        None => None,
    };
    let text = request_text(ctx.words().await?, &shown(ctx, registry).await?, asked.as_ref());
    ask_model(ctx, model, text).await
}

async fn ask_model(ctx: &TurnContext, model: &SharedModel, text: String) -> Result<Wishes, StoreError> {
    let request = Request {
        messages: vec![
            Message::new(Role::System, INSTRUCTIONS),
            Message::new(Role::User, PromptText::own(text)),
        ],
        ..Request::default()
    };
    let call = ctx.limits.ledger.background_call(&**model, "intent", &ctx.turn.conversation.id, &request);
    let failure = match tokio::time::timeout(PATIENCE, call).await {
        Err(_) => WishFailure::Late,
        Ok(called) => match called? {
            Some(Ok(response)) => return Ok(Wishes::read(&response.text)),
            Some(Err(error)) => {
                tracing::warn!(%error, "what the person asked for couldn't be read, so effects ask");
                WishFailure::Unanswered
            }
            None => WishFailure::Unanswered,
        },
    };
    Ok(Wishes::failed(failure))
}

/// The question that the person had before them when they wrote this turn's message, with its call and that call's skill.
pub(super) async fn asked_about<'r>(
    ctx: &TurnContext,
    registry: &'r Registry,
) -> Result<Option<(QuestionRow, ExecutionRow, &'r Skill)>, StoreError> {
    if !ctx.is_typed() {
        return Ok(None);
    }
    let asked = questions::before_message(&ctx.store, &ctx.turn.id).await?;
    // What a server asks is no effect of ours.
    let is_approval = |question: &QuestionRow| matches!(question.kind, QuestionKind::Approval { .. });
    let Some(question) = asked.filter(is_approval) else { return Ok(None) };
    let rows = executions::of_turn(&ctx.store, &question.turn_id).await?;
    let row = rows.into_iter().find(|row| question.execution_id.as_ref() == Some(&row.id));
    Ok(row.and_then(|row| {
        let skill = registry.get(row.skill.as_deref()?)?;
        Some((question, row, &**skill))
    }))
}

/// The kinds of effects of a turn that wait for another one, or did when the turn was withdrawn.
fn behind(registry: &Registry, rows: &[ExecutionRow]) -> Vec<ActionKind> {
    use ExecutionStatus::{Cancelled, Pending};
    let is_pending = |row: &&ExecutionRow| {
        let has_not_begun = matches!(row.status, Pending | Cancelled) && row.started_at.is_none();
        row.kind == ExecutionKind::Agent && has_not_begun
    };
    let kind_of = |row: &ExecutionRow| {
        let task: Value = serde_json::from_str(row.task.as_deref()?).ok()?;
        let waits = task["depends_on"].as_array().is_some_and(|needed| !needed.is_empty());
        kind(registry.get(task["skills"][0].as_str().filter(|_| waits)?)?)
    };
    rows.iter().filter(is_pending).filter_map(kind_of).collect()
}

/// What our last answer offered to make or change, if the person's message is a bare yes to it. They read it, whatever it
/// was made of. None if this turn has read anything from outside, or others may have said something in between.
pub(super) async fn offer(ctx: &TurnContext) -> Result<Option<Offer>, StoreError> {
    let (turn, has_more) = (&ctx.turn, ctx.trust.own_text.as_deref().is_none_or(|text| text.contains('\n')));
    let is_here = ctx.is_typed() && turn.found.is_none() && !turn.conversation.shared;
    if !turn.is_yes || has_more || !is_here || inbox::is_spoken(&ctx.store, &turn.id).await? {
        return Ok(None);
    }
    let told = outbox::told_before(&ctx.store, &turn.id).await?;
    Ok(told.and_then(|(text, at)| Offer::read(&text, utc(at).with_timezone(&turn.zone).naive_local())))
}

/// Whether an answer of ours ends with one offer that a yes may settle: to make or change something of the person's own.
pub fn is_offer(text: &str) -> bool {
    Offer::read(text, NaiveDateTime::default()).is_some_and(|offer| !offer.kinds.is_empty())
}

/// What the person has read and said yes to: an answer that offers one thing at its end, or a step of a plan.
pub(super) struct Offer {
    kinds: Vec<ActionKind>,
    completes: bool,
    is_for_several: bool,
    /// The first words of what is done, and of what to.
    object: String,
    /// Whether it may be about a single day, "Thursday's" too.
    names_day: bool,
    whole: OwnWords,
    asked: OwnWords,
    /// None where they aren't read: in a plan.
    times: Option<Named>,
}

impl Offer {
    /// `now` is when it was made, where the person is.
    fn read(text: &str, now: NaiveDateTime) -> Option<Self> {
        // Below it may be receipts, and what else is ours: no model's text has their marks.
        let receipts = text.find("\n\n✓").or_else(|| text.find("\n\n✗"));
        let text = &text[..receipts.unwrap_or(text.len())];
        let (before, "") = text.trim_end().split_once(['?', '？'])? else { return None };
        let before = before.to_lowercase();
        let is_whole =
            |(at, offer): &(usize, &str)| !before[at + offer.len()..].starts_with(char::is_alphanumeric);
        let mut offers = OFFERS.iter().flat_map(|offer| before.match_indices(*offer)).filter(is_whole);
        // One of two may be somebody else's.
        let (Some((at, offer)), None) = (offers.next(), offers.next()) else { return None };
        let begin = before[..at].rfind(ENDS).map_or(0, |end| end + 1);
        let (asked, said) = (&before[begin..], &before[at + offer.len()..]);
        // A link can hold words that nobody sees.
        let is_clear = !has(asked, "or oder") && !text.contains(['[', '<']) && !has_end(said);
        // A day in a title is none to move it to, unless a quotation mark has no other.
        let pieces: Vec<&str> = said.split(QUOTES).collect();
        let step = if pieces.len() % 2 == 1 { 2 } else { 1 };
        let unquoted = pieces.into_iter().step_by(step).collect::<Vec<_>>().join(" ");
        // A length before the question is that of something else.
        let Named { clocks, lengths, .. } = Named::read([&unquoted, "", ""], now);
        let count = (clocks.len(), lengths.len());
        let times = Named { lengths, ..Named::read([&unquoted, asked, text], now) };
        let mut offer = Self { times: Some(times), ..Self::of(text, asked, said) };
        offer.names_day = !Named::read([&said.replace('\'', " "), asked, text], now).days.is_empty();
        // What is added from one time to another, or for so long at one, is an event, if no noun says else.
        let does = |any| words(&offer.object).take(1).chain(words(said).last()).any(|word| has(word, any));
        let is_event = match count {
            (2, _) => does(ADDING),
            (1, 1) => does(PUTTING) && !has(said, "off"),
            _ => false,
        };
        if is_event && offer.kinds.is_empty() && !MADE.iter().any(|(_, nouns)| has(said, nouns)) {
            offer.kinds.push(ActionKind::EventCreate);
        }
        is_clear.then_some(offer)
    }

    /// `said` begins with what is done, or in German ends with it: "Shall I ask Bob to move it?" moves nothing. The words
    /// of `asked` count in any order.
    pub(super) fn of(whole: &str, asked: &str, said: &str) -> Self {
        let said = said.to_lowercase();
        let first = words(&said).find(|word| !has(word, "also then please")).unwrap_or_default();
        let last = words(&said).last().filter(|last| last.ends_with('n') && !has(&said, "zu dass ob"));
        let does = |any: &str| has(first, any) || last.is_some_and(|last| has(last, any));
        // "Set it to 15:00" makes nothing.
        let sets = said.trim_start().starts_with("set it to ");
        let (makes, completes) = ((does(MAKING) && !sets) || has(&said, "erinnern"), does(COMPLETING));
        let changes = completes || sets || does(CHANGING) || (does("put take") && has(&said, "back"));
        let mut made = MADE.iter().filter(|(_, nouns)| makes && has(&said, nouns));
        let one = match (made.next(), made.next()) {
            (Some((kind, _)), None) => Some(*kind),
            (None, _) if does(DRAFTING) && has(&said, DRAFTED) => Some(ActionKind::MailDraft),
            _ => None,
        };
        let object = words(&said).skip_while(|word| has(word, "also then please")).take(4);
        let object = object.collect::<Vec<_>>().join(" ");
        Self {
            kinds: one.into_iter().chain(CHANGED.into_iter().filter(|_| changes)).collect(),
            completes,
            is_for_several: has(&said, SEVERAL),
            object,
            names_day: true,
            whole: OwnWords::new([whole]),
            asked: OwnWords::new([asked]),
            times: None,
        }
    }

    pub(super) fn allows(&self, action: &Action, completes: bool) -> bool {
        let is_change = matches!(action.kind, ActionKind::TaskChange | ActionKind::EventChange);
        (!is_change || completes == self.completes)
            && self.kinds.iter().any(|kind| action.is_asked_for_by(*kind))
    }

    /// Whether it says a text, with every "not"; the question also in another order.
    pub(super) fn says(&self, text: &str) -> bool {
        (self.whole.hold_content(text) && denies_as(text, &self.whole)) || self.asks(text)
    }

    /// The same of a title, whose words may be from several sentences.
    pub(super) fn calls(&self, title: &str) -> bool {
        self.whole.hold_words(title) && denies_as(title, &self.whole)
    }

    /// Whether it is about each event of the series of this title, whose own "all" says nothing.
    pub(super) fn is_for_series(&self, title: &str) -> bool {
        let title = title.to_lowercase();
        let is_said = |word: &str, any: &str| has(word, any) && !has(&title, word);
        let is_named = has(&self.object, "whole entire ganze")
            && words(&self.object).any(|word| is_said(word, "series serie"));
        is_named || (!self.names_day && words(&self.object).take(2).any(|word| is_said(word, EVERY)))
    }

    /// Whether a call's times are those that it names, as far as it names any. What is no time, no skill takes for one.
    /// `lasts`: the event is as long as before, or as usual. Else the offer must name an end or a length.
    pub(super) fn allows_times(&self, given: &Value, zone: Tz, lasts: bool) -> bool {
        let Some(Named { days, clocks, lengths }) = &self.times else { return true };
        let is_clock = |time: NaiveTime, (clock, is_open): &(NaiveTime, bool)| {
            *clock == time || (*is_open && *clock + TimeDelta::hours(12) == time)
        };
        let is_named = |when: When, at_any_time: bool| {
            let (day, time) = (when.local().date(), when.local().time());
            let is_any = at_any_time || clocks.is_empty() || matches!(when, When::Day(_));
            (days.is_empty() || days.iter().any(|(first, last)| (*first..=*last).contains(&day)))
                && (is_any || clocks.iter().any(|clock| is_clock(time, clock)))
        };
        let read = |name: &str| When::parse(given[name].as_str()?, zone).ok();
        let (start, end) = (read("start"), read("end"));
        let is_day = |when: Option<When>| matches!(when, Some(When::Day(_)));
        let ends = clocks.len() > 1 || (days.len() > 1 && is_day(start) && is_day(end));
        // A new one goes from the first to the last, and is as long as they say.
        let names_other = if lengths.is_empty() { clocks.len() > 1 } else { !lengths.contains(&USUAL) };
        let is_new = given["id"].is_null() && start.is_some();
        let is_usual = is_new && end.is_none() && given["duration"].is_null();
        if (!clocks.is_empty() && (is_day(start) || given["all_day"].as_bool() == Some(true)))
            || (lengths.is_empty() && !ends && !lasts)
            || (is_usual && names_other)
        {
            return false;
        }
        match (start.or_else(|| read("due")), end) {
            // One clock time alone says nothing of the end's.
            (Some(start), Some(end)) if lengths.is_empty() => {
                is_named(start, false) && is_named(end, clocks.len() < 2)
            }
            (Some(start), Some(end)) => {
                let length = (end.ends() - start.local()).to_std();
                is_named(start, false) && length.is_ok_and(|length| lengths.contains(&length))
            }
            (start, end) => start.or(end).is_none_or(|when| is_named(when, false)),
        }
    }

    /// Whether it names a length, as an event's argument.
    pub(super) fn lasts(&self, length: &str) -> bool {
        let lengths = self.times.as_ref().map(|named| &named.lengths);
        parse_event(length).is_ok_and(|length| lengths.is_some_and(|lengths| lengths.contains(&length)))
    }

    pub(super) fn asks(&self, text: &str) -> bool {
        self.asked.hold_words(text) && denies_as(text, &self.asked)
    }

    /// Whether it is about the thing known by this id: its question names that, or else the answer, and nothing beside it.
    pub(super) fn means(&self, known: &str, shown: &Shown) -> bool {
        let named = |words: &OwnWords| {
            shown.rivals("mail").filter(|thing| words.hold_content(&thing.title)).collect::<Vec<_>>()
        };
        let (mut all, mut said) = (named(&self.asked), &self.asked);
        if all.is_empty() {
            (all, said) = (named(&self.whole), &self.whole);
        }
        let is_it = |thing: &&Thing| {
            // An email is known by its sender, too.
            thing.id.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(" from "))
                && denies_as(&thing.title, said)
        };
        // "Shall I move them" may not be meant of what it says "not" of.
        let is_for_all = self.is_for_several && denies_as("", &self.whole);
        all.iter().any(is_it) && (is_for_all || all.iter().all(is_it))
    }
}

/// Whether a sentence ends in a text: not within "14:00" or "2.30", nor behind "p.m.", "K." or "27.".
fn has_end(text: &str) -> bool {
    text.match_indices(ENDS).any(|(at, end)| {
        let word = text[..at].rsplit(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
        let is_day = matches!(word.len(), 1 | 2) && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_short = end == "." && (word.chars().count() == 1 || is_day || has(word, SHORT));
        let is_last = text[at + 1..].chars().next().is_none_or(char::is_whitespace);
        end == "\n" || (is_last && !is_short)
    })
}

/// Whether a text leaves out no "not" of these words.
fn denies_as(text: &str, said: &OwnWords) -> bool {
    let denied = |text: &str| words(&text.to_lowercase()).filter(|word| has(word, NOT)).count();
    denied(text) >= said.messages().map(denied).sum::<usize>()
}

fn has(text: &str, any: &str) -> bool {
    words(text).any(|word| any.split(' ').any(|other| other == word))
}

/// The person's words, as JSON texts, so that none of them can end its line.
fn request_text(words: &OwnWords, shown: &Shown, asked: Option<&(ActionKind, Vec<ActionKind>)>) -> String {
    let mut text = match shown.labels() {
        labels if labels.is_empty() => "They were shown nothing.".to_owned(),
        labels => format!("They were shown: {labels}."),
    };
    if let Some((kind, behind)) = asked {
        text.push_str(&format!("\nThey were asked: {kind}. {CHANGE}"));
        let behind: Vec<&str> = behind.iter().map(|kind| kind.as_str()).collect();
        if !behind.is_empty() {
            text.push_str(&format!(" Behind it waits: {}. {BEHIND}", behind.join(", ")));
        }
    }
    let messages: Vec<&str> = words.messages().collect();
    let [now, earlier @ ..] = messages.as_slice() else { return text };
    for before in earlier.iter().rev() {
        text.push_str(&format!("\nEarlier: {}", Value::from(ends(before, MAX_MESSAGE / 10))));
    }
    text.push_str(&format!("\nNow: {}", Value::from(ends(now, MAX_MESSAGE))));
    text
}

fn ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(max * 2 / 3), text.ceil_char_boundary(text.len() - max / 3));
    format!("{} … {}", &text[..head], &text[tail..])
}

/// The labels of what the turn began with, and of the results that the system showed this turn's person. In a watch's turn
/// nothing of the conversation can be meant.
pub(super) async fn shown(ctx: &TurnContext, registry: &Registry) -> Result<Shown, StoreError> {
    let here = (&ctx.turn.conversation.id, &ctx.turn.person.id);
    let mut before = match ctx.watch() {
        Some(_) => Vec::new(),
        None => executions::shown_to(&ctx.store, here, &ctx.turn.id, RESULTS).await?,
    };
    let rows = executions::of_turn(&ctx.store, &ctx.turn.id).await?;
    let result = |row: ExecutionRow| Some(PersonsResult { skill: row.skill?, data: row.data? });
    let is_done = |row: &ExecutionRow| row.status == ExecutionStatus::Completed;
    let found_now: Vec<PersonsResult> = rows.into_iter().filter(is_done).filter_map(result).collect();
    if let Some(found) = &ctx.turn.found {
        let items: Vec<Value> =
            found.items.iter().filter_map(|item| found_thing(item, ctx.turn.zone)).collect();
        let data = json!({"items": items}).to_string();
        before.insert(0, PersonsResult { skill: "watch.told".to_owned(), data });
    }
    let mut senders = BTreeMap::new();
    let mut read = |result: &PersonsResult| {
        let data: Value = serde_json::from_str(&result.data).unwrap_or_default();
        let mut things = |items: &[Value]| -> Vec<Thing> {
            let known = items.iter().filter_map(|item| {
                let thing = thing(handler_in(registry, &result.skill), item)?;
                if let Some(from) = item["from"][0].as_str().filter(|_| thing.noun == "mail") {
                    senders.insert(thing.id.clone(), from.to_owned());
                }
                Some(thing)
            });
            known.collect()
        };
        match data["items"].as_array() {
            Some(items) => (true, things(items)),
            None => (false, things(std::slice::from_ref(&data))),
        }
    };
    let mut shown = Shown::new(before.iter().map(&mut read)).with_found(found_now.iter().map(&mut read));
    shown.senders = senders;
    Ok(shown)
}

fn thing(skill: &str, item: &Value) -> Option<Thing> {
    let text = |name: &str| item[name].as_str().filter(|text| !text.is_empty());
    let noun = match skill.split_once('.')? {
        ("email", "attachment") | ("files", _) => "file",
        ("email", _) => "mail",
        ("calendar", _) => "event",
        ("tasks", _) => "task",
        ("contacts", _) => "contact",
        ("memory", _) => "memory",
        ("schedule", _) => "schedule",
        // What watches and briefings tell.
        ("watch", _) | ("assistant", "lines") => text("noun")?.parse::<ItemNoun>().ok()?.as_str(),
        _ => return None,
    };
    let id = text("id")?;
    // A Message-ID can be copied, so a mail is known by its sender, too.
    let id = match item["from"].get(0).and_then(Value::as_str) {
        Some(from) if noun == "mail" => mail_id(id, from),
        _ => id.to_owned(),
    };
    let title = text("title").or(text("subject")).or(text("name")).or(text("text")).unwrap_or_default();
    Some(Thing { noun, id, title: title.to_owned(), is_shared: false })
}

pub(crate) fn mail_id(mail: &str, from: &str) -> String {
    let address = from.rsplit_once('<').map_or(from, |(_, address)| address).trim_end_matches('>');
    format!("{mail} from {}", address.to_lowercase())
}

#[cfg(test)]
mod tests;
