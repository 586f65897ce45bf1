//! `adjutant memory`: what is remembered of whom, and from where.

use std::fmt::Write;
use std::process::ExitCode;

use adjutant_config::Config;
use adjutant_store::memories::{self, KeptRow};
use adjutant_store::{Batch, Store, StoreError};
use adjutant_types::{MemoryId, clock};
use adjutant_workflows::trace::one_line;

use super::{CliError, MemoryCommand, Result, on_store, say};

pub(super) async fn run(config: Config, command: MemoryCommand) -> Result<ExitCode> {
    let text = on_store(&config, async |store| match &command {
        MemoryCommand::List { who } => Ok(list(store, &config, who.as_deref()).await?),
        MemoryCommand::Forget { id } => forget(store, &config, &id.as_str().into()).await,
    });
    say(&text.await?)
}

async fn list(store: &Store, config: &Config, who: Option<&str>) -> Result<String, StoreError> {
    let mut text = String::new();
    for row in memories::kept(store).await? {
        let KeptRow { name, memory, quote, .. } = &row;
        if who.is_some_and(|who| who != name && *who != *row.person_id) {
            continue;
        }
        let since =
            clock::utc(memory.created_at).with_timezone(&config.assistant.timezone).format("%Y-%m-%d");
        let (id, kind, scope) = (&memory.id, &memory.kind, &memory.scope);
        let _ =
            writeln!(text, "{id}  {}, {since}, {kind}, {scope}: {}", one_line(name), one_line(&memory.text));
        if let Some(quote) = quote.as_deref().filter(|quote| !quote.is_empty()) {
            let _ = writeln!(text, "    taken from their words: “{}”", one_line(quote));
        }
    }
    if text.is_empty() {
        text.push_str("Nothing is remembered.\n");
    }
    Ok(text)
}

async fn forget(store: &Store, config: &Config, id: &MemoryId) -> Result<String> {
    let Some(row) = memories::kept(store).await?.into_iter().find(|row| row.memory.id == *id) else {
        return Err(CliError::plain(format!(
            "no memory has the id '{id}'; `adjutant memory list` shows them"
        )));
    };
    let mut batch = Batch::new();
    let zone = config.assistant.timezone;
    let text = row.memory.text.clone();
    let memories = [adjutant_memory::Meant::all(row.memory)];
    let asker = adjutant_memory::Forgetting { person: &row.person_id, here: None, zone };
    adjutant_memory::forget(store, asker, &memories, None, &mut batch).await?;
    store.write(batch).await?;
    Ok(format!("Forgotten: {}\n", one_line(&text)))
}
