//! Asks for the model.

use adjutant_config::BUILTIN;

use super::draft::Draft;
use super::terminal::Terminal;
use crate::cli::Result;

const TABLE: [&str; 1] = ["model"];

pub(super) struct Suggestion {
    pub(super) provider: &'static str,
    /// Its name in a sentence.
    pub(super) title: &'static str,
    /// Its line in the list.
    about: &'static str,
    /// A good first model.
    pub(super) model: &'static str,
}

pub(super) const SUGGESTIONS: [Suggestion; 5] = [
    Suggestion {
        provider: "openrouter",
        title: "OpenRouter",
        about: "openrouter   models from many companies; key: https://openrouter.ai/keys",
        model: "anthropic/claude-sonnet-4.5",
    },
    Suggestion {
        provider: "anthropic",
        title: "Anthropic",
        about: "anthropic    key: https://console.anthropic.com/settings/keys",
        model: "claude-sonnet-4-5",
    },
    Suggestion {
        provider: "openai",
        title: "OpenAI",
        about: "openai       key: https://platform.openai.com/api-keys",
        model: "gpt-5-mini",
    },
    Suggestion {
        provider: "gemini",
        title: "Google Gemini",
        about: "gemini       key: https://aistudio.google.com/apikey",
        model: "gemini-2.5-flash",
    },
    Suggestion {
        provider: "ollama",
        title: "Ollama",
        about: "ollama       free, on this machine; first run `ollama pull qwen3:8b`",
        model: "qwen3:8b",
    },
];

/// Asks for provider, name and key.
pub(super) fn ask(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    let written = draft.at(&["model", "provider"]);
    let mut items: Vec<&str> = SUGGESTIONS.iter().map(|suggestion| suggestion.about).collect();
    items.extend([
        "another provider",
        "none         basic mode: free, but it understands only simple sentences",
    ]);
    let (other, builtin) = (SUGGESTIONS.len(), SUGGESTIONS.len() + 1);
    let suggested = match SUGGESTIONS.iter().position(|suggestion| suggestion.provider == written) {
        Some(index) => index,
        None if written.is_empty() || written == BUILTIN => builtin,
        None => other,
    };
    let chosen = terminal.choose(&items, suggested)?;
    let provider = match SUGGESTIONS.get(chosen) {
        Some(suggestion) => suggestion.provider.to_owned(),
        None if chosen == builtin => BUILTIN.to_owned(),
        None => terminal.line("Provider", &written)?,
    };
    set_provider(draft, &provider);
    if provider == BUILTIN {
        return Ok(());
    }
    let name = draft.at(&["model", "name"]);
    let suggested = SUGGESTIONS.get(chosen).map_or("", |suggestion| suggestion.model);
    let name = terminal.line("Model", if name.is_empty() { suggested } else { &name })?;
    draft.set_text(&TABLE, "name", &name);
    if wants_key(draft) {
        let enter = if draft.has(&["model", "api_key"]) { "keep it" } else { "" };
        let key = terminal.secret("API key", enter)?;
        if !key.trim().is_empty() {
            draft.set_secret(&TABLE, "api_key", key.trim());
        }
    }
    Ok(())
}

/// Sets the provider; removes the previous provider's keys, because a key for one server must not go to another.
pub(in crate::cli) fn set_provider(draft: &mut Draft, provider: &str) {
    let written = draft.at(&["model", "provider"]);
    let before = if written.is_empty() { BUILTIN } else { &written };
    if before != provider {
        for key in ["name", "api_key", "base_url", "price"] {
            draft.remove(&["model", key]);
        }
        // Its missing keys came from there.
        for table in ["agent", "intent"] {
            if !draft.has(&["model", table, "provider"]) {
                draft.remove(&["model", table]);
            }
        }
    }
    draft.set_text(&TABLE, "provider", provider);
}

/// Whether the file would be invalid without a key.
fn wants_key(draft: &Draft) -> bool {
    let mut without = draft.clone();
    without.remove(&["model", "api_key"]);
    let problems = without.read_only(&TABLE).map_or_else(|error| error.problems, |_| Vec::new());
    problems.iter().any(|problem| problem.key.as_deref() == Some("model.api_key"))
}
