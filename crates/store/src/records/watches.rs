//! Watches, how far what they read has been read, and what they have found.
//!
//! Properties, each whatever crashes and however many instances work on it:
//!
//! - What a source brought, and how far it is read, are one commit: [`found`] and [`advance`].
//! - A watch finds a key once, and each of its keys is told in one telling: [`fire`].

use std::collections::HashSet;

use adjutant_types::{
    AccountId, Bounds, Condition, ConversationId, ItemId, ItemState, Mark, PersonId, TurnId, WatchAction,
    WatchId, WatchItem, WatchSource, WatchState,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::FromRow;

use crate::inbox::WATCH;
use crate::{Batch, Result, Stale, Store, Value};

/// How long the keys of what was found stay, in milliseconds. What is older when it comes is no news.
pub const KEYS_MS: i64 = 90 * 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct WatchRow {
    /// Six characters, for people to type.
    pub id: WatchId,
    pub person_id: PersonId,
    pub conversation_id: ConversationId,
    /// Its name in the configuration, if it stands there.
    pub config_name: Option<String>,
    pub source: WatchSource,
    pub condition: Condition,
    pub action: WatchAction,
    /// The person's own words of what to do, or `/run NAME`; empty if it only tells.
    pub words: String,
    /// JSON of the wishes that were read from its words when it was made.
    pub wishes: String,
    pub bounds: Bounds,
    pub state: WatchState,
    /// What is older is no news, in milliseconds.
    pub active_since: i64,
    /// When it may tell next, in milliseconds.
    pub next_at: i64,
    pub tellings: i64,
    /// The inbox row of its last turn, until the turn's outcome is known.
    pub running: Option<String>,
    /// How many turns in a row have failed.
    pub failures: i64,
    /// The day whose money is used up.
    pub day: i64,
    /// SHA-256 of the secret of a webhook.
    pub secret: Option<String>,
    pub created_at: i64,
    /// Grows with each change.
    pub version: i64,
    /// Since when its folder can't be read.
    #[serde(default)]
    pub unread_since: Option<i64>,
}

impl WatchRow {
    /// Whether it may tell something now. A time that only a clock set back can explain counts as now.
    pub fn is_due(&self, now: i64) -> bool {
        self.next_at <= now || self.next_at - now > self.bounds.every_s.saturating_mul(1000)
    }
}

/// Something that a watch or a briefing has found.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ItemRow {
    /// Order over all.
    pub seq: i64,
    pub id: ItemId,
    pub person_id: PersonId,
    /// Where its person is told of it.
    pub conversation_id: ConversationId,
    /// None: a briefing found it.
    pub watch_id: Option<WatchId>,
    /// What it is, unless that was too much to store or is too old.
    pub thing: Option<WatchItem>,
    pub state: ItemState,
    /// The inbox row of the telling that told it: see [`event`].
    pub told_by: Option<String>,
    pub found_at: i64,
    /// When to tell it again.
    pub later_at: Option<i64>,
}

/// How far a source has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    pub source: WatchSource,
    /// None: it was never read.
    pub mark: Option<Mark>,
    version: i64,
}

/// What of a watch is still to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenItems {
    /// The oldest.
    pub items: Vec<ItemRow>,
    /// How many there are in all, and the `seq` of the last.
    pub count: i64,
    pub last: i64,
}

/// What a turn began with, beside its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnItems {
    /// Whether a watch began it; otherwise a button under a telling or a briefing did.
    pub is_watch: bool,
    /// None if it was deleted since.
    pub watch: Option<WatchRow>,
    pub items: Vec<ItemRow>,
    /// What the button asks for.
    pub verb: String,
}

macro_rules! columns {
    () => {
        "id, person_id, conversation_id, config_name, source, condition, action, words, wishes, bounds, state, \
         active_since, next_at, tellings, running, failures, day, secret, created_at, version"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), ", unread_since FROM watches ", $rest)
    };
}

macro_rules! select_items {
    ($rest:literal) => {
        concat!(
            "SELECT seq, id, person_id, conversation_id, watch_id, thing, state, told_by, found_at, later_at \
             FROM watch_items ",
            $rest
        )
    };
}

fn text_of(value: &impl Serialize) -> String {
    json!(value).to_string()
}

fn values_of(row: &WatchRow) -> [Value; 20] {
    values! {
        &row.id, &row.person_id, &row.conversation_id, row.config_name.as_deref(), text_of(&row.source),
        text_of(&row.condition), row.action, &row.words, &row.wishes, text_of(&row.bounds), row.state,
        row.active_since, row.next_at, row.tellings, row.running.as_deref(), row.failures, row.day,
        row.secret.as_deref(), row.created_at, row.version
    }
}

/// Adds a watch. The batch fails if its id, or its name in the configuration, is taken.
pub fn insert(batch: &mut Batch, row: &WatchRow) {
    const SQL: &str = concat!(
        "INSERT INTO watches (",
        columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
         ON CONFLICT DO NOTHING"
    );
    batch.must(Stale::WatchChanged, SQL, values_of(row));
}

/// Changes a watch, unless it was changed since it was read.
pub fn change(batch: &mut Batch, old: &WatchRow, new: &WatchRow) {
    const SQL: &str = concat!(
        "UPDATE watches SET (",
        columns!(),
        ") = ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20 + 1) \
         WHERE id = $1 AND version = $20"
    );
    batch.must(Stale::WatchChanged, SQL, values_of(&WatchRow { version: old.version, ..new.clone() }));
    forget_idle_sources(batch);
}

/// Records since when what active watches read can't be read; none: it can be.
pub fn set_unread(batch: &mut Batch, source: &WatchSource, since: Option<i64>) {
    const SET: &str = "UPDATE watches SET unread_since = $2 WHERE source = $1 AND state = 'active' AND unread_since IS NULL";
    const CLEAR: &str = "UPDATE watches SET unread_since = NULL WHERE source = $1";
    match since {
        Some(since) => batch.run(SET, values! { text_of(source), since }),
        None => batch.run(CLEAR, values! { text_of(source) }),
    };
}

/// Deletes a watch, with the run that waits for its turn. What it has told stays, and so do its keys, for an undo.
pub fn delete(batch: &mut Batch, id: &WatchId) {
    let sql = "UPDATE inbox SET state = 'done' WHERE state = 'new' AND event = (SELECT running FROM watches WHERE id = $1)";
    batch.run(sql, [id.into()]);
    batch.run("UPDATE watch_items SET state = 'unfit' WHERE watch_id = $1 AND state = 'new'", [id.into()]);
    batch.must(Stale::WatchChanged, "DELETE FROM watches WHERE id = $1", [id.into()]);
    forget_idle_sources(batch);
}

/// Forgets what was found in an account, and how far that was read. A turn that such a thing has begun still knows that.
pub(crate) fn forget_account(batch: &mut Batch, id: &AccountId) {
    for sql in [
        "UPDATE watch_items SET thing = NULL, key = id, \
         state = CASE state WHEN 'new' THEN 'unfit' WHEN 'later' THEN 'done' ELSE state END \
         WHERE thing LIKE '%\"account\":\"' || $1 || '\"%'",
        "DELETE FROM watch_sources WHERE source LIKE '%\"account\":\"' || $1 || '\"%'",
    ] {
        batch.run(sql, [id.into()]);
    }
}

/// What comes while no watch is active isn't caught up: such a source begins afresh.
pub(crate) fn forget_idle_sources(batch: &mut Batch) {
    const SQL: &str =
        "DELETE FROM watch_sources WHERE source NOT IN (SELECT source FROM watches WHERE state = 'active')";
    batch.run(SQL, []);
}

pub async fn by_id(store: &Store, id: &WatchId) -> Result<Option<WatchRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

/// A person's watches, the oldest first.
pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<WatchRow>> {
    store.all(select!("WHERE person_id = $1 ORDER BY created_at, id"), &[person.into()]).await
}

pub async fn configured(store: &Store) -> Result<Vec<WatchRow>> {
    store.all(select!("WHERE config_name IS NOT NULL ORDER BY config_name"), &[]).await
}

pub async fn active_on(store: &Store, source: &WatchSource) -> Result<Vec<WatchRow>> {
    let sql = select!("WHERE state = 'active' AND source = $1 ORDER BY created_at, id");
    store.all(sql, &[text_of(source).into()]).await
}

/// The active watches that end by themselves and have nothing more to tell now.
pub async fn ending(store: &Store) -> Result<Vec<WatchRow>> {
    let sql = select!(
        "WHERE state = 'active' AND running IS NULL AND bounds NOT LIKE '%\"until\":null%' AND id NOT IN \
         (SELECT watch_id FROM watch_items WHERE state = 'new' AND watch_id IS NOT NULL)"
    );
    store.all(sql, &[]).await
}

/// What active watches read.
pub async fn sources(store: &Store) -> Result<Vec<WatchSource>> {
    store.column("SELECT DISTINCT source FROM watches WHERE state = 'active'", &[]).await
}

/// How far a source has been read.
pub async fn source(store: &Store, source: &WatchSource) -> Result<SourceRow> {
    const SQL: &str = "SELECT mark, version FROM watch_sources WHERE source = $1";
    let row: Option<(Mark, i64)> = store.first(SQL, &[text_of(source).into()]).await?;
    let (mark, version) = row.unzip();
    Ok(SourceRow { source: source.clone(), mark, version: version.unwrap_or_default() })
}

/// Sets how far a source has been read. What was found up to there belongs in the same batch, which fails if the source was
/// read by somebody else since, or no watch is active on it.
pub fn advance(batch: &mut Batch, old: &SourceRow, mark: &Mark) {
    let sql = "INSERT INTO watch_sources (source, mark, version) SELECT source, $2, $3 + 1 FROM watches \
        WHERE state = 'active' AND source = $1 AND ($3 = 0 OR EXISTS \
        (SELECT 1 FROM watch_sources s WHERE s.source = $1)) LIMIT 1 ON CONFLICT (source) DO UPDATE \
        SET mark = excluded.mark, version = excluded.version WHERE watch_sources.version = $3";
    batch.must(Stale::SourceMoved, sql, values! { text_of(&old.source), text_of(mark), old.version });
}

/// Adds something that a watch has found, unless it has found this key before or isn't active. `None`: it is one of too many
/// to be described.
pub fn found(store: &Store, batch: &mut Batch, watch: &WatchRow, key: &str, thing: Option<&WatchItem>) {
    let sql = "INSERT INTO watch_items (id, person_id, conversation_id, watch_id, key, thing, state, found_at) \
        SELECT $1, person_id, conversation_id, id, $3, $4, 'new', $5 FROM watches \
        WHERE id = $2 AND state = 'active' ON CONFLICT DO NOTHING";
    batch.run(sql, values! { store.new_id::<String>(), &watch.id, key, thing.map(text_of), store.now() });
}

/// Adds something that is told otherwise: in the answer of a turn, or at a later time.
pub fn brief(
    batch: &mut Batch,
    id: &ItemId,
    (conversation, person): (&ConversationId, &PersonId),
    thing: &WatchItem,
    (now, later_at): (i64, Option<i64>),
) {
    let state = if later_at.is_some() { ItemState::Later } else { ItemState::Told };
    let sql = "INSERT INTO watch_items (id, person_id, conversation_id, key, thing, state, found_at, later_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    batch.run(sql, values! { id, person, conversation, &thing.id, text_of(thing), state, now, later_at });
}

/// The active watches of a channel, or of one chat there, that have something to tell, now or later, or a turn without a
/// known outcome. It is asked all the time, and while there is nothing it reads two empty indexes.
pub async fn tellable(store: &Store, channel: &str, chat: &str) -> Result<Vec<WatchRow>> {
    let sql = select!(
        "WHERE id IN (SELECT watch_id FROM watch_items WHERE state = 'new' \
         UNION SELECT id FROM watches WHERE running IS NOT NULL) AND state = 'active' AND conversation_id IN \
         (SELECT id FROM conversations WHERE channel = $1 AND ($2 = '' OR place = $2)) ORDER BY next_at LIMIT 1000"
    );
    store.all(sql, &[channel.into(), chat.into()]).await
}

/// What of a watch is still to be told: the first `limit` things, and how many there are.
pub async fn open(store: &Store, id: &WatchId, limit: i64) -> Result<OpenItems> {
    const COUNT: &str =
        "SELECT count(*), coalesce(max(seq), 0) FROM watch_items WHERE watch_id = $1 AND state = 'new'";
    let (count, last): (i64, i64) = store.first(COUNT, &[id.into()]).await?.unwrap_or_default();
    let sql = select_items!("WHERE watch_id = $1 AND state = 'new' AND seq <= $2 ORDER BY seq LIMIT $3 + 0");
    let items = store.all(sql, &[id.into(), last.into(), limit.into()]).await?;
    Ok(OpenItems { items, count, last })
}

/// Makes the next telling of a watch: of its `count` open things up to the `seq` `last`. What is told belongs in the same batch,
/// which fails if the watch was changed, or there is more or less to tell than was read. The number of the telling, which
/// `new` needn't have, is one more than `old` has.
pub fn fire(batch: &mut Batch, old: &WatchRow, new: &WatchRow, (last, count): (i64, i64)) {
    let tellings = old.tellings + 1;
    let event = event(&old.id, tellings);
    change(batch, old, &WatchRow { tellings, ..new.clone() });
    batch.run(
        "UPDATE watch_items SET state = 'told', told_by = $1 WHERE watch_id = $2 AND state = 'new' AND seq <= $3",
        values! { &event, &old.id, last },
    );
    // On a server, a row with a smaller `seq` may be committed later than one with a greater one: it must not be told unread.
    batch.must_return(
        Stale::WatchChanged,
        "SELECT n FROM (SELECT count(*) AS n FROM watch_items WHERE told_by = $1) t WHERE n = $2",
        values! { event, count },
    );
}

/// Leaves something to a telling of another watch, unless it was told since it was read. It belongs behind the [`fire`] of that
/// telling.
pub fn leave_to(batch: &mut Batch, item: &ItemRow, telling: &str) {
    let sql = "UPDATE watch_items SET state = 'unfit', told_by = $1 WHERE id = $2 AND state = 'new'";
    batch.must(Stale::WatchChanged, sql, [telling.into(), (&item.id).into()]);
}

/// What other watches have found under the keys of what a watch has open up to the `seq` `last`, if both only tell one person in
/// one place: what is open, and what was told among at most so many things.
pub async fn found_by_others(store: &Store, id: &WatchId, (last, most): (i64, i64)) -> Result<Vec<ItemRow>> {
    let sql = select_items!(
        "WHERE seq IN (SELECT o.seq FROM watch_items n JOIN watches v ON v.id = n.watch_id JOIN watches w \
         ON w.person_id = v.person_id AND w.conversation_id = v.conversation_id AND w.id <> v.id \
         JOIN watch_items o ON o.watch_id = w.id AND o.key = n.key WHERE n.watch_id = $1 AND n.state = 'new' \
         AND n.seq <= $2 AND v.action = 'tell' AND w.action = 'tell') AND (state = 'new' OR (told_by IS NOT NULL \
         AND (SELECT count(*) FROM watch_items t WHERE t.told_by = watch_items.told_by AND t.state <> 'unfit') <= $3)) \
         ORDER BY seq"
    );
    store.all(sql, &[id.into(), last.into(), most.into()]).await
}

/// The name of the inbox row of a telling.
pub fn event(id: &WatchId, telling: i64) -> String {
    format!("{WATCH}{id}:{telling}")
}

/// Sets what became of something, unless it was set since it was read.
pub fn set_item(batch: &mut Batch, item: &ItemRow, state: ItemState, later_at: Option<i64>) {
    batch.must(
        Stale::WatchChanged,
        "UPDATE watch_items SET state = $1, later_at = $2 WHERE id = $3 AND state = $4 AND coalesce(later_at, 0) = $5",
        values! { state, later_at, &item.id, item.state, item.later_at.unwrap_or_default() },
    );
}

/// Something that was found for this person: by its own id or, the newest that they were told of first, by that of the thing.
pub async fn item(store: &Store, person: &PersonId, id: &ItemId) -> Result<Option<ItemRow>> {
    let found =
        store.first(select_items!("WHERE id = $1 AND person_id = $2"), &[id.into(), person.into()]).await?;
    if found.is_some() {
        return Ok(found);
    }
    let sql = select_items!(
        "WHERE person_id = $1 AND state NOT IN ('new', 'unfit') AND replace(thing, $2, '') <> thing ORDER BY seq DESC"
    );
    let of_thing = format!("\"id\":{},", serde_json::Value::from(id.as_str()));
    store.first(sql, &[person.into(), of_thing.into()]).await
}

/// The ids of what a person has taken off the list, or put off, since a time.
pub async fn settled_since(store: &Store, person: &PersonId, at: DateTime<Utc>) -> Result<HashSet<String>> {
    let sql = select_items!("WHERE person_id = $1 AND found_at >= $2 AND state IN ('done', 'later')");
    let rows: Vec<ItemRow> = store.all(sql, &[person.into(), at.timestamp_millis().into()]).await?;
    Ok(rows.into_iter().filter_map(|row| Some(row.thing?.id)).collect())
}

/// What a person's watches that only tell have found since a time, or have left to another one, the newest first.
pub async fn found_since(store: &Store, person: &PersonId, since: i64, limit: i64) -> Result<Vec<ItemRow>> {
    let sql = select_items!(
        "WHERE person_id = $1 AND found_at >= $2 AND state <> 'unfit' AND (watch_id IN \
         (SELECT id FROM watches WHERE action = 'tell') OR EXISTS (SELECT 1 FROM watch_items o JOIN watches w \
         ON w.id = o.watch_id WHERE o.told_by = watch_items.told_by AND o.key = watch_items.key \
         AND o.state = 'unfit' AND w.action = 'tell')) ORDER BY seq DESC LIMIT $3 + 0"
    );
    store.all(sql, &[person.into(), since.into(), limit.into()]).await
}

/// What is to be told again now on a channel, or in one chat there.
pub async fn later_due(store: &Store, channel: &str, chat: &str) -> Result<Vec<ItemRow>> {
    let sql = select_items!(
        "WHERE state = 'later' AND later_at <= $1 AND conversation_id IN \
         (SELECT id FROM conversations WHERE channel = $2 AND ($3 = '' OR place = $3)) ORDER BY later_at LIMIT 100"
    );
    store.all(sql, &[store.now().into(), channel.into(), chat.into()]).await
}

/// What a turn began with, if a watch or a button under a telling began it.
pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Option<TurnItems>> {
    const EVENT: &str = "SELECT event, person_id FROM inbox WHERE turn_id = $1 \
                         AND (event LIKE ' watch:%' OR event LIKE ' line:%') ORDER BY id LIMIT 1";
    let row: Option<(String, PersonId)> = store.first(EVENT, &[turn.into()]).await?;
    let Some((event, person)) = row else { return Ok(None) };
    // Of a watch or, behind a button, of a thing.
    let mut parts = event.split(':').skip(1);
    let (id, verb) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default().to_owned());
    let sql = select_items!("WHERE (told_by = $1 OR id = $2) AND person_id = $3 ORDER BY seq LIMIT 100");
    let items = store.all(sql, &[(&event).into(), id.into(), (&person).into()]).await?;
    let (is_watch, watch) = (event.starts_with(WATCH), by_id(store, &id.into()).await?);
    Ok(Some(TurnItems { is_watch, watch, items, verb }))
}

/// What the model calls of a watch have cost since a time, in billionths of a US dollar: those of its turns, and those that
/// judged for it, which have the purpose of [`judging`].
pub async fn nano_usd_since(store: &Store, id: &WatchId, since: i64) -> Result<i64> {
    // The turns are found by the names of their inbox rows.
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let sql = "SELECT CAST(coalesce(sum(c.cost_usd), 0) * 1000000000 AS BIGINT) FROM (\
        SELECT k.cost_usd FROM inbox i JOIN executions e ON e.turn_id = i.turn_id \
        JOIN calls k ON k.execution_id = e.id WHERE k.started_at >= $2 AND i.event IN \
        (SELECT told_by FROM watch_items WHERE watch_id = $1 AND told_by IS NOT NULL AND found_at >= $3) \
        UNION ALL SELECT cost_usd FROM background_calls WHERE purpose = $4 AND started_at >= $2) c";
    store.count(sql, &[id.into(), since.into(), (since - DAY_MS).into(), judging(id).into()]).await
}

/// The purpose of the model calls that judge for a watch.
pub fn judging(id: &WatchId) -> String {
    format!("watch {id}")
}
