//! The words of memories and of what was said, and the texts that a search found by them. Each query limits what a
//! person may see in a place; what the words lead to is a guess until it was read here.

use std::sync::LazyLock;

use adjutant_types::{ConversationId, FILES_ALONE, Flag, MemoryId, PersonId, Taint, TurnId};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use super::vectors;
use crate::memories::MemoryRow;
use crate::people::Conversation;
use crate::{Batch, Result, Stale, Store, Value};

/// How many words go into one statement.
const AT_ONCE: usize = 32;
/// How many texts are read by one statement.
const READ: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Memory {
        /// `private`, or `room`.
        scope: String,
        /// JSON: a list of words.
        tags: String,
    },
    Turn {
        /// Who wrote it, where others read there.
        speaker: String,
        answer: String,
        /// The names of its files, and how their texts begin.
        files: String,
        /// Whether others read there.
        is_shared: bool,
        /// Whether it saved, found or deleted memories.
        is_about_memory: bool,
    },
}

/// A text whose words are to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its number among its kind.
    pub seq: i64,
    pub person: PersonId,
    pub conversation: ConversationId,
    pub at: i64,
    /// The person's zone, if they have one of their own.
    pub zone: Option<String>,
    pub text: String,
    pub source: Source,
}

/// A text in the index, by the number of its turn or memory. One column holds both: turns are even, memories odd, and
/// newer ones come after older ones of their kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(i64);

impl DocumentId {
    pub fn of_turn(seq: i64) -> Self {
        Self(seq * 2)
    }

    pub fn of_memory(seq: i64) -> Self {
        Self(seq * 2 + 1)
    }

    /// The turn's number, if it is a turn's text.
    pub fn turn(self) -> Option<i64> {
        (self.0 % 2 == 0).then_some(self.0 / 2)
    }

    /// The memory's number, if it is a memory's text.
    pub fn memory(self) -> Option<i64> {
        (self.0 % 2 == 1).then_some(self.0 / 2)
    }
}

impl From<i64> for DocumentId {
    fn from(column: i64) -> Self {
        Self(column)
    }
}

impl From<DocumentId> for Value {
    fn from(id: DocumentId) -> Self {
        id.0.into()
    }
}

impl Document {
    fn id(&self) -> DocumentId {
        match self.source {
            Source::Memory { .. } => DocumentId::of_memory(self.seq),
            Source::Turn { .. } => DocumentId::of_turn(self.seq),
        }
    }
}

impl<'r> FromRow<'r, AnyRow> for Document {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let source = match row.try_get::<Option<String>, _>("scope")? {
            Some(scope) => Source::Memory { scope, tags: row.try_get("more")? },
            None => Source::Turn {
                speaker: row.try_get("speaker")?,
                answer: row.try_get("more")?,
                files: row.try_get("files")?,
                is_shared: row.try_get::<Flag, _>("shared")?.into(),
                is_about_memory: row.try_get::<Flag, _>("about_memory")?.into(),
            },
        };
        Ok(Self {
            seq: row.try_get("seq")?,
            person: row.try_get("person_id")?,
            conversation: row.try_get("conversation_id")?,
            at: row.try_get("at")?,
            zone: row.try_get("timezone")?,
            text: row.try_get("text")?,
            source,
        })
    }
}

/// Memories whose words aren't stored yet, oldest first.
pub async fn unindexed_memories(store: &Store, limit: i64) -> Result<Vec<Document>> {
    let sql = "SELECT m.seq, m.person_id, m.conversation_id, m.created_at AS at, p.timezone, m.text, m.scope, \
        m.tags AS more FROM memories m LEFT JOIN people p ON p.id = m.person_id \
        WHERE m.indexed = 0 ORDER BY m.seq LIMIT $1 + 0";
    store.all(sql, &[limit.into()]).await
}

/// Ended turns whose words aren't stored yet, oldest first. What was said among two belongs to whose conversation it is. The
/// refusals of basic mode say nothing of the question, and their examples name people.
pub async fn unindexed_turns(store: &Store, limit: i64) -> Result<Vec<Document>> {
    let sql = "SELECT t.seq, CASE WHEN c.shared = 0 THEN c.person_id ELSE t.person_id END AS person_id, \
        t.conversation_id, t.started_at AS at, p.timezone, t.text, CAST(NULL AS TEXT) AS scope, \
        CASE WHEN EXISTS (SELECT 1 FROM executions e JOIN calls k ON k.execution_id = e.id WHERE e.turn_id = t.id AND \
         k.model = 'builtin') AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id AND e.kind = 'skill') \
         THEN '' ELSE coalesce(t.answer, '') END AS more, c.shared, \
        CASE WHEN c.shared = 0 THEN '' ELSE coalesce(p.name, '') END AS speaker, \
        coalesce((SELECT string_agg(a.name || ' ' || substr(coalesce(a.content, ''), 1, 1000), ' ') \
         FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = t.id), '') AS files, \
        CAST(CASE WHEN t.text = '' OR t.forgotten_at IS NOT NULL OR EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id AND \
         e.skill IN ('memory.save', 'memory.search', 'memory.list', 'memory.forget')) THEN 1 ELSE 0 END AS BIGINT) AS about_memory \
        FROM turns t JOIN conversations c ON c.id = t.conversation_id LEFT JOIN people p ON p.id = t.person_id \
        WHERE t.indexed = 0 AND t.ended_at IS NOT NULL ORDER BY t.seq LIMIT $1 + 0";
    store.all(sql, &[limit.into()]).await
}

/// Stores a text's words in these spaces. Stale if the text is gone or its words are stored already.
pub fn index(document: &Document, spaces: &[i64], impacts: &[(String, i64)]) -> Batch {
    static INSERT: LazyLock<String> = LazyLock::new(|| {
        let pairs: Vec<String> = (0..AT_ONCE).map(|n| format!("(${}, ${})", 3 + n * 2, 4 + n * 2)).collect();
        format!(
            "INSERT INTO search_words (space, word, document, impact) SELECT $2, w.column1, $1, w.column2 \
             FROM (VALUES {}) AS w WHERE w.column1 <> '' ON CONFLICT DO NOTHING",
            pairs.join(", ")
        )
    });
    let mut batch = Batch::new();
    let mark = match document.source {
        Source::Memory { .. } => "UPDATE memories SET indexed = 1 WHERE seq = $1 AND indexed = 0",
        Source::Turn { .. } => "UPDATE turns SET indexed = 1 WHERE seq = $1 AND indexed = 0",
    };
    batch.must(Stale::MemoryGone, mark, [document.seq.into()]);
    if !spaces.is_empty() {
        vectors::add(&mut batch, document.id());
    }
    for space in spaces {
        for chunk in impacts.chunks(AT_ONCE) {
            let mut arguments: [Value; 2 + AT_ONCE * 2] =
                std::array::from_fn(|n| if n % 2 == 0 { Value::Text(String::new()) } else { Value::Int(0) });
            (arguments[0], arguments[1]) = (document.id().into(), (*space).into());
            for (n, (word, impact)) in chunk.iter().enumerate() {
                (arguments[2 + n * 2], arguments[3 + n * 2]) = (word.into(), (*impact).into());
            }
            batch.run(INSERT.as_str(), arguments);
        }
    }
    batch
}

/// Words to look for, from one to before another.
pub type Span<'a> = (&'a str, &'a str);

/// A text that contains a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub text: DocumentId,
    /// How much the word says about the text, in thousandths.
    pub impact: i64,
    /// Whether the word is the first of the span itself.
    pub is_exact: bool,
}

/// The texts that were found for some spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lookups {
    /// How many texts the spaces have, as far as they are counted.
    pub texts: i64,
    /// For each span, the texts with such a word.
    pub of: Vec<Vec<Posting>>,
}

/// How many spaces a search has, at most.
pub const SPACES: usize = 3;
/// How many spans go into one statement.
const SPANS: usize = 32;

/// For each span, the newest texts with such words in each of these spaces: at most `newest` of a space, in the order of
/// the words. The spaces' texts are counted by a word that each of them has, as far as `counted`.
pub async fn look_up(
    store: &Store,
    spaces: &[i64],
    spans: &[Span<'_>],
    newest: i64,
    (any, counted): (&str, i64),
) -> Result<Lookups> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let spaces: Vec<String> = (0..SPACES).map(|n| format!("(${})", 4 + n)).collect();
        let from = 4 + SPACES;
        let spans: Vec<String> =
            (0..SPANS).map(|n| format!("({n}, ${}, ${})", from + n * 2, from + 1 + n * 2)).collect();
        format!(
            "SELECT CAST(l.column1 AS BIGINT) AS span, (SELECT string_agg(CAST(f.packed AS TEXT), ',') FROM \
             (SELECT document * 65536 + impact * 2 + CASE WHEN word = l.column2 THEN 0 ELSE 1 END AS packed FROM search_words \
              WHERE space = s.column1 AND word >= l.column2 AND word < l.column3 \
              ORDER BY word, document DESC LIMIT $1 + 0) AS f) AS texts \
             FROM (VALUES {spaces}) AS s CROSS JOIN (VALUES {spans}) AS l WHERE l.column2 <> '' \
             UNION ALL SELECT CAST(-1 AS BIGINT), (SELECT CAST(count(*) AS TEXT) FROM \
             (SELECT 1 FROM search_words WHERE space = s.column1 AND word = $2 LIMIT $3 + 0) AS f) \
             FROM (VALUES {spaces}) AS s",
            spaces = spaces.join(", "),
            spans = spans.join(", ")
        )
    });
    let mut found = Lookups { texts: 0, of: vec![Vec::new(); spans.len()] };
    for (chunk, some) in spans.chunks(SPANS).enumerate() {
        let mut arguments: Vec<Value> = vec![newest.into(), any.into(), counted.into()];
        // No space has the number 0.
        arguments.extend((0..SPACES).map(|n| spaces.get(n).copied().unwrap_or_default().into()));
        for n in 0..SPANS {
            let (from, to) = some.get(n).copied().unwrap_or_default();
            arguments.extend([from.into(), to.into()]);
        }
        let rows: Vec<(i64, Option<String>)> = store.all(SQL.as_str(), &arguments).await?;
        found.texts = 0;
        for (span, texts) in rows {
            let texts = texts.unwrap_or_default();
            match usize::try_from(span) {
                Ok(span) => found.of[chunk * SPANS + span].extend(texts.split(',').filter_map(posting)),
                Err(_) => found.texts += texts.parse::<i64>().unwrap_or_default(),
            }
        }
    }
    Ok(found)
}

/// One number is written and read much faster than three. No word says more than 2.2 about a text.
fn posting(packed: &str) -> Option<Posting> {
    let packed: i64 = packed.parse().ok()?;
    Some(Posting { text: (packed >> 16).into(), impact: (packed >> 1) & 0x7fff, is_exact: packed & 1 == 0 })
}

/// A text of SQL with `$1` and the following as a list.
macro_rules! of_seqs {
    ($begin:expr, $end:expr) => {{
        static SQL: LazyLock<String> = LazyLock::new(|| {
            let list: Vec<String> = (0..READ).map(|n| format!("${}", n + 1)).collect();
            format!("{} IN ({}) {}", $begin, list.join(", "), $end)
        });
        SQL.as_str()
    }};
}

/// Reads what such a text finds of a list. The other arguments stand behind the list.
async fn read<R: for<'r> FromRow<'r, AnyRow> + Send + Unpin>(
    store: &Store,
    sql: &'static str,
    list: &[impl Clone + Into<Value>],
    more: &[Value],
) -> Result<Vec<R>> {
    let mut all = Vec::new();
    for chunk in list.chunks(READ) {
        // The last one is repeated.
        let padded = chunk.iter().chain(chunk.last().into_iter().cycle()).take(READ);
        let arguments = padded.cloned().map(Into::<Value>::into).chain(more.iter().cloned());
        all.extend(store.all::<R>(sql, &arguments.collect::<Vec<_>>()).await?);
    }
    Ok(all)
}

/// The words that these memories were taken from.
pub async fn quotes(store: &Store, memories: &[MemoryId]) -> Result<Vec<(MemoryId, String)>> {
    let sql = of_seqs!("SELECT memory_id, quote FROM memory_origins WHERE quote <> '' AND memory_id", "");
    read(store, sql, memories, &[]).await
}

/// A turn with the turns before and after it in the same conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Neighbours {
    pub seq: i64,
    pub before: Option<i64>,
    pub after: Option<i64>,
    /// Its answer asked something, which the next one answers.
    #[sqlx(try_from = "Flag")]
    pub asked: bool,
}

pub async fn neighbours(store: &Store, turns: &[i64]) -> Result<Vec<Neighbours>> {
    let sql = of_seqs!(
        "SELECT t.seq, (SELECT max(b.seq) FROM turns b WHERE b.conversation_id = t.conversation_id AND b.seq < t.seq) \
         AS \"before\", (SELECT min(a.seq) FROM turns a WHERE a.conversation_id = t.conversation_id AND a.seq > t.seq) \
         AS \"after\", CAST(CASE WHEN t.answer LIKE '%?' THEN 1 ELSE 0 END AS BIGINT) AS asked FROM turns t WHERE t.seq",
        ""
    );
    read(store, sql, turns, &[]).await
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct RecallRow {
    pub seq: i64,
    #[sqlx(flatten)]
    pub memory: MemoryRow,
    /// How often it was said again.
    pub repeated: i64,
    /// It was taken from what somebody wrote once, and was never recalled.
    #[sqlx(try_from = "Flag")]
    pub may_fade: bool,
}

/// Of these memories, those that may be recalled here.
pub async fn memories(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    seqs: &[i64],
) -> Result<Vec<RecallRow>> {
    let sql = of_seqs!(
        "SELECT m.seq, m.id, m.kind, m.scope, m.text, m.tags, m.topic, m.created_at, \
         coalesce(o.strength - 1, 0) AS repeated, \
         CAST(CASE WHEN o.strength = 1 AND m.recalled_at IS NULL THEN 1 ELSE 0 END AS BIGINT) AS may_fade \
         FROM memories m LEFT JOIN memory_origins o ON o.memory_id = m.id WHERE m.seq",
        "AND m.person_id = $65 \
         AND ((m.scope = 'private' AND $66 = 0) OR (m.scope = 'room' AND m.conversation_id = $67))"
    );
    read(store, sql, seqs, &[person.into(), here.shared.into(), (&here.id).into()]).await
}

/// Notes that memories were recalled, by their numbers.
pub fn recalled(seqs: &[i64], now: i64) -> Batch {
    let mut batch = Batch::new();
    for seq in seqs {
        batch.run("UPDATE memories SET recalled_at = $1 WHERE seq = $2", [now.into(), (*seq).into()]);
    }
    batch
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SaidRow {
    pub seq: i64,
    pub id: TurnId,
    pub conversation_id: ConversationId,
    pub channel: String,
    /// Whether others read there.
    #[sqlx(try_from = "Flag")]
    pub shared: bool,
    pub name: String,
    pub person_id: PersonId,
    pub text: String,
    /// Its outside sources.
    pub text_taint: Taint,
    pub answer: Option<String>,
    /// The outside sources of the answer.
    pub taint: Taint,
    pub started_at: i64,
    /// The sources of its files.
    files: Taint,
}

/// Of these turns, those that a person may see here: where nobody else reads, all they said and what was said to them
/// alone; in a room, what was said there.
pub async fn said(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    seqs: &[i64],
) -> Result<Vec<SaidRow>> {
    let sql = of_seqs!(
        "SELECT t.seq, t.id, t.conversation_id, c.channel, c.shared, coalesce(p.name, '') AS name, t.person_id, t.text, \
         t.text_taint, t.answer, t.taint, t.started_at, coalesce((SELECT string_agg(a.source, '\n') FROM inbox i \
         JOIN attachments a ON a.event = i.event WHERE i.turn_id = t.id), '') AS files FROM turns t \
         JOIN conversations c ON c.id = t.conversation_id LEFT JOIN people p ON p.id = t.person_id WHERE t.seq",
        "AND t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL AND t.forgotten_at IS NULL \
         AND ((c.shared = 0 AND c.person_id = $65 AND $66 = 0) OR (t.person_id = $65 AND $66 = 0) OR ($66 = 1 AND c.id = $67))"
    );
    let mut all: Vec<SaidRow> =
        read(store, sql, seqs, &[person.into(), here.shared.into(), (&here.id).into()]).await?;
    for row in &mut all {
        if row.shared && row.person_id != *person {
            let taint = Taint::said_by(&row.name);
            row.text_taint.add(&taint);
            row.taint.add(&taint);
        }
        // Nothing else tells what somebody sent who wrote nothing.
        if row.text.split_whitespace().all(|word| word == FILES_ALONE) && !row.files.is_clean() {
            row.text = format!("{FILES_ALONE} {}", row.files.label());
            row.text_taint.add(&row.files);
        }
    }
    Ok(all)
}
