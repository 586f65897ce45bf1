//! The words of memories and of what was said, and the texts that a search found by them. Each query limits what a
//! person may see in a place; what the words lead to is a guess until it was read here.

use std::sync::LazyLock;

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use crate::domain::{ConversationId, PersonId, Taint, TurnId};
use crate::store::memories::MemoryRow;
use crate::store::people::Conversation;
use crate::store::{Batch, Stale, Store, StoreError, Value};

/// How many words go into one statement.
const AT_ONCE: usize = 32;
/// How many texts are read by one statement.
const READ: usize = 64;

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A memory.
    Memory {
        /// `private`, or `room`.
        scope: String,
        /// JSON: a list of words.
        tags: String,
    },
    /// A turn.
    Turn {
        /// Its answer.
        answer: String,
        /// Whether others read there.
        is_shared: bool,
        /// Whether it saved, found or deleted memories.
        is_about_memory: bool,
    },
}

/// A text whose words are to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its number among its kind.
    pub seq: i64,
    /// Whose it is.
    pub person: PersonId,
    /// Where it was said.
    pub conversation: ConversationId,
    /// When.
    pub at: i64,
    /// The person's zone, if they have one of their own.
    pub zone: Option<String>,
    /// What was said.
    pub text: String,
    /// What it is.
    pub source: Source,
}

impl Document {
    /// Its number among all texts.
    pub fn number(&self) -> i64 {
        match self.source {
            Source::Memory { .. } => self.seq * 2 + 1,
            Source::Turn { .. } => self.seq * 2,
        }
    }
}

impl<'r> FromRow<'r, AnyRow> for Document {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let source = match row.try_get::<Option<String>, _>("scope")? {
            Some(scope) => Source::Memory { scope, tags: row.try_get("more")? },
            None => Source::Turn {
                answer: row.try_get("more")?,
                is_shared: row.try_get::<i64, _>("shared")? != 0,
                is_about_memory: row.try_get::<i64, _>("about_memory")? != 0,
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

/// Memories whose words aren't kept yet, oldest first.
pub async fn unindexed_memories(store: &Store, limit: i64) -> Result<Vec<Document>, StoreError> {
    store
        .all(
            "SELECT m.seq, m.person_id, m.conversation_id, m.created_at AS at, p.timezone, m.text, m.scope, \
             m.tags AS more FROM memories m LEFT JOIN people p ON p.id = m.person_id \
             WHERE m.indexed = 0 ORDER BY m.seq LIMIT $1 + 0",
            &[limit.into()],
        )
        .await
}

/// Ended turns whose words aren't kept yet, oldest first. What was said among two belongs to whose conversation it is.
pub async fn unindexed_turns(store: &Store, limit: i64) -> Result<Vec<Document>, StoreError> {
    store
        .all(
            "SELECT t.seq, CASE WHEN c.shared = 0 THEN c.person_id ELSE t.person_id END AS person_id, \
             t.conversation_id, t.started_at AS at, p.timezone, t.text, CAST(NULL AS TEXT) AS scope, \
             coalesce(t.answer, '') AS more, c.shared, \
             CAST(CASE WHEN t.text = '' OR t.forgotten_at IS NOT NULL OR EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id \
              AND e.skill IN ('memory.save', 'memory.search', 'memory.list', 'memory.forget')) \
              THEN 1 ELSE 0 END AS BIGINT) AS about_memory \
             FROM turns t JOIN conversations c ON c.id = t.conversation_id LEFT JOIN people p ON p.id = t.person_id \
             WHERE t.indexed = 0 AND t.ended_at IS NOT NULL ORDER BY t.seq LIMIT $1 + 0",
            &[limit.into()],
        )
        .await
}

/// Keeps a text's words in these spaces. Stale if the text is gone or its words are kept already.
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
    for space in spaces {
        for chunk in impacts.chunks(AT_ONCE) {
            let mut arguments: [Value; 2 + AT_ONCE * 2] =
                std::array::from_fn(|n| if n % 2 == 0 { Value::Text(String::new()) } else { Value::Int(0) });
            (arguments[0], arguments[1]) = (document.number().into(), (*space).into());
            for (n, (word, impact)) in chunk.iter().enumerate() {
                (arguments[2 + n * 2], arguments[3 + n * 2]) = (word.into(), (*impact).into());
            }
            batch.run(INSERT.as_str(), arguments);
        }
    }
    batch
}

/// The texts that contain a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// The word.
    pub word: String,
    /// The texts' numbers, each with the word's impact.
    pub texts: Vec<(i64, i64)>,
}

/// The newest texts, at most `limit`, in a space with words from one to before another.
pub async fn postings(
    store: &Store,
    space: i64,
    (from, to): (&str, &str),
    limit: i64,
) -> Result<Vec<Posting>, StoreError> {
    let rows: Vec<(String, String)> = store
        .all(
            "SELECT word, string_agg(document || ' ' || impact, ',') FROM \
             (SELECT word, document, impact FROM search_words WHERE space = $1 AND word >= $2 AND word < $3 \
              ORDER BY word, document DESC LIMIT $4 + 0) AS found GROUP BY word",
            &[space.into(), from.into(), to.into(), limit.into()],
        )
        .await?;
    let pair = |pair: &str| {
        let (document, impact) = pair.split_once(' ')?;
        Some((document.parse().ok()?, impact.parse().ok()?))
    };
    let read = |(word, texts): (String, String)| Posting {
        word,
        texts: texts.split(',').filter_map(pair).collect(),
    };
    Ok(rows.into_iter().map(read).collect())
}

/// How many texts a space has, as far as `limit`.
pub async fn size(store: &Store, space: i64, any: &str, limit: i64) -> Result<i64, StoreError> {
    const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM search_words WHERE space = $1 AND word = $2 \
                         LIMIT $3 + 0) AS found";
    store.count(COUNT, &[space.into(), any.into(), limit.into()]).await
}

/// A text of SQL with `$from` and the following as a list of numbers.
macro_rules! of_seqs {
    ($begin:expr, $end:expr) => {{
        static SQL: LazyLock<String> = LazyLock::new(|| {
            let list: Vec<String> = (0..READ).map(|n| format!("${}", n + 1)).collect();
            format!("{} IN ({}) {}", $begin, list.join(", "), $end)
        });
        SQL.as_str()
    }};
}

/// The numbers as arguments, the last one repeated.
fn arguments(seqs: &[i64]) -> Vec<Value> {
    let last = seqs.last().copied().unwrap_or_default();
    (0..READ).map(|n| seqs.get(n).copied().unwrap_or(last).into()).collect()
}

/// A turn with the turns before and after it in the same conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Neighbours {
    /// The turn.
    pub seq: i64,
    /// The one before it.
    pub before: Option<i64>,
    /// The one after it.
    pub after: Option<i64>,
    /// 1 if its answer asked something, so that the one after it answers that.
    pub asked: i64,
}

/// The turns before and after each of these.
pub async fn neighbours(store: &Store, turns: &[i64]) -> Result<Vec<Neighbours>, StoreError> {
    let sql = of_seqs!(
        "SELECT t.seq, (SELECT max(b.seq) FROM turns b WHERE b.conversation_id = t.conversation_id AND b.seq < t.seq) \
         AS \"before\", (SELECT min(a.seq) FROM turns a WHERE a.conversation_id = t.conversation_id AND a.seq > t.seq) \
         AS \"after\", CAST(CASE WHEN t.answer LIKE '%?' THEN 1 ELSE 0 END AS BIGINT) AS asked FROM turns t WHERE t.seq",
        ""
    );
    let mut all = Vec::new();
    for chunk in turns.chunks(READ) {
        let rows: Vec<Neighbours> = store.all(sql, &arguments(chunk)).await?;
        all.extend(rows);
    }
    Ok(all)
}

/// Of these memories, those that may be recalled here, with their numbers.
pub async fn memories(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    seqs: &[i64],
) -> Result<Vec<(i64, MemoryRow)>, StoreError> {
    let sql = of_seqs!(
        "SELECT seq, id, kind, scope, text, tags, created_at FROM memories WHERE seq",
        "AND person_id = $65 AND ((scope = 'private' AND $66 = 0) OR (scope = 'room' AND conversation_id = $67))"
    );
    let mut all = Vec::new();
    for chunk in seqs.chunks(READ) {
        let mut arguments = arguments(chunk);
        arguments.extend([person.into(), here.shared.into(), (&here.id).into()]);
        all.extend(store.all::<Numbered<MemoryRow>>(sql, &arguments).await?);
    }
    Ok(all.into_iter().map(|Numbered(seq, row)| (seq, row)).collect())
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SaidRow {
    /// The turn.
    pub id: TurnId,
    /// Where.
    pub conversation_id: ConversationId,
    /// The channel.
    pub channel: String,
    /// Whether others read there.
    pub shared: i64,
    /// Who said it.
    pub name: String,
    /// The message.
    pub text: String,
    /// Its outside sources.
    pub text_taint: Taint,
    /// The answer.
    pub answer: Option<String>,
    /// The outside sources of the answer.
    pub taint: Taint,
    /// When.
    pub started_at: i64,
}

/// Of these turns, those that a person may see here, with their numbers: where nobody else reads, all they said and what
/// was said to them alone; in a room, what was said there.
pub async fn said(
    store: &Store,
    person: &PersonId,
    here: &Conversation,
    seqs: &[i64],
) -> Result<Vec<(i64, SaidRow)>, StoreError> {
    let sql = of_seqs!(
        "SELECT t.seq, t.id, t.conversation_id, c.channel, c.shared, coalesce(p.name, '') AS name, t.text, \
         t.text_taint, t.answer, t.taint, t.started_at FROM turns t \
         JOIN conversations c ON c.id = t.conversation_id LEFT JOIN people p ON p.id = t.person_id WHERE t.seq",
        "AND t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL AND t.forgotten_at IS NULL \
         AND ((c.shared = 0 AND c.person_id = $65 AND $66 = 0) OR (t.person_id = $65 AND $66 = 0) OR ($66 = 1 AND c.id = $67))"
    );
    let mut all = Vec::new();
    for chunk in seqs.chunks(READ) {
        let mut arguments = arguments(chunk);
        arguments.extend([person.into(), here.shared.into(), (&here.id).into()]);
        all.extend(store.all::<Numbered<SaidRow>>(sql, &arguments).await?);
    }
    Ok(all.into_iter().map(|Numbered(seq, row)| (seq, row)).collect())
}

/// A row with its number.
struct Numbered<T>(i64, T);

impl<'r, T: FromRow<'r, AnyRow>> FromRow<'r, AnyRow> for Numbered<T> {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self(row.try_get("seq")?, T::from_row(row)?))
    }
}
