//! The system behind the page: instances, leases, MCP servers, and the log by turn.

use adjutant_l10n::page_tables as words;
use adjutant_store::{Result, leases};
use adjutant_types::{InstanceId, TurnId};
use adjutant_web::views::{Cell, LogLine, Table, Viewer};

use super::WebBackend;
use super::tables::{row, table, texts};
use super::view::ViewerContext;
use crate::logging::tail;

/// How many turns with log lines are listed.
const LOGGED: usize = 30;

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
}
