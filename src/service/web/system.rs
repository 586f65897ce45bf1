//! The system behind the page: rooms with their rules, instances, leases, MCP servers, and the log by turn.

use std::time::Duration;

use adjutant_chat::Address;
use adjutant_engine::conversation::rooms::{label, parts};
use adjutant_l10n::{page_tables as words, room_rules};
use adjutant_store::room_rules::rooms;
use adjutant_store::{Result, leases};
use adjutant_types::{ConversationId, InstanceId, TurnId};
use adjutant_web::views::{Cell, Edit, LogLine, PageAction, Table, TableRow, Viewer};
use futures::future::try_join_all;

use super::WebBackend;
use super::tables::{row, table, texts};
use super::view::ViewerContext;
use crate::logging::tail;

/// How many turns with log lines are listed.
const LOGGED: usize = 30;

/// How many rooms are listed, the latest.
const ROOMS: i64 = 30;
/// How long a platform may take to name one.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a name is cached.
const NAMED: Duration = Duration::from_mins(10);

/// The names of rooms, by channel and room.
pub(super) type RoomNames = moka::future::Cache<(String, String), String>;

pub(super) fn no_names() -> RoomNames {
    moka::future::Cache::builder().max_capacity(1_000).time_to_live(NAMED).build()
}

impl WebBackend {
    pub(super) async fn instances(&self, view: &ViewerContext<'_>) -> Result<Table> {
        let own = &self.conversations.instance.id;
        let living = leases::living(&self.store).await?.into_iter().map(|(id, pid, since)| {
            let name = if id == *own { words::this_instance(id) } else { id.to_string() };
            row(vec![name.into(), pid.to_string().into(), view.moment(since).into()], None)
        });
        Ok(table(
            (words::instances(), String::new()),
            [words::instance(), words::process(), words::since()],
            living,
        ))
    }

    pub(super) async fn leases(&self) -> Result<Table> {
        let own = &self.conversations.instance.id;
        let by = |by: InstanceId| if by == *own { words::by_this_instance() } else { by.to_string() };
        let held = leases::held(&self.store).await?.into_iter();
        Ok(table(
            (words::leases(), words::no_leases()),
            [words::of_what(), words::held_by(), words::number()],
            held.map(|(name, holder, epoch)| row(texts([name, by(holder), epoch.to_string()]), None)),
        ))
    }

    pub(super) fn servers(&self) -> Table {
        let line = |(name, state): (String, String)| {
            let tools = self.mcp.approved(&name).to_string();
            row(texts([name, state, tools]), None)
        };
        table(
            (words::servers(), words::no_servers()),
            [words::server(), words::state(), words::approved_tools()],
            self.mcp.states().into_iter().map(line),
        )
    }

    pub(super) fn logs(&self, view: &ViewerContext<'_>) -> Table {
        let line = |logged: tail::Logged| {
            let to = format!("/log/{}", logged.turn);
            let lines = logged.lines.to_string();
            let last = view.moment(logged.at);
            row(vec![last.into(), lines.into(), Cell::Link(logged.last, to)], None)
        };
        table(
            (words::log(), words::nothing_logged()),
            [words::when(), words::lines(), words::last_line()],
            tail::turns(LOGGED).into_iter().map(line),
        )
    }

    pub(super) async fn log_of(&self, viewer: &Viewer, turn: &TurnId) -> Result<Option<Vec<LogLine>>> {
        if !viewer.is_owner || self.visible(viewer, turn).await?.is_none() {
            return Ok(None);
        }
        let view = self.view(viewer).await?;
        let line = |line: tail::Line| LogLine {
            at: view.moment(line.at),
            level: line.level.as_str(),
            text: line.text,
        };
        Ok(Some(tail::of_turn(turn).into_iter().map(line).collect()))
    }

    pub(super) async fn rooms(&self) -> Result<Table> {
        let latest = rooms(&self.store, ROOMS).await?;
        Ok(table(
            (words::rooms(), words::no_rooms()),
            [words::name(), words::channel(), words::answers(), words::skills(), words::people()],
            try_join_all(latest.into_iter().map(|room| self.room(room))).await?,
        ))
    }

    async fn room(&self, room: (ConversationId, String, String)) -> Result<TableRow> {
        let (id, channel, place) = room;
        let address = Address { channel, place };
        let rule = self.conversations.room_rule(&address).await?;
        let [answers, skills, people] = parts(&rule);
        let shown_skills = if rule.skills.is_some() { skills.clone() } else { room_rules::all_skills() };
        let shown_people = if rule.people.is_some() { people.clone() } else { room_rules::everybody() };
        let fields =
            vec![(words::answers_as(), answers), (words::skills_as(), skills), (words::people_as(), people)];
        let name = self.room_name(&address).await;
        let cells = texts([name, address.channel, label(rule.answers), shown_skills, shown_people]);
        let edit = Some(Edit { act: PageAction::EditRoom, key: id.to_string(), fields });
        Ok(TableRow { cells, acts: Vec::new(), edit })
    }

    /// What the platform calls a room; its id if the platform doesn't say.
    async fn room_name(&self, Address { channel, place }: &Address) -> String {
        let named = async {
            let rooms = self.conversations.services().rooms.get(channel)?;
            let found = tokio::time::timeout(PATIENCE, rooms.find(place, &[])).await.ok()?.ok()?;
            found.into_iter().find(|room| room.place == *place).map(|room| room.name)
        };
        let name = async { named.await.unwrap_or_else(|| place.clone()) };
        self.room_names.get_with((channel.clone(), place.clone()), name).await
    }
}
