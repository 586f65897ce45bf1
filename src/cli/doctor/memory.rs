//! Tries the server that makes vectors of memories.

use adjutant_chat::Finding;

use super::{Checks, voice};
use crate::config::Config;
use crate::service;
use crate::store::{Store, StoreError, vectors};
use crate::trace::text::several;

const SECTION: &str = "[memory.embeddings]";

/// Asks the server for a vector, and looks how many texts have one of the same kind.
pub(super) async fn embeddings(config: &Config, store: &Store, checks: &mut Checks) {
    let name = "memory.embeddings";
    let made = match service::vectors(config) {
        Ok(Some(made)) => made,
        Ok(None) => return,
        Err(error) => {
            return checks.add(name, Finding::error(error.to_string(), format!("correct {SECTION}")));
        }
    };
    let model = match voice::patiently(made.attempt()).await {
        Ok(model) => model,
        Err(error) => {
            let reason = format!("{error}; memories are found by words alone");
            return checks.add(name, Finding::error(reason, voice::fix(&error, SECTION)));
        }
    };
    let counts =
        async || Ok::<_, StoreError>((vectors::wanted(store).await?, vectors::counts(store, &model).await?));
    checks.add(
        name,
        match counts().await {
            Err(error) => Finding::error(error.to_string(), "run `adjutant db check`"),
            Ok((wanted, (there, missing))) => found(&model, wanted.as_deref(), there, missing),
        },
    );
}

fn found(model: &str, wanted: Option<&str>, there: i64, missing: i64) -> Finding {
    let count = |count: i64| several(usize::try_from(count).unwrap_or(0), "text");
    match wanted {
        Some(wanted) if wanted != model => Finding::warning(
            format!("{model} answers, and the vectors of {} are of {wanted}", count(missing)),
            "restart `adjutant serve`, which makes them again",
        ),
        _ if missing > 0 => {
            Finding::ok(format!("{model} answers; {} still without a vector", count(missing)))
        }
        _ => Finding::ok(format!("{model} answers; {} with a vector", count(there))),
    }
}
