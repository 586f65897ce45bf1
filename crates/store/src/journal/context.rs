//! The data for a turn's first messages, read in one query because every turn needs it.

use std::collections::HashSet;

use adjutant_types::{ConversationId, PersonId, Taint, TurnId};
use sqlx::FromRow;

use crate::inbox::came_by_itself;
use crate::turns::PastTurn;
use crate::{Backend, Result, Store};

/// An open task, as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTask {
    pub id: String,
    pub title: String,
    /// The due date as the person wrote it.
    pub due: Option<String>,
    pub tags: Vec<String>,
    /// The outside sources of its text; none if it isn't marked.
    pub outside: Option<Taint>,
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
    /// Whether no run may end silently.
    pub tells: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextData {
    /// The person's open tasks, the most urgent first.
    pub tasks: Vec<OpenTask>,
    /// How many there are, with those that aren't among them.
    pub open_tasks: usize,
    /// The person's active schedules, the oldest first: an order that stays when one has run.
    pub schedules: Vec<ActiveSchedule>,
    /// Everything marked of the person's, by domain and id, and the files of the turn's messages: all of it is from outside.
    pub outside: HashSet<(String, String)>,
    /// Whom and what the messages of the turn and of those before it mention, a line for each, the newest first.
    pub mentions: Vec<String>,
    /// The newest ended turns of the conversation, the one that ended last first.
    pub past: Vec<PastTurn>,
    /// The turn whose first messages keep the text of a summary, and these messages as they are stored.
    pub summary: Option<(i64, String)>,
    /// The `turns.seq` of the conversation's oldest open turn.
    pub open_from: i64,
    /// Whether other turns of the person are open here.
    pub has_open: bool,
    /// Whether events of the person may be in the store on the day.
    pub has_events: bool,
    /// Whether there are preferences that may be recalled here.
    pub has_preferences: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct ContextQuery<'a> {
    pub person: &'a PersonId,
    pub conversation: &'a ConversationId,
    pub turn: &'a TurnId,
    pub after: i64,
    pub tasks: i64,
    pub turns: i64,
    /// From when to when the person's day is, in milliseconds.
    pub day: (i64, i64),
}

/// Each branch has the same columns: what it is, its order, two numbers, and five texts, of which two are never missing.
/// A turn's flags have the milliseconds that it took above their four bits.
macro_rules! select {
    ($after:literal, $limit:literal) => {
        concat!(
    "\
    SELECT * FROM (SELECT 'task' AS what, row_number() OVER (ORDER BY coalesce(due_at, 9223372036854775807), seq) AS place, \
    CAST(0 AS BIGINT) AS flags, (SELECT count(*) FROM tasks WHERE person_id = $1 AND state = 'open') AS at, \
    id AS a, title AS b, due AS c, (SELECT x.sources FROM taints x WHERE x.domain = 'tasks' AND x.id = tasks.id) AS d, \
    tags AS e FROM tasks \
    WHERE person_id = $1 AND state = 'open' ORDER BY coalesce(due_at, 9223372036854775807), seq LIMIT $5 + 0) AS open_tasks \
    UNION ALL SELECT * FROM (SELECT 'schedule', row_number() OVER (ORDER BY created_at, id), tells, CAST(0 AS BIGINT), id, text, rule, zone, CAST(NULL AS TEXT) \
    FROM schedules WHERE person_id = $1 AND state = 'active' ORDER BY next_at LIMIT 100) AS active \
    UNION ALL SELECT 'outside', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), domain, id, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT) FROM taints WHERE person_id = $1 \
    UNION ALL SELECT 'outside', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), 'files', a.id, CAST(NULL AS TEXT), CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT) FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = $3 \
    UNION ALL SELECT 'turn', t.seq, CAST(CASE WHEN t.forgotten_at IS NULL THEN 0 ELSE 1 END \
    + CASE WHEN EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = t.id AND e.kind = 'skill') OR EXISTS \
    (SELECT 1 FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = t.id) THEN 2 ELSE 0 END \
    + CASE WHEN EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id AND ",
    came_by_itself!("i.event"),
    ") THEN 4 ELSE 0 END + CASE WHEN t.disliked_at IS NULL THEN 0 ELSE 8 END \
    + CASE WHEN t.background = 0 THEN (t.ended_at - t.started_at) * 16 ELSE 0 END AS BIGINT), \
    t.ended_at, CASE WHEN t.forgotten_at IS NULL THEN t.text ELSE '' END, t.text_taint, \
    CASE WHEN t.forgotten_at IS NULL THEN t.answer ELSE '' END, t.taint, t.person_id FROM turns t WHERE t.seq IN (SELECT seq FROM turns \
    WHERE conversation_id = $2 AND ",
    $after,
    " AND ended_at IS NOT NULL AND bodies_emptied_at IS NULL ORDER BY ended_at DESC, seq DESC LIMIT ",
    $limit,
    ") \
    UNION ALL SELECT 'has', coalesce((SELECT min(t.seq) FROM turns t WHERE t.conversation_id = c.id AND t.ended_at IS NULL), \
    9223372036854775807), CAST(coalesce((SELECT max(CASE WHEN t.person_id = $1 AND t.id <> $3 AND t.forgotten_at IS NULL \
    THEN 1 ELSE 0 END) FROM turns t WHERE t.conversation_id = c.id AND t.ended_at IS NULL), 0) \
    + CASE WHEN EXISTS (SELECT 1 FROM objects o WHERE o.person_id = $1 AND o.kind = 'event' \
    AND (o.starts_at IS NULL OR o.starts_at < $8) AND (o.over_at IS NULL OR o.over_at > $7)) THEN 2 ELSE 0 END \
    + CASE WHEN EXISTS (SELECT 1 FROM memories m WHERE m.person_id = $1 AND m.kind = 'preference' \
    AND ((m.scope = 'private' AND c.shared = 0) OR (m.scope = 'room' AND m.conversation_id = c.id))) THEN 4 ELSE 0 END AS BIGINT), \
    CAST(0 AS BIGINT), '', '', CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT) FROM conversations c WHERE c.id = $2 \
    UNION ALL SELECT 'mentions', -t.seq, CAST(0 AS BIGINT), CAST(0 AS BIGINT), i.mentions, '', CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT), CAST(NULL AS TEXT) FROM (SELECT id, seq FROM turns WHERE conversation_id = $2 AND seq > $4 \
    AND forgotten_at IS NULL AND (id = $3 OR ended_at IS NOT NULL) ORDER BY seq DESC LIMIT $6 + 0) t \
    JOIN inbox i ON i.turn_id = t.id WHERE i.mentions <> '' \
    UNION ALL SELECT 'summary', t.seq, CAST(0 AS BIGINT), CAST(0 AS BIGINT), k.first_messages, '', CAST(NULL AS TEXT), \
    CAST(NULL AS TEXT), CAST(NULL AS TEXT) FROM conversations c JOIN turns t ON t.seq = c.summary_turn AND t.conversation_id = c.id \
    JOIN executions e ON e.turn_id = t.id AND e.kind = 'orchestrator' JOIN calls k ON k.execution_id = e.id AND k.n = 0 \
    WHERE c.id = $2 AND c.summary <> '' AND k.first_messages IS NOT NULL"
        )
    };
}

const OF_SERVER: &str = select!("seq > $4", "$6 + 0");
/// However long a conversation is, its newest turns are read by when they ended, and no further back than there are any:
/// `seq + 0` is no range of the other index. A server finds the best way by its statistics, and this would hide it.
pub const EMBEDDED: &str = select!(
    "seq + 0 > $4",
    "(SELECT count(*) FROM (SELECT 1 FROM turns WHERE conversation_id = $2 AND seq > $4 AND ended_at IS NOT NULL \
     AND bodies_emptied_at IS NULL ORDER BY seq DESC LIMIT $6 + 0))"
);

#[derive(FromRow)]
struct Line {
    what: String,
    place: i64,
    flags: i64,
    at: i64,
    a: String,
    b: String,
    c: Option<String>,
    d: Option<String>,
    e: Option<String>,
}

pub async fn read(store: &Store, query: ContextQuery<'_>) -> Result<ContextData> {
    let ContextQuery { person, conversation, turn, after, tasks, turns, day: (from, to) } = query;
    let arguments = values! { person, conversation, turn, after, tasks, turns, from, to };
    let sql = match store.backend() {
        Backend::Embedded { .. } => EMBEDDED,
        Backend::Server { .. } => OF_SERVER,
    };
    let mut lines: Vec<Line> = store.all(sql, &arguments).await?;
    // A query's branches are sorted, but their union isn't.
    lines.sort_by_key(|line| line.place);
    let mut data = ContextData::default();
    for Line { what, place, flags, at, a, b, c, d, e } in lines {
        match what.as_str() {
            "task" => {
                let outside = d.map(|sources| Taint::read(&sources));
                let tags = e.and_then(|tags| serde_json::from_str(&tags).ok()).unwrap_or_default();
                data.tasks.push(OpenTask { id: a, title: b, due: c, tags, outside });
                data.open_tasks = usize::try_from(at).unwrap_or_default();
            }
            "schedule" => {
                let (rule, zone) = (c.unwrap_or_default(), d.unwrap_or_default());
                data.schedules.push(ActiveSchedule { id: a, text: b, rule, zone, tells: flags != 0 });
            }
            "outside" => drop(data.outside.insert((a, b))),
            "mentions" => {
                for line in a.lines() {
                    if !data.mentions.iter().any(|existing| existing == line) {
                        data.mentions.push(line.to_owned());
                    }
                }
            }
            "summary" => data.summary = Some((place, a)),
            "has" => {
                data.open_from = place;
                [data.has_open, data.has_events, data.has_preferences] =
                    [1, 2, 4].map(|flag| flags & flag != 0);
            }
            _ => data.past.push(PastTurn {
                seq: place,
                person_id: e.unwrap_or_default().into(),
                text: a,
                text_taint: Taint::read(&b),
                answer: c,
                taint: Taint::read(&d.unwrap_or_default()),
                at,
                written_at: at - (flags >> 4),
                forgotten: flags & 1 != 0,
                has_calls: flags & 2 != 0,
                is_scheduled: flags & 4 != 0,
                is_disliked: flags & 8 != 0,
            }),
        }
    }
    data.past.sort_by_key(|turn| std::cmp::Reverse((turn.at, turn.seq)));
    Ok(data)
}
