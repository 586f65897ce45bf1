//! Vectors of memories and of what was said. A text gets its row with its words, as long as vectors are wanted, and its
//! vector later, beside the turns; both go with the text.

use adjutant_types::PersonId;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sqlx::FromRow;

use crate::search::DocumentId;
use crate::{Batch, Result, Store};

/// Which model makes the vectors from now on; none if none are wanted. Texts without a row get one; vectors of another
/// model stay until they are made again.
pub async fn want(store: &Store, model: Option<&str>) -> Result<()> {
    if model.is_none() && wanted(store).await?.is_none() {
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.run("DELETE FROM vector_models WHERE model <> $1", [model.unwrap_or_default().into()]);
    match model {
        Some(model) => {
            batch.run(
                "INSERT INTO vector_models (model, made, gone) SELECT $1, coalesce(max(made), 0), $2 \
                 FROM search_vectors WHERE true ON CONFLICT DO NOTHING",
                [model.into(), store.now().into()],
            );
            // All, because some may have been left out meanwhile.
            batch.run(
                "INSERT INTO search_vectors (document, model, vector) \
                 SELECT DISTINCT document, '', '' FROM search_words WHERE word = '#' ON CONFLICT DO NOTHING",
                [],
            );
        }
        None => {
            batch.run("DELETE FROM search_vectors", []);
        }
    }
    store.write(batch).await.map(drop)
}

/// The model whose vectors are wanted, if any are.
pub async fn wanted(store: &Store) -> Result<Option<String>> {
    store.value("SELECT model FROM vector_models", &[]).await
}

/// Adds the row of a text that is new, if vectors are wanted.
pub(super) fn add(batch: &mut Batch, document: DocumentId) {
    let sql = "INSERT INTO search_vectors (document, model, vector) SELECT $1, '', '' FROM vector_models \
        WHERE model <> '' ON CONFLICT DO NOTHING";
    batch.run(sql, [document.into()]);
}

/// A text whose vector is to be made.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Pending {
    #[sqlx(try_from = "i64")]
    pub document: DocumentId,
    pub person_id: PersonId,
    pub text: String,
}

/// Texts without a vector of this model, newest first.
pub async fn pending(store: &Store, model: &str, limit: i64) -> Result<Vec<Pending>> {
    let sql = "SELECT v.document, coalesce(m.person_id, t.person_id, '') AS person_id, coalesce(m.text, t.text, '') AS text \
        FROM (SELECT document FROM search_vectors WHERE model < $1 OR model > $1 ORDER BY document DESC LIMIT $2 + 0) AS v \
        LEFT JOIN memories m ON v.document % 2 = 1 AND m.seq = (v.document - 1) / 2 \
        LEFT JOIN turns t ON v.document % 2 = 0 AND t.seq = v.document / 2 ORDER BY v.document DESC";
    store.all(sql, &[model.into(), limit.into()]).await
}

/// How many texts have a vector of this model, and how many have none yet.
pub async fn counts(store: &Store, model: &str) -> Result<(i64, i64)> {
    const MADE: &str = "SELECT count(*) FROM search_vectors WHERE model = $1";
    const PENDING: &str = "SELECT count(*) FROM search_vectors WHERE model < $1 OR model > $1";
    Ok((store.count(MADE, &[model.into()]).await?, store.count(PENDING, &[model.into()]).await?))
}

/// Stores the vectors of some texts, except of those that are gone; an empty vector if the model refuses the text.
pub fn store<'a>(batch: &mut Batch, model: &str, made: impl IntoIterator<Item = (DocumentId, &'a [u8])>) {
    batch.run("UPDATE vector_models SET made = made + 1 WHERE model = $1", [model.into()]);
    for (document, vector) in made {
        let sql = "UPDATE search_vectors SET model = $1, vector = $2, \
            made = (SELECT coalesce(max(made), 0) FROM vector_models) WHERE document = $3";
        batch.run(sql, [model.into(), BASE64_STANDARD.encode(vector).into(), document.into()]);
    }
}

/// What vectors there are: who has read them for one version knows whether they are still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Version {
    /// Grows with every write of vectors, each of which has the number of its write.
    pub made: i64,
    /// Is another one after vectors went.
    pub gone: i64,
}

/// The version of a model's vectors; none if they aren't wanted any more.
pub async fn version(store: &Store, model: &str) -> Result<Option<Version>> {
    store.first("SELECT made, gone FROM vector_models WHERE model = $1", &[model.into()]).await
}

/// The vectors of the newest texts of a space that were made after a write, with their texts' numbers.
pub async fn of_space(
    store: &Store,
    space: i64,
    model: &str,
    after: i64,
    newest: i64,
) -> Result<Vec<(DocumentId, Vec<u8>)>> {
    // As one text: a row each would take longer than the search.
    let sql = "SELECT string_agg(f.document || ' ' || f.vector, ',') FROM \
        (SELECT v.document, v.vector FROM search_words w JOIN search_vectors v ON v.document = w.document \
         WHERE w.space = $1 AND w.word = '#' AND v.model = $2 AND v.made > $3 AND v.vector <> '' \
         ORDER BY w.document DESC LIMIT $4 + 0) AS f";
    let arguments = [space.into(), model.into(), after.into(), newest.into()];
    let all = store.value::<Option<String>>(sql, &arguments).await?.flatten().unwrap_or_default();
    let read = |row: &str| {
        let (document, vector) = row.split_once(' ')?;
        Some((document.parse::<i64>().ok()?.into(), BASE64_STANDARD.decode(vector).ok()?))
    };
    Ok(all.split(',').filter_map(read).collect())
}
