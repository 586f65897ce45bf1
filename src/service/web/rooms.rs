//! The rooms and their rules, for owners.

use std::time::Duration;

use adjutant_chat::Address;
use adjutant_engine::conversation::rooms::{label, parts};
use adjutant_l10n::{page_tables as words, room_rules};
use adjutant_store::Result;
use adjutant_store::room_rules::rooms;
use adjutant_types::ConversationId;
use adjutant_web::views::{Edit, PageAction, Table, TableRow};
use futures::future::try_join_all;

use super::WebBackend;
use super::tables::{table, texts};

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
