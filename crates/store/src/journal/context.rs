//! The data for a turn's first messages, read in one query because every turn needs it.

use std::collections::HashSet;

use adjutant_types::{ConversationId, PersonId, QuestionId, TurnId};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use crate::turns::PastTurn;
use crate::{Store, StoreError};

/// An open task, as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTask {
    pub id: String,
    pub title: String,
    /// The due date as the person wrote it.
    pub due: Option<String>,
}

/// An active schedule, as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSchedule {
    pub id: String,
    pub text: String,
    /// A cron pattern of five fields.
    pub rule: String,
    /// The IANA zone of the pattern.
    pub zone: String,
}

/// A question that waits for the person's answer, as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    pub id: QuestionId,
    /// The `turns.seq` of the turn that waits.
    pub turn: i64,
    /// The skill of the call that waits; empty where no call does.
    pub skill: String,
    /// The arguments of that call as JSON; else what is asked.
    pub what: String,
    /// The message whose turn waits; none where its text is from outside.
    pub message: Option<String>,
    /// Whether text from outside went into the call.
    pub is_outside: bool,
}

/// The data for a turn's first messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextData {
    /// The person's open tasks, the most urgent first.
    pub tasks: Vec<OpenTask>,
    /// The person's active schedules, the next one first.
    pub schedules: Vec<ActiveSchedule>,
    /// Everything marked of the person's, by domain and id, and the files of the turn's messages: all of it is from outside.
    pub outside: HashSet<(String, String)>,
    /// Whom and what the messages of the turn and of those before it mention, a line for each, the newest first.
    pub mentions: Vec<String>,
    /// The newest ended turns of the conversation, newest first.
    pub past: Vec<PastTurn>,
    /// The questions that were put to the person here and are open, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// The turn whose first messages keep the text of a summary, and these messages as they are stored.
    pub summary: Option<(i64, String)>,
}

/// The person, the conversation, and the limits of a read.
#[derive(Debug, Clone, Copy)]
pub struct ContextQuery<'a> {
    pub person: &'a PersonId,
    pub conversation: &'a ConversationId,
    pub turn: &'a TurnId,
    /// Turns after this one.
    pub after: i64,
    /// At most so many tasks.
    pub tasks: i64,
    /// At most so many turns.
    pub turns: i64,
}

/// Each branch has the same columns: what it is, its order, two numbers, and five texts.
const SQL: &str = "\
    SELECT * FROM (SELECT 'task' AS what, row_number() OVER (ORDER BY coalesce(due_at, 9223372036854775807), seq) AS place, \
    CAST(0 AS BIGINT) AS flags, CAST(0 AS BIGINT) AS at, id AS a, title AS b, due AS c, CAST(NULL AS TEXT) AS d, CAST(NULL AS TEXT) AS e FROM tasks \
    WHERE person_id = $1 AND state = 'open' ORDER BY coalesce(due_at, 9223372036854775807), seq LIMIT $5 + 0) AS open_tasks \
    UNION ALL SELECT * FROM (SELECT 'schedule', row_number() OVER (ORDER BY next_at), CAST(0 AS BIGINT), CAST(0 AS BIGINT), id, text, rule, zone, CAST(NULL AS TEXT) \
    FROM schedules WHERE person_id = $1 AND state = 'active' ORDER BY next_at LIMIT 100) AS active \
    UNION ALL SELECT 'outside', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), domain, id, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT) FROM taints WHERE person_id = $1 \
    UNION ALL SELECT 'outside', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), 'files', a.id, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT) FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = $3 \
    UNION ALL SELECT * FROM (SELECT 'turn', t.seq, CAST(CASE WHEN t.forgotten_at IS NULL THEN 0 ELSE 1 END \
    + CASE WHEN EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id AND e.kind = 'skill') OR EXISTS \
    (SELECT 1 FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = t.id) THEN 2 ELSE 0 END AS BIGINT), t.started_at, \
    CASE WHEN t.forgotten_at IS NULL THEN t.text ELSE '' END, t.text_taint, \
    CASE WHEN t.forgotten_at IS NULL THEN t.answer ELSE '' END, t.taint, t.person_id FROM turns t WHERE t.conversation_id = $2 \
    AND t.seq > $4 AND t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL ORDER BY t.seq DESC LIMIT $6 + 0) AS past \
    UNION ALL SELECT * FROM (SELECT 'question', q.seq, CAST(CASE WHEN coalesce(e.taint, '') <> '' THEN 1 ELSE 0 END AS BIGINT), \
    t.seq, q.id, coalesce(e.skill, ''), CASE WHEN q.kind = 'approve' THEN q.detail ELSE q.subject END, \
    CASE WHEN t.text_taint = '' THEN t.text END, CAST(NULL AS TEXT) FROM questions q JOIN turns t ON t.id = q.turn_id \
    LEFT JOIN executions e ON e.id = q.execution_id WHERE q.conversation_id = $2 AND q.person_id = $1 AND q.turn_id <> $3 \
    AND q.state = 'pending' AND q.outbox_id <> '' ORDER BY q.seq DESC LIMIT 5) AS open_questions \
    UNION ALL SELECT 'mentions', t.seq, CAST(0 AS BIGINT), CAST(0 AS BIGINT), i.mentions, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT), CAST(NULL AS TEXT) FROM (SELECT id, seq FROM turns WHERE conversation_id = $2 AND seq > $4 \
    AND forgotten_at IS NULL AND (id = $3 OR ended_at IS NOT NULL) ORDER BY seq DESC LIMIT $6 + 0) t \
    JOIN inbox i ON i.turn_id = t.id WHERE i.mentions <> '' \
    UNION ALL SELECT 'summary', t.seq, CAST(0 AS BIGINT), CAST(0 AS BIGINT), k.first_messages, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT), CAST(NULL AS TEXT) FROM conversations c JOIN turns t ON t.seq = c.summary_turn AND t.conversation_id = c.id \
    JOIN executions e ON e.turn_id = t.id AND e.kind = 'orchestrator' JOIN calls k ON k.execution_id = e.id AND k.n = 0 \
    WHERE c.id = $2 AND c.summary <> '' AND k.first_messages IS NOT NULL";

enum Line {
    Task(i64, OpenTask),
    Schedule(i64, ActiveSchedule),
    Outside(String, String),
    Turn(PastTurn),
    Mentions(i64, String),
    Question(i64, OpenQuestion),
    Summary(i64, String),
}

impl<'r> FromRow<'r, AnyRow> for Line {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let position: i64 = row.try_get("place")?;
        Ok(match row.try_get::<String, _>("what")?.as_str() {
            "task" => {
                let due = row.try_get("c")?;
                Self::Task(position, OpenTask { id: row.try_get("a")?, title: row.try_get("b")?, due })
            }
            "schedule" => {
                let (id, text) = (row.try_get("a")?, row.try_get("b")?);
                let (rule, zone) = (row.try_get("c")?, row.try_get("d")?);
                Self::Schedule(position, ActiveSchedule { id, text, rule, zone })
            }
            "outside" => Self::Outside(row.try_get("a")?, row.try_get("b")?),
            "mentions" => Self::Mentions(position, row.try_get("a")?),
            "question" => {
                let flags: i64 = row.try_get("flags")?;
                let (id, skill, what, message) =
                    (row.try_get("a")?, row.try_get("b")?, row.try_get("c")?, row.try_get("d")?);
                let turn = row.try_get("at")?;
                Self::Question(
                    position,
                    OpenQuestion { id, turn, skill, what, message, is_outside: flags != 0 },
                )
            }
            "summary" => Self::Summary(position, row.try_get("a")?),
            _ => {
                let flags: i64 = row.try_get("flags")?;
                Self::Turn(PastTurn {
                    seq: position,
                    person_id: row.try_get("e")?,
                    text: row.try_get("a")?,
                    text_taint: row.try_get("b")?,
                    answer: row.try_get("c")?,
                    taint: row.try_get("d")?,
                    started_at: row.try_get("at")?,
                    forgotten: flags & 1 != 0,
                    has_calls: flags & 2 != 0,
                })
            }
        })
    }
}

/// Reads the data for a turn's first messages.
pub async fn read(store: &Store, query: ContextQuery<'_>) -> Result<ContextData, StoreError> {
    let ContextQuery { person, conversation, turn, after, tasks, turns } = query;
    let arguments =
        [person.into(), conversation.into(), turn.into(), after.into(), tasks.into(), turns.into()];
    let lines: Vec<Line> = store.all(SQL, &arguments).await?;
    let (mut tasks, mut schedules, mut questions, mut mentions) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut data = ContextData::default();
    for line in lines {
        match line {
            Line::Task(position, task) => tasks.push((position, task)),
            Line::Schedule(position, schedule) => schedules.push((position, schedule)),
            Line::Outside(domain, id) => drop(data.outside.insert((domain, id))),
            Line::Question(position, question) => questions.push((position, question)),
            Line::Mentions(position, lines) => mentions.push((position, lines)),
            Line::Turn(turn) => data.past.push(turn),
            Line::Summary(turn, messages) => data.summary = Some((turn, messages)),
        }
    }
    // A query's branches are sorted, but their union isn't.
    tasks.sort_by_key(|(position, _)| *position);
    schedules.sort_by_key(|(position, _)| *position);
    questions.sort_by_key(|(position, _)| *position);
    mentions.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
    data.past.sort_by_key(|turn| std::cmp::Reverse(turn.seq));
    for line in mentions.iter().flat_map(|(_, lines)| lines.lines()) {
        if !data.mentions.iter().any(|existing| existing == line) {
            data.mentions.push(line.to_owned());
        }
    }
    data.tasks = tasks.into_iter().map(|(_, task)| task).collect();
    data.schedules = schedules.into_iter().map(|(_, schedule)| schedule).collect();
    data.questions = questions.into_iter().map(|(_, question)| question).collect();
    Ok(data)
}
