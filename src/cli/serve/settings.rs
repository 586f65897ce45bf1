//! The settings on the web page: shows and changes the configuration file for owners. The running service notices the
//! change by itself, as one by hand.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_config::{Config, Env, KeyKind};
use adjutant_l10n::page_settings as words;
use adjutant_store::secrets::digest;
use adjutant_store::{Store, people, settings as changes};
use adjutant_web::views::{
    SettingsEdit, SettingsField, SettingsInput, SettingsOutcome, SettingsPage, SettingsPreview,
    SettingsSection, Viewer,
};
use adjutant_web::{Result, SettingsEditor, Unavailable};
use async_trait::async_trait;
use chrono_tz::Tz;
use tokio::sync::Mutex;

use super::reload;
use crate::cli::CliError;
use crate::cli::init::draft::Draft;
use crate::cli::init::{check, prepare, write};
use crate::cli::settings::{self, Group, SettingError};
use crate::service::{LiveConfig, Service, SkillSet, moment};

const CHANGES: i64 = 10;

/// How long the page has to open another one before a restart.
const BEFORE_RESTART: Duration = Duration::from_secs(1);

pub(super) struct Editor {
    path: PathBuf,
    env: Env,
    zone: Tz,
    store: Store,
    live: Arc<LiveConfig>,
    skill_set: SkillSet,
    /// Held while the file is written.
    writing: Mutex<()>,
}

/// Why a change isn't made.
enum Ended {
    Refused(Vec<String>),
    Unavailable,
}

impl From<Unavailable> for Ended {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

impl From<CliError> for Ended {
    fn from(error: CliError) -> Self {
        Self::Refused(problems(&error))
    }
}

impl From<SettingError> for Ended {
    fn from(error: SettingError) -> Self {
        refused(match error {
            SettingError::Unknown(key) => words::unknown_setting(key),
            SettingError::NotASource(key) => words::not_a_source(key),
        })
    }
}

fn refused(why: String) -> Ended {
    Ended::Refused(vec![why])
}

fn problems(error: &CliError) -> Vec<String> {
    match error {
        CliError::Config(error) => error.problems.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    }
}

/// The reason is in the log.
fn failed(error: impl Display) -> Unavailable {
    tracing::error!(%error, "the settings couldn't be shown or changed");
    Unavailable
}

impl Editor {
    pub(super) fn new(config: &Config, env: &Env, service: &Service, skill_set: &SkillSet) -> Self {
        Self {
            path: config.path.clone().unwrap_or_default(),
            env: env.clone(),
            zone: config.assistant.timezone,
            store: service.store().clone(),
            live: service.live.clone(),
            skill_set: skill_set.clone(),
            writing: Mutex::new(()),
        }
    }

    /// The file, which may be behind a link, and its text.
    fn read(&self) -> Result<(PathBuf, String)> {
        let path = self.path.canonicalize().map_err(failed)?;
        let text = fs::read_to_string(&path).map_err(failed)?;
        Ok((path, text))
    }

    async fn try_change(&self, viewer: &Viewer, edit: &SettingsEdit) -> Result<SettingsOutcome, Ended> {
        let _one_at_a_time = self.writing.lock().await;
        let (path, text) = self.read()?;
        if digest(&text) != edit.digest {
            return Err(refused(words::changed_meanwhile()));
        }
        let before = Draft::of_text(&text, &self.path, &self.env)?;
        let (after, keys) = if edit.is_undo {
            self.former(&path, &text).await?
        } else {
            let mut after = before.clone();
            let groups = settings::groups(&before, &self.skill_set);
            let keys = settings::change(&mut after, &groups, &edit.typed)?;
            (after, keys)
        };
        if after.text() == text {
            return Err(refused(words::nothing_changes()));
        }
        let (checked, skills) = (after.clone(), self.skill_set.skills.clone());
        let check = move || -> Result<Config, CliError> {
            let config = settings::check(&checked)?;
            reload::check(config, &skills).map_err(CliError::from)
        };
        #[expect(clippy::disallowed_methods, reason = "it reads local files, which is soon done")]
        let config = tokio::task::spawn_blocking(check).await.map_err(failed)??;
        // Who was an owner until just now changes nothing, and nobody takes from themselves what they need to undo it.
        let (person, now) = (viewer.person.as_str().into(), before.read().ok());
        for config in now.iter().chain([&config]) {
            let owners = LiveConfig::owners(config);
            if !people::is_owner(&self.store, &person, &owners).await.map_err(failed)? {
                return Err(refused(words::would_lock_out()));
            }
        }
        let by_hand =
            || if edit.is_undo { String::new() } else { settings::command(&path, &edit.typed, &keys) };
        let command = (!settings::is_writable(&path)).then(by_hand);
        if !edit.is_confirmed || command.is_some() {
            let lines = settings::difference(&before, &after);
            let needs_restart = self.live.needs_restart(&config);
            return Ok(SettingsOutcome::Preview(SettingsPreview { lines, needs_restart, command }));
        }
        self.write(viewer, (&path, &text), &after.text(), &keys).await
    }

    /// Writes the file. What is on record is what was about to be done: a crash leaves no change without its record.
    async fn write(
        &self,
        viewer: &Viewer,
        (path, before): (&Path, &str),
        after: &str,
        keys: &[String],
    ) -> Result<SettingsOutcome, Ended> {
        let unwritten = |error: std::io::Error| refused(words::cannot_write(error));
        let file = prepare(path, after).map_err(unwritten)?;
        write(&settings::former(path), before).map_err(unwritten)?;
        let keys = serde_json::to_string(keys).map_err(failed)?;
        tracing::info!(owner = viewer.person, keys, "an owner changes the configuration");
        let noted = changes::note(&self.store, &viewer.person.as_str().into(), &keys, &digest(after)).await;
        noted.map_err(failed)?;
        // Somebody may have changed it by hand just now.
        if self.read()?.1 != before {
            return Err(refused(words::changed_meanwhile()));
        }
        file.persist(path).map_err(|error| unwritten(error.error))?;
        Ok(SettingsOutcome::Written)
    }

    /// The file before its last change, and what that changed, unless it was changed by hand since.
    async fn former(&self, path: &Path, text: &str) -> Result<(Draft, Vec<String>), Ended> {
        let last = changes::latest(&self.store, 1).await.map_err(failed)?.pop();
        let last = last.filter(|last| last.digest == digest(text));
        let last = last.ok_or_else(|| refused(words::cannot_undo()))?;
        let former = fs::read_to_string(settings::former(path)).map_err(|_| refused(words::cannot_undo()))?;
        Ok((Draft::of_text(&former, &self.path, &self.env)?, keys_of(&last)))
    }
}

fn keys_of(change: &changes::SettingsChange) -> Vec<String> {
    serde_json::from_str(&change.keys).unwrap_or_default()
}

fn section(group: &Group, draft: &Draft) -> SettingsSection {
    let fields = group.settings.iter().filter_map(|setting| {
        let input = match setting.key.kind {
            KeyKind::Whole | KeyKind::Decimal | KeyKind::Text => SettingsInput::Line,
            KeyKind::List | KeyKind::People => SettingsInput::Lines,
            KeyKind::Flag => SettingsInput::Choice(vec![("true", words::on()), ("false", words::off())]),
            KeyKind::Policy => SettingsInput::Choice(vec![
                ("auto", words::auto()),
                ("ask", words::ask()),
                ("deny", words::deny()),
            ]),
            KeyKind::Secret => SettingsInput::Secret(match setting.source(draft) {
                Some(source) => words::set_at(source),
                None if draft.has(&setting.path()) => words::in_clear(),
                None => words::not_set(),
            }),
        };
        Some(SettingsField {
            key: setting.name(),
            about: setting.about.clone(),
            example: setting.key.example.replace(['[', ']', '"'], ""),
            input,
            value: setting.value(draft)?,
        })
    });
    let test = group.part.as_ref().map(|part| part.path().join("."));
    SettingsSection { title: group.title.clone(), test, fields: fields.collect() }
}

#[async_trait]
impl SettingsEditor for Editor {
    async fn settings(&self, viewer: &Viewer) -> Result<SettingsPage> {
        let (path, text) = self.read()?;
        let mut page = SettingsPage { digest: digest(&text), ..SettingsPage::default() };
        match Draft::of_text(&text, &self.path, &self.env) {
            Ok(draft) => {
                let groups = settings::groups(&draft, &self.skill_set);
                page.sections = groups.iter().map(|group| section(group, &draft)).collect();
                match draft.read() {
                    Ok(config) => page.needs_restart = self.live.needs_restart(&config),
                    Err(error) => page.problems = problems(&error.into()),
                }
            }
            Err(error) => page.problems = problems(&error),
        }
        let latest = changes::latest(&self.store, CHANGES).await.map_err(failed)?;
        let is_untouched = latest.first().is_some_and(|last| last.digest == page.digest);
        page.can_undo = is_untouched && settings::former(&path).exists();
        let zone = viewer.zone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(self.zone);
        for change in latest {
            let person = people::person_by_id(&self.store, &change.person_id).await.map_err(failed)?;
            let name = if person.name.is_empty() { words::somebody() } else { person.name };
            let at = moment(change.changed_at, self.store.now(), zone);
            page.changes.push((name, keys_of(&change).join(", "), at));
        }
        Ok(page)
    }

    async fn change(&self, viewer: &Viewer, edit: &SettingsEdit) -> Result<SettingsOutcome> {
        match self.try_change(viewer, edit).await {
            Ok(outcome) => Ok(outcome),
            Err(Ended::Refused(why)) => Ok(SettingsOutcome::Refused(why)),
            Err(Ended::Unavailable) => Err(Unavailable),
        }
    }

    async fn test(&self, part: &str) -> Result<Option<Vec<Finding>>> {
        let (_, text) = self.read()?;
        let Ok(draft) = Draft::of_text(&text, &self.path, &self.env) else { return Ok(None) };
        let groups = settings::groups(&draft, &self.skill_set);
        let mut parts = groups.into_iter().filter_map(|group| group.part);
        let Some(part) = parts.find(|known| known.path().join(".") == part) else { return Ok(None) };
        Ok(Some(check::check(&draft, &part).await))
    }

    fn restart(&self, viewer: &Viewer) {
        tracing::info!(owner = viewer.person, "an owner restarts the assistant");
        let live = self.live.clone();
        tokio::spawn(async move {
            tokio::time::sleep(BEFORE_RESTART).await;
            live.restart.notify_one();
        });
    }
}
