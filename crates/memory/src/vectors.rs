//! Vectors as a second opinion on what a question means: `[memory] embeddings`.
//!
//! Promises: they are made beside the turns; a server that is down, slow or talks nonsense costs a search half a second
//! once a minute, and nothing else; vectors of another model or length are made again and never compared.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use adjutant_models::embeddings::{Embedded, Embedder, Vector};
use adjutant_models::{ModelError, ModelErrorKind};
use adjutant_store::search::DocumentId;
use adjutant_store::usage::{self, BackgroundCall};
use adjutant_store::vectors::{self, Pending};
use adjutant_store::{Batch, Result, Store, StoreError};
use adjutant_types::{ConversationId, PersonId};
use futures::future::try_join_all;
use parking_lot::RwLock;

use super::ranking::Asker;
use super::vector_cache::VectorCache;

/// How long a search waits for the question's vector.
const PATIENCE: Duration = Duration::from_millis(500);
/// After a failure, how long searches don't ask, in milliseconds.
const REST: i64 = 60_000;
/// How many texts are sent at once.
const AT_ONCE: i64 = 64;
/// How many of the texts count that are near to a question.
const NEAREST: usize = 50;
/// Says how long a model's vectors are.
const TRIAL: &str = "Where do we live?";

/// Makes vectors, and compares them.
pub struct Vectors {
    embedder: Embedder,
    /// The name in the store of vectors of this model and length, once the length is known.
    model: RwLock<Option<Arc<str>>>,
    rests_until: AtomicI64,
    cache: VectorCache,
}

/// Why no vectors were made.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    #[error("{0}")]
    Server(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Vectors {
    /// Of this server; nothing is sent yet.
    pub fn new(embedder: Embedder) -> Self {
        Self { embedder, model: RwLock::default(), rests_until: AtomicI64::new(0), cache: VectorCache::new() }
    }

    /// Asks the server for one vector; its model and length, as the store names them.
    pub async fn attempt(&self) -> Result<String, ModelError> {
        let made = self.embedder.embed(&[TRIAL]).await?;
        Ok(self.name_of(&made))
    }

    fn name_of(&self, made: &Embedded) -> String {
        format!("{}/{}", self.embedder.name, made.vectors.first().map_or(0, Vector::dimensions))
    }

    fn cached_model(&self) -> Option<Arc<str>> {
        self.model.read().clone()
    }

    fn cache_model(&self, model: &str) -> Arc<str> {
        let model: Arc<str> = model.into();
        *self.model.write() = Some(model.clone());
        model
    }

    /// Whether there are texts without a vector, or nobody knows yet.
    pub async fn has_work(&self, store: &Store) -> Result<bool> {
        let Some(model) = self.cached_model() else { return Ok(true) };
        Ok(!vectors::pending(store, &model, 1).await?.is_empty())
    }

    /// Makes the vectors that are missing. Returns how many texts were done.
    pub async fn catch_up(&self, store: &Store) -> Result<usize, VectorError> {
        let model = match self.cached_model() {
            Some(model) => model,
            None => {
                let model = self.attempt().await?;
                vectors::want(store, Some(&model)).await?;
                self.cache_model(&model)
            }
        };
        let mut done = 0;
        loop {
            let pending = vectors::pending(store, &model, AT_ONCE).await?;
            if pending.is_empty() {
                return Ok(done);
            }
            done += pending.len();
            let mut by_person: BTreeMap<String, Vec<Pending>> = BTreeMap::new();
            for text in pending {
                by_person.entry(text.person_id.to_string()).or_default().push(text);
            }
            for texts in by_person.values() {
                self.make(store, &model, texts).await?;
            }
        }
    }

    async fn make(&self, store: &Store, model: &str, texts: &[Pending]) -> Result<(), VectorError> {
        match self.embed(store, model, texts).await {
            // One of them may be too long for the model, or empty to its eyes.
            Err(VectorError::Server(error)) if error.kind == ModelErrorKind::Refused => {
                for text in texts {
                    let alone = self.embed(store, model, std::slice::from_ref(text)).await;
                    match alone {
                        Err(VectorError::Server(error)) if error.kind == ModelErrorKind::Refused => {
                            // Unless it refuses everything.
                            self.attempt().await?;
                            let mut batch = Batch::new();
                            vectors::store(&mut batch, model, [(text.document, &[][..])]);
                            store.write(batch).await?;
                        }
                        done => done?,
                    }
                }
                Ok(())
            }
            done => done,
        }
    }

    async fn embed(&self, store: &Store, model: &str, texts: &[Pending]) -> Result<(), VectorError> {
        let started_at = store.now();
        let made =
            self.embedder.embed(&texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>()).await?;
        let name = self.name_of(&made);
        if name != model {
            let message =
                format!("its vectors are {name} now, and were {model}; a restart makes all of them again");
            return Err(ModelError::new(ModelErrorKind::Nonsense, message).into());
        }
        let mut batch = Batch::new();
        let bytes = texts.iter().zip(&made.vectors).map(|(text, vector)| (text.document, vector.bytes()));
        vectors::store(&mut batch, model, bytes);
        let person = texts.first().map_or_else(PersonId::default, |text| text.person_id.clone());
        let call = self.call(store, person, ConversationId::default(), made.tokens, started_at);
        usage::insert_background_call(&mut batch, &call);
        store.write(batch).await?;
        Ok(())
    }

    /// The model call that `adjutant usage` counts.
    fn call(
        &self,
        store: &Store,
        person_id: PersonId,
        conversation_id: ConversationId,
        tokens: i64,
        started_at: i64,
    ) -> BackgroundCall {
        BackgroundCall {
            id: store.new_id(),
            conversation_id,
            person_id,
            purpose: "vectors".into(),
            model: self.embedder.name.clone(),
            error: None,
            tokens: [tokens, 0, 0],
            cost_usd: 0.0,
            started_at,
            duration_ms: store.now() - started_at,
            audio_ms: 0,
        }
    }

    /// The texts of these spaces that mean most nearly what a question does, nearest first, each with how near it is.
    /// None of them where no vector can be had in time.
    pub(super) async fn nearest(
        &self,
        store: &Store,
        asker: &Asker<'_>,
        spaces: &[i64],
        asked: &str,
    ) -> Result<Vec<(DocumentId, f64)>> {
        let started_at = store.now();
        let Some((model, Embedded { vectors, tokens })) = self.of_question(store, asked).await? else {
            return Ok(Vec::new());
        };
        let Some(question) = vectors.first() else { return Ok(Vec::new()) };
        let call = self.call(store, asker.person.clone(), asker.here.id.clone(), tokens, started_at);
        let mut batch = Batch::new();
        usage::insert_background_call(&mut batch, &call);
        let all = spaces.iter().map(|space| self.cache.similarities(store, *space, &model, question));
        let (near, _) = futures::try_join!(try_join_all(all), store.write(batch))?;
        let mut near = near.concat();
        near.sort_unstable_by(|(text_a, a), (text_b, b)| b.total_cmp(a).then(text_b.cmp(text_a)));
        near.truncate(NEAREST);
        Ok(near)
    }

    /// The question's vector, and the model that made it.
    async fn of_question(&self, store: &Store, text: &str) -> Result<Option<(Arc<str>, Embedded)>> {
        if store.now() < self.rests_until.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let model = match self.cached_model() {
            Some(model) => model,
            // Another process makes them.
            None => match vectors::wanted(store).await? {
                Some(model) => self.cache_model(&model),
                None => return Ok(None),
            },
        };
        let timeout = |_| ModelError::new(ModelErrorKind::Timeout, "no vector in time");
        let made = tokio::time::timeout(PATIENCE, self.embedder.embed(&[text])).await.map_err(timeout);
        let made = made.and_then(|made| made).and_then(|made| match self.name_of(&made) {
            name if *name == *model => Ok(made),
            name => Err(ModelError::new(ModelErrorKind::Nonsense, format!("its vectors are {name} now"))),
        });
        match made {
            Ok(made) => Ok(Some((model, made))),
            Err(error) => {
                tracing::warn!(%error, "a search goes by words alone: the embeddings server failed");
                self.rests_until.store(store.now() + REST, Ordering::Relaxed);
                Ok(None)
            }
        }
    }
}
