//! Vectors that were read, cached for the next searches as long as the store has the same ones.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use adjutant_models::embeddings::Vector;
use adjutant_store::search::DocumentId;
use adjutant_store::vectors::{self, Version};
use adjutant_store::{Result, Store};
use moka::future::Cache;

/// How much is cached, in bytes, and how long after its last use.
const MAX: u64 = 64 << 20;
const IDLE: Duration = Duration::from_mins(10);
/// How many texts of a space are compared: the newest.
const NEWEST: usize = 20_000;

type Text = (DocumentId, Arc<Vector>);

/// The vectors of one space by one model, newest text first.
struct Space {
    version: Version,
    texts: Vec<Text>,
}

/// The vectors of the spaces that were searched last.
pub(super) struct VectorCache(Cache<(i64, Arc<str>), Arc<Space>>);

impl VectorCache {
    pub(super) fn new() -> Self {
        let weight = |space: &Arc<Space>| {
            let bytes = space.texts.iter().map(|(_, vector)| vector.dimensions() + 64).sum::<usize>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().weigher(move |_, space| weight(space));
        Self(cache.max_capacity(MAX).time_to_idle(IDLE).build())
    }

    /// The texts of a space that are near to a question, each with how near it is.
    pub(super) async fn similarities(
        &self,
        store: &Store,
        space: i64,
        model: &Arc<str>,
        question: &Vector,
    ) -> Result<Vec<(DocumentId, f64)>> {
        let Some(version) = vectors::version(store, model).await? else { return Ok(Vec::new()) };
        let key = (space, model.clone());
        let cached = self
            .0
            .get(&key)
            .await
            .filter(|cached| cached.version.gone == version.gone && cached.version.made <= version.made);
        let current = match cached {
            Some(cached) if cached.version == version => cached,
            former => {
                let read = Arc::new(read(store, &key, version, former.as_deref()).await?);
                self.0.insert(key, read.clone()).await;
                read
            }
        };
        let near = |(text, vector): &Text| question.similarity(vector).map(|near| (*text, near));
        Ok(current.texts.iter().filter_map(near).collect())
    }
}

/// Reads a space's vectors, or those alone that were made after the former ones.
async fn read(
    store: &Store,
    (space, model): &(i64, Arc<str>),
    version: Version,
    former: Option<&Space>,
) -> Result<Space> {
    let after = former.map_or(-1, |former| former.version.made);
    let newest = i64::try_from(NEWEST).unwrap_or(i64::MAX);
    let read = vectors::of_space(store, *space, model, after, newest).await?;
    let mut texts: Vec<Text> =
        read.into_iter().map(|(text, bytes)| (text, Arc::new(Vector::from_bytes(bytes)))).collect();
    if let Some(former) = former {
        let again: HashSet<DocumentId> = texts.iter().map(|(text, _)| *text).collect();
        texts.extend(former.texts.iter().filter(|(text, _)| !again.contains(text)).cloned());
    }
    texts.sort_unstable_by_key(|(text, _)| Reverse(*text));
    texts.truncate(NEWEST);
    Ok(Space { version, texts })
}
