//! Incoming messages, each stored once.

use adjutant_chat::{Mention, VoiceNote};
use adjutant_types::invisible_chars::display_name;
use adjutant_types::{ConversationId, Flag, InboxKind, InstanceId, PersonId, QuestionId, Taint, TurnId};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::files::SentFile;
use crate::{Batch, Result, Stale, Store, Value};

/// How many people and chats of one message are stored by name.
const MAX_MENTIONS: usize = 20;

/// How the name of a row begins that a watch brings: see [`crate::watches::event`].
pub const WATCH: &str = " watch:";
/// How the name of a row begins that a button under a telling or a briefing brings: the id of its thing follows, and a colon.
pub const LINE: &str = " line:";
/// How the name of a row begins that holds the rest of an answer: see [`add_rest`].
pub const REST: &str = " rest:";
/// How the name of a row begins that tells what its person did on the page.
pub const PAGE: &str = " page:";

/// Whether a schedule or a watch brought a row, and no person.
macro_rules! came_by_itself {
    ($event:literal) => {
        concat!("(", $event, " LIKE ' schedule:%' OR ", $event, " LIKE ' watch:%')")
    };
}
pub(crate) use came_by_itself;

/// Reads rows that wait.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, event, conversation_id, person_id, kind, text, taint, question_id, received_at, voice, files, \
             mentions, is_addressed FROM inbox i WHERE state = 'new' AND held = 0 ",
            $rest
        )
    };
}

/// A journalled message or button press.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct InboxRow {
    /// Order of arrival.
    pub id: i64,
    /// The channel and the platform's id of the message, with a space between.
    pub event: String,
    pub conversation_id: ConversationId,
    pub person_id: PersonId,
    /// A message is stored as `said`.
    pub kind: InboxKind,
    /// The text, or the button's id.
    pub text: String,
    /// The outside sources of the text; none where its author wrote it.
    pub taint: Taint,
    /// The question that a press or typed answer is for.
    pub question_id: Option<QuestionId>,
    pub received_at: i64,
    /// JSON: the voice note that it was spoken in, until the note is transcribed.
    pub voice: Option<String>,
    /// JSON: its files, until they are fetched.
    pub files: Option<String>,
    /// Whom and what it mentions: see [`mentions`].
    pub mentions: String,
    /// Whether it is for us: see [`is_addressed`].
    #[sqlx(try_from = "Flag")]
    pub is_addressed: bool,
}

/// A voice note that is still to be heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardNote {
    pub name: String,
    pub note: VoiceNote,
    /// The receipt of our message that it replies to.
    pub reply_to: Option<String>,
}

impl InboxRow {
    pub fn as_new<'a>(&'a self, instance: &'a InstanceId) -> NewRow<'a> {
        let here = (&self.conversation_id, &self.person_id);
        NewRow {
            kind: self.kind,
            question_id: self.question_id.clone(),
            voice: self.unheard(),
            files: self.unfetched(),
            mentions: self.mentions.clone(),
            is_addressed: self.is_addressed,
            ..NewRow::ours(self.event.clone(), here, &self.text, self.taint.clone(), instance)
        }
    }

    /// The files that are still to be fetched.
    pub fn unfetched(&self) -> Vec<SentFile> {
        self.files.as_deref().and_then(|files| serde_json::from_str(files).ok()).unwrap_or_default()
    }

    /// Whether nothing of it is still to be heard or fetched.
    pub fn is_whole(&self) -> bool {
        self.voice.is_none() && self.files.is_none()
    }

    /// Whether its writer's running turn may take it over.
    pub fn is_steering(&self) -> bool {
        let is_typed = self.kind == InboxKind::Message && !self.is_alone();
        is_typed && self.is_addressed && self.is_whole() && self.taint.is_clean()
    }

    /// Whether it runs beside the conversation.
    pub fn is_background(&self) -> bool {
        self.event.starts_with(WATCH) || is_spawn(&self.text)
    }

    /// Whether no other row may share its turn: it is about a thing from outside, or the rest of an answer.
    pub fn is_alone(&self) -> bool {
        [WATCH, LINE, REST].iter().any(|name| self.event.starts_with(name))
    }

    /// The voice note, until it is heard.
    pub fn unheard(&self) -> Option<UnheardNote> {
        serde_json::from_str(self.voice.as_deref()?).ok()
    }

    pub fn channel(&self) -> &str {
        self.event.split_once(' ').map_or("", |(channel, _)| channel)
    }

    /// [`Self::event_id`] of what arrived from a platform; none of a row of our own.
    pub fn platform_id(&self) -> Option<&str> {
        (!self.channel().is_empty()).then(|| self.event_id())
    }

    /// The platform's own id of the message.
    pub fn event_id(&self) -> &str {
        self.event.split_once(' ').map_or(self.event.as_str(), |(_, event)| event)
    }
}

/// Whether a message starts something that runs beside the conversation.
pub fn is_spawn(text: &str) -> bool {
    // In group chats platforms add our name: /spawn@adjutant_bot.
    text.strip_prefix("/spawn")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\t', '@']))
}

/// A row that isn't journalled yet: see [`InboxRow`], and [`Self::as_stored`].
#[derive(Debug, Clone)]
pub struct NewRow<'a> {
    pub event: String,
    pub conversation_id: &'a ConversationId,
    pub person_id: &'a PersonId,
    pub kind: InboxKind,
    pub text: &'a str,
    pub taint: Taint,
    pub question_id: Option<QuestionId>,
    pub instance: &'a InstanceId,
    pub voice: Option<UnheardNote>,
    pub files: Vec<SentFile>,
    pub mentions: String,
    pub is_addressed: bool,
}

impl<'a> NewRow<'a> {
    /// A typed text that arrives under a name of our own: no channel has an empty name, so no platform's message can have it.
    pub fn ours(
        event: String,
        (conversation, person): (&'a ConversationId, &'a PersonId),
        text: &'a str,
        taint: Taint,
        instance: &'a InstanceId,
    ) -> Self {
        Self {
            event,
            conversation_id: conversation,
            person_id: person,
            kind: InboxKind::Message,
            text,
            taint,
            question_id: None,
            instance,
            voice: None,
            files: Vec::new(),
            mentions: String::new(),
            is_addressed: true,
        }
    }

    /// Whether nothing of it is still to be heard or fetched.
    pub fn is_whole(&self) -> bool {
        self.voice.is_none() && self.files.is_empty()
    }

    pub fn as_stored(&self, id: i64, now: i64) -> InboxRow {
        InboxRow {
            id,
            event: self.event.clone(),
            conversation_id: self.conversation_id.clone(),
            person_id: self.person_id.clone(),
            kind: self.kind,
            text: self.text.to_owned(),
            taint: self.taint.clone(),
            question_id: self.question_id.clone(),
            received_at: now,
            voice: voice(self),
            files: files(self),
            mentions: self.mentions.clone(),
            is_addressed: self.is_addressed,
        }
    }
}

/// Journals a row. None when it was journalled before. After an error, the message must not be acknowledged.
pub async fn insert(store: &Store, row: &NewRow<'_>) -> Result<Option<InboxRow>> {
    let now = store.now();
    let mut batch = Batch::new();
    batch.returning(INSERT, arguments(row, false, now));
    let ids = store.write(batch).await?;
    Ok(ids.first().and_then(Value::as_int).map(|id| row.as_stored(id, now)))
}

/// Adds a message whose turn starts in the same batch, or a scheduled one. The whole batch fails if it was journalled before.
pub fn arrive(batch: &mut Batch, row: &NewRow<'_>, now: i64) {
    batch.must_return(Stale::MessageExists, INSERT, arguments(row, false, now));
}

/// Adds a stranger's message, which waits until its author is on the list. The batch fails if it was journalled before.
pub fn hold_back(batch: &mut Batch, row: &NewRow<'_>, now: i64) {
    batch.must_return(Stale::MessageExists, INSERT, arguments(row, true, now));
}

const INSERT: &str = "INSERT INTO inbox (event, conversation_id, person_id, kind, text, question_id, instance, held, \
                      received_at, taint, voice, spoken, files, mentions, is_addressed) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
                      ON CONFLICT (event) DO NOTHING RETURNING id";

/// Whom and what a message mentions, as models read it: a line for each. The names are text from outside.
pub fn mentions(all: &[Mention]) -> String {
    let line = |mention: &Mention| format!("{} is {}", mention.id, display_name(&mention.name));
    all.iter().take(MAX_MENTIONS).map(line).collect::<Vec<_>>().join("\n")
}

fn voice(row: &NewRow<'_>) -> Option<String> {
    row.voice.as_ref().and_then(|voice| serde_json::to_string(voice).ok())
}

fn files(row: &NewRow<'_>) -> Option<String> {
    (!row.files.is_empty()).then(|| serde_json::to_string(&row.files).ok()).flatten()
}

fn arguments(row: &NewRow<'_>, is_held_back: bool, now: i64) -> [Value; 15] {
    values! {
        &row.event, row.conversation_id, row.person_id, row.kind, row.text, row.question_id.clone(),
        row.instance, is_held_back, now, &row.taint, voice(row), row.voice.is_some(), files(row),
        &row.mentions, row.is_addressed
    }
}

pub async fn count_held_back(store: &Store, person: &PersonId) -> Result<i64> {
    store.count("SELECT count(*) FROM inbox WHERE held = 1 AND person_id = $1", &[person.into()]).await
}

#[derive(Debug, FromRow)]
pub struct Typed {
    pub conversation_id: ConversationId,
    pub person_id: PersonId,
    pub text: String,
    pub taint: Taint,
    #[sqlx(try_from = "Flag")]
    pub is_addressed: bool,
    pub turn_id: Option<TurnId>,
}

pub async fn typed(store: &Store, key: &str) -> Result<Option<Typed>> {
    let sql = "SELECT conversation_id, person_id, text, taint, is_addressed, turn_id FROM inbox \
        WHERE event IN ($1, ' rest:' || $1) AND kind = 'said' AND spoken = 0";
    store.first(sql, &[key.into()]).await
}

/// The texts that a message was changed to after a turn had taken it, in order.
pub async fn edits_of(store: &Store, key: &str) -> Result<Vec<String>> {
    let (from, to) = (format!("{} ", edit_key(key)), format!("{}!", edit_key(key)));
    let sql = "SELECT text FROM inbox WHERE event >= $1 AND event < $2 ORDER BY id";
    store.column(sql, &[from.into(), to.into()]).await
}

/// How the names of a message's changes begin.
pub fn edit_key(key: &str) -> String {
    format!(" edit:{key}")
}

pub async fn is_journalled(store: &Store, key: &str) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM inbox WHERE event = $1", &[key.into()]).await? > 0)
}

/// Replaces a message's text and what it mentions, unless a turn has taken it. Returns whether it did.
pub async fn edit(store: &Store, key: &str, text: &str, mentions: &str) -> Result<bool> {
    let sql = "UPDATE inbox SET text = $1, mentions = $3 WHERE event = $2 AND state = 'new' AND kind = 'said' AND spoken = 0";
    let batch = Batch::requiring(Stale::MessageTaken, sql, [text.into(), key.into(), mentions.into()]);
    store.try_write(batch).await
}

/// The chats of a channel with messages, each with the event of the last message.
pub async fn last_events(store: &Store, channel: &str) -> Result<Vec<(String, String)>> {
    let sql = "SELECT c.place, i.event FROM conversations c JOIN inbox i ON i.id = \
        (SELECT max(id) FROM inbox WHERE conversation_id = c.id AND kind <> 'press' AND event NOT LIKE ' %') \
        WHERE c.channel = $1";
    store.all(sql, &[channel.into()]).await
}

/// The rows of a conversation that still need processing, oldest first: our own, and those of nobody or of dead
/// instances. None behind a voice note that another instance listens to. Those of watches come last, so that however many
/// there are, no person waits for them.
pub async fn waiting(
    store: &Store,
    conversation: &ConversationId,
    instance: &InstanceId,
) -> Result<Vec<InboxRow>> {
    let sql = select!(
        "AND conversation_id = $1 \
        AND (instance = $2 OR instance NOT IN (SELECT id FROM instances)) AND NOT EXISTS \
        (SELECT 1 FROM inbox v WHERE v.conversation_id = $1 AND v.state = 'new' AND v.held = 0 AND v.id < i.id \
         AND (v.voice IS NOT NULL OR v.files IS NOT NULL) AND v.instance <> $2 \
         AND v.instance IN (SELECT id FROM instances)) \
        ORDER BY CASE WHEN event LIKE ' watch:%' THEN 1 ELSE 0 END, id LIMIT 50"
    );
    store.all(sql, &[conversation.into(), instance.into()]).await
}

/// The messages, wherever they arrived, that turns which run in this instance may take over.
pub async fn for_running(store: &Store, instance: &InstanceId) -> Result<Vec<InboxRow>> {
    let sql = select!(
        "AND (instance = $1 OR instance NOT IN (SELECT id FROM instances)) AND EXISTS \
        (SELECT 1 FROM turns t WHERE t.conversation_id = i.conversation_id AND t.person_id = i.person_id \
         AND t.instance = $1 AND t.status = 'running' AND t.ended_at IS NULL) ORDER BY id LIMIT 50"
    );
    let rows: Vec<InboxRow> = store.all(sql, &[instance.into()]).await?;
    Ok(rows.into_iter().filter(InboxRow::is_steering).collect())
}

/// Gives a voice note its text. Only the text shows whether the note is a message or the answer to a question.
pub fn heard(batch: &mut Batch, id: i64, instance: &InstanceId, text: &str, answers: Option<&QuestionId>) {
    let kind = if answers.is_some() { InboxKind::Answer } else { InboxKind::Message };
    batch.must(
        Stale::MessageTaken,
        "UPDATE inbox SET text = $1, kind = $2, question_id = $3, voice = NULL, instance = $5 \
         WHERE id = $4 AND state = 'new' AND voice IS NOT NULL",
        [text.into(), kind.into(), answers.into(), id.into(), instance.into()],
    );
}

/// Ends a voice note without a turn: as a message, or as an answer that doesn't count, with what may have been said.
pub fn dismiss(batch: &mut Batch, id: i64, kind: InboxKind, text: &str) {
    let sql = "UPDATE inbox SET state = 'done', text = $1, kind = $2, voice = NULL \
        WHERE id = $3 AND state = 'new' AND voice IS NOT NULL";
    batch.must(Stale::MessageTaken, sql, [text.into(), kind.into(), id.into()]);
}

/// The transcript of a person's last message here after this time, if it was a voice note that was asked about.
pub async fn doubted(
    store: &Store,
    conversation: &ConversationId,
    person: &PersonId,
    since: i64,
) -> Result<Option<String>> {
    let sql = "SELECT text FROM (SELECT text, spoken, state, turn_id, received_at FROM inbox WHERE conversation_id = $1 \
        AND person_id = $2 AND kind = 'said' AND voice IS NULL ORDER BY id DESC LIMIT 1) last \
        WHERE spoken = 1 AND state = 'done' AND turn_id IS NULL AND text <> '' AND received_at >= $3";
    store.value(sql, &[conversation.into(), person.into(), since.into()]).await
}

/// The messages that a person typed most recently, newest first.
pub async fn typed_by(store: &Store, person: &PersonId, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT text FROM inbox WHERE person_id = $1 AND kind = 'said' AND spoken = 0 AND taint = '' \
        ORDER BY id DESC LIMIT $2 + 0";
    store.column(sql, &[person.into(), limit.into()]).await
}

pub async fn is_spoken(store: &Store, turn: &TurnId) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM inbox WHERE turn_id = $1 AND spoken = 1", &[turn.into()]).await? > 0)
}

/// Records that a turn took a row that arrives in the same batch.
pub fn take_arriving(batch: &mut Batch, key: &str, turn: &TurnId) {
    let sql = "UPDATE inbox SET state = 'taken', turn_id = $1 WHERE event = $2 AND state = 'new'";
    batch.must(Stale::MessageTaken, sql, [turn.into(), key.into()]);
}

pub fn take(batch: &mut Batch, id: i64, turn: &TurnId) {
    let sql = "UPDATE inbox SET state = 'taken', turn_id = $1 WHERE id = $2 AND state = 'new'";
    batch.must(Stale::MessageTaken, sql, [turn.into(), id.into()]);
}

/// Records that a running turn took a row, with the text that it has read.
pub fn take_as_read(batch: &mut Batch, row: &InboxRow, turn: &TurnId) {
    let sql = "UPDATE inbox SET state = 'taken', turn_id = $1 WHERE id = $2 AND state = 'new' AND text = $3";
    batch.must(Stale::MessageTaken, sql, [turn.into(), row.id.into(), (&row.text).into()]);
}

/// Marks a row that needs no turn as done.
pub fn mark_done(batch: &mut Batch, id: i64, turn: Option<&TurnId>) {
    let sql = "UPDATE inbox SET state = 'done', turn_id = $1 WHERE id = $2 AND state = 'new'";
    batch.must(Stale::MessageTaken, sql, [turn.into(), id.into()]);
}

/// Journals what follows an answer as a message of its own.
pub fn add_rest(batch: &mut Batch, answer: &InboxRow, rest: &str, instance: &InstanceId, now: i64) {
    let sql = "INSERT INTO inbox (event, conversation_id, person_id, kind, text, instance, received_at, taint, spoken, \
        mentions, is_addressed) SELECT ' rest:' || event, conversation_id, person_id, 'said', $2, $3, $4, taint, spoken, \
        mentions, is_addressed FROM inbox WHERE id = $1 ON CONFLICT (event) DO NOTHING";
    batch.must(Stale::MessageExists, sql, [answer.id.into(), rest.into(), instance.into(), now.into()]);
}

/// Whether a row needs no more work.
pub async fn is_done(store: &Store, id: i64) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM inbox WHERE id = $1 AND state <> 'new'", &[id.into()]).await? > 0)
}

/// Closes the rows of a turn that ended.
pub fn finish(batch: &mut Batch, turn: &TurnId, dead: bool) {
    let state = if dead { "dead" } else { "done" };
    let sql = "UPDATE inbox SET state = $1 WHERE turn_id = $2 AND state = 'taken'";
    batch.run(sql, [state.into(), turn.into()]);
}

/// The newest answer that a person has typed to a turn.
pub async fn last_answer(store: &Store, turn: &TurnId, person: &PersonId) -> Result<Option<String>> {
    const SQL: &str = "SELECT text FROM inbox WHERE turn_id = $1 AND person_id = $2 AND kind = 'answer' \
                       ORDER BY id DESC LIMIT 1";
    store.value(SQL, &[turn.into(), person.into()]).await
}

/// The newest message of a turn that has several.
pub async fn last_of_several(store: &Store, turn: &TurnId) -> Result<Option<String>> {
    const SQL: &str = "SELECT text FROM inbox WHERE turn_id = $1 AND kind = 'said' ORDER BY id DESC LIMIT 2";
    let newest: Vec<(String,)> = store.all(SQL, &[turn.into()]).await?;
    let has_several = newest.len() > 1;
    Ok(newest.into_iter().next().filter(|_| has_several).map(|(text,)| text))
}

/// The newest text of a person in a conversation, before that of a row, if it is a command.
pub async fn last_command(
    store: &Store,
    (conversation, person): (&ConversationId, &PersonId),
    before: i64,
) -> Result<Option<String>> {
    const SQL: &str = "SELECT text FROM (SELECT kind, text FROM inbox WHERE conversation_id = $1 AND person_id = $2 \
                       AND event NOT LIKE ' %' AND id < $3 ORDER BY id DESC LIMIT 1) newest WHERE kind = 'command'";
    store.value(SQL, &[conversation.into(), person.into(), before.into()]).await
}

/// The newest texts of a person in a conversation since a time, answers left out, the newest first. None that came before
/// or with what a turn began with.
pub async fn texts_since(
    store: &Store,
    conversation: &ConversationId,
    person: &PersonId,
    since: i64,
    turn: &TurnId,
) -> Result<Vec<String>> {
    let sql = "SELECT text FROM (SELECT id, text, received_at FROM inbox WHERE conversation_id = $1 AND person_id = $2 \
        AND kind IN ('said', 'command') AND event NOT LIKE ' %' ORDER BY id DESC LIMIT 50) newest \
        WHERE received_at >= $3 AND id > (SELECT coalesce(min(id), 0) FROM inbox WHERE turn_id = $4) ORDER BY id DESC";
    store.column(sql, &[conversation.into(), person.into(), since.into(), turn.into()]).await
}

/// Whether anything in this turn is for us. In a room where everything is answered, people also write to each other.
pub async fn is_addressed(store: &Store, turn: &TurnId) -> Result<bool> {
    const SQL: &str = "SELECT CAST(coalesce(max(is_addressed), 1) AS BIGINT) FROM inbox WHERE turn_id = $1";
    Ok(store.count(SQL, &[turn.into()]).await? > 0)
}

/// Whether an event whose name begins like this brought a message of this turn.
pub async fn is_begun_by(store: &Store, turn: &TurnId, beginning: &str) -> Result<bool> {
    const SQL: &str =
        "SELECT count(*) FROM inbox WHERE turn_id = $1 AND substr(event, 1, length(CAST($2 AS TEXT))) = $2";
    Ok(store.count(SQL, &[turn.into(), beginning.into()]).await? > 0)
}

/// The turn of the first row here whose event has a name that begins like this.
pub async fn first_turn(
    store: &Store,
    conversation: &ConversationId,
    beginning: &str,
) -> Result<Option<TurnId>> {
    const SQL: &str = "SELECT turn_id FROM inbox WHERE conversation_id = $1 \
                       AND substr(event, 1, length(CAST($2 AS TEXT))) = $2 ORDER BY id LIMIT 1";
    Ok(store.value::<Option<TurnId>>(SQL, &[conversation.into(), beginning.into()]).await?.flatten())
}

/// Whether only a schedule or a watch began this turn, and no message of a person.
pub async fn is_scheduled(store: &Store, turn: &TurnId) -> Result<bool> {
    const SQL: &str = concat!(
        "SELECT CAST(coalesce(min(CASE WHEN ",
        came_by_itself!("event"),
        " THEN 1 ELSE 0 END), 0) AS BIGINT) FROM inbox WHERE turn_id = $1 AND kind = 'said'"
    );
    Ok(store.count(SQL, &[turn.into()]).await? > 0)
}

/// Whether this person ever wrote in a conversation.
pub async fn has_written(store: &Store, conversation: &ConversationId, person: &PersonId) -> Result<bool> {
    const SQL: &str = "SELECT count(*) FROM (SELECT 1 FROM inbox WHERE conversation_id = $1 AND person_id = $2 \
                       AND event NOT LIKE ' %' LIMIT 1) i";
    Ok(store.count(SQL, &[conversation.into(), person.into()]).await? > 0)
}

/// Whether this person wrote a message here after a time, other than those the asking turn took. A bare "yes" then no
/// longer answers an earlier question.
pub async fn spoke_since(
    store: &Store,
    conversation: &ConversationId,
    person: &PersonId,
    since: i64,
    turn: &TurnId,
) -> Result<bool> {
    let sql = "SELECT count(*) FROM (SELECT received_at, turn_id FROM inbox WHERE conversation_id = $1 \
        AND person_id = $2 AND (kind = 'said' OR text LIKE '/new%') AND voice IS NULL AND event NOT LIKE ' %' ORDER BY id DESC LIMIT 1) last \
        WHERE received_at >= $3 AND coalesce(turn_id, '') <> $4";
    let count = store.count(sql, &[conversation.into(), person.into(), since.into(), turn.into()]).await?;
    Ok(count > 0)
}
