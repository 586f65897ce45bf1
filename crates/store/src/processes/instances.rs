//! The processes on a store, for people to see.

use std::collections::BTreeMap;

use adjutant_types::InstanceId;
use sqlx::FromRow;

use super::leases::{self, Instance};
use crate::{Batch, Result, Store};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivingInstance {
    pub id: InstanceId,
    pub pid: i64,
    pub started_at: i64,
    /// Its machine; empty for one of an earlier version.
    pub host: String,
    /// Its version; empty for an earlier one.
    pub version: String,
    /// A digest of each of its settings, by key.
    pub settings: BTreeMap<String, String>,
    pub channels: Vec<String>,
    pub turns: i64,
    /// How much of a processor it used of late, in thousandths, if it shares turns.
    pub load: i64,
}

impl LivingInstance {
    /// The keys of the settings that differ from another instance's. None if either instance described no settings.
    pub fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        if self.settings.is_empty() || other.settings.is_empty() {
            return Vec::new();
        }
        let keys = self.settings.keys().chain(other.settings.keys());
        let mut keys: Vec<&str> = keys
            .filter(|key| self.settings.get(*key) != other.settings.get(*key))
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// An instance's description of itself.
#[derive(Debug)]
pub(super) struct About {
    host: String,
    settings: String,
}

impl About {
    /// Writes the description into a row that has none yet.
    pub(super) fn tell(&self, batch: &mut Batch, instance: &InstanceId) {
        batch.run(
            "UPDATE instances SET host = $1, version = $2, settings = $3 WHERE id = $4 AND version = ''",
            [(&self.host).into(), env!("CARGO_PKG_VERSION").into(), (&self.settings).into(), instance.into()],
        );
    }
}

/// Records an instance's description, also for when the instance has to register again.
pub async fn register(store: &Store, instance: &Instance, settings: &BTreeMap<String, String>) -> Result<()> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let settings = serde_json::to_string(settings).unwrap_or_default();
    let about = instance.about.get_or_init(|| About { host: host.trim().to_owned(), settings });
    store.write(Batch::with(|batch| about.tell(batch, &instance.id))).await.map(drop)
}

/// The live processes, oldest first.
pub async fn living(store: &Store) -> Result<Vec<LivingInstance>> {
    #[derive(FromRow)]
    struct Row {
        id: InstanceId,
        host: String,
        version: String,
        settings: String,
        turns: i64,
        load: i64,
    }
    let sql = "SELECT i.id, i.host, i.version, i.settings, CAST(i.load AS BIGINT) AS load, (SELECT count(*) FROM turns t WHERE t.ended_at IS NULL \
        AND t.status = 'running' AND t.instance = i.id) AS turns FROM instances i";
    let rows: Vec<Row> = store.all(sql, &[]).await?;
    let sql = "SELECT instance, substr(name, 9) FROM leases WHERE instance IS NOT NULL AND name LIKE 'channel:%' \
        ORDER BY name";
    let held: Vec<(InstanceId, String)> = store.all(sql, &[]).await?;
    let mut living = Vec::new();
    for (id, pid, started_at) in leases::living(store).await? {
        let Some(row) = rows.iter().find(|row| row.id == id) else { continue };
        let channels = held.iter().filter(|(holder, _)| *holder == id).map(|(_, channel)| channel.clone());
        living.push(LivingInstance {
            channels: channels.collect(),
            pid,
            started_at,
            host: row.host.clone(),
            version: row.version.clone(),
            settings: serde_json::from_str(&row.settings).unwrap_or_default(),
            turns: row.turns,
            load: row.load,
            id,
        });
    }
    Ok(living)
}
