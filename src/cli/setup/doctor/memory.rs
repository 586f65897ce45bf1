//! Tries the server that makes vectors of memories.

use adjutant_chat::Finding;
use adjutant_config::Config;
use adjutant_models::{ModelError, ModelErrorKind};
use adjutant_store::{Store, StoreError, vectors};
use adjutant_workflows::trace::text::several;

use super::{Checks, voice};
use crate::service;

const SECTION: &str = "[memory.embeddings]";

const OLLAMA: &str = ":11434/";

/// Asks the server for a vector, and looks how many texts have one of the same kind.
pub(super) async fn embeddings(config: &Config, store: &Store, checks: &mut Checks) {
    let name = "memory.embeddings";
    let made = match service::vectors(config) {
        Ok(Some(made)) => made,
        // Nothing is wrong without.
        Ok(None) => return,
        Err(error) => {
            return checks.add(name, Finding::error(error.to_string(), format!("correct {SECTION}")));
        }
    };
    let model = match voice::patiently(made.attempt()).await {
        Ok(model) => model,
        Err(error) => {
            let reason = format!("{error}; memories are found by words alone");
            return checks.add(name, Finding::error(reason, fix(&error, config)));
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

/// The fix for a server that fails.
fn fix(error: &ModelError, config: &Config) -> String {
    let ollama = config.memory.embeddings.as_ref().filter(|wanted| wanted.base_url.contains(OLLAMA));
    match (ollama, error.kind) {
        (Some(_), ModelErrorKind::Network) => "start Ollama: `ollama serve`".to_owned(),
        (Some(wanted), ModelErrorKind::Refused) => format!("run `ollama pull {}`", wanted.name),
        _ => voice::fix(error, SECTION),
    }
}

fn found(model: &str, wanted: Option<&str>, there: i64, missing: i64) -> Finding {
    let count = |count: i64| several(usize::try_from(count).unwrap_or(0), "text");
    match wanted {
        Some(wanted) if wanted != model => Finding::warning(
            format!("{model} answers, but {} were embedded with {wanted}", count(missing)),
            "restart `adjutant serve`, which makes them again",
        ),
        _ if missing > 0 => {
            Finding::ok(format!("{model} answers; {} still without a vector", count(missing)))
        }
        _ => Finding::ok(format!("{model} answers; {} with a vector", count(there))),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_config::Embeddings;

    use super::*;

    #[test]
    fn what_to_do_about_ollama_is_a_command() {
        let mut config = Config::in_dir("data");
        config.memory.embeddings = Some(Embeddings {
            base_url: "http://127.0.0.1:11434/v1/".to_owned(),
            name: "nomic-embed-text".to_owned(),
            api_key: None,
        });
        let fix = |kind, config: &Config| fix(&ModelError::new(kind, "x"), config);
        assert_eq!(fix(ModelErrorKind::Refused, &config), "run `ollama pull nomic-embed-text`");
        assert_eq!(fix(ModelErrorKind::Network, &config), "start Ollama: `ollama serve`");
        config.memory.embeddings.as_mut().unwrap().base_url = "http://127.0.0.1:9000/v1/".to_owned();
        assert!(fix(ModelErrorKind::Network, &config).contains("[memory.embeddings] base_url"));
    }
}
