//! Reads that somebody else led to: a page links to the next one, a service is asked about what it has named itself.
//!
//! Such a read tells the other side nothing but which of its own links was followed. So it needs no wish, as long as
//! nothing private could have chosen the link.

use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::turns;
use adjutant_turn::trust::{Action, ActionKind, MAX_LINKED_PAGES, Target, links};
use adjutant_types::{Basis, ExecutionStatus};
use reqwest::Url;

use super::ActiveCall;
use super::approval_policy::domain;
use crate::{Handler, Result};

impl ActiveCall<'_> {
    /// Whether what the call asks for was named by the one who is asked, in this turn.
    pub(super) async fn is_linked(&self, action: &Action) -> Result<bool> {
        if !matches!(action.kind, ActionKind::PageOpen | ActionKind::ToolRead) || action.targets.is_empty() {
            return Ok(false);
        }
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let done: Vec<&ExecutionRow> = rows
            .iter()
            .filter(|row| row.status == ExecutionStatus::Completed && row.skill.is_some())
            .collect();
        match action.targets.as_slice() {
            [Target::Url(url)] => self.is_linked_page(url, &done).await,
            _ if action.kind == ActionKind::ToolRead => Ok(self.has_named(action, &done)),
            _ => Ok(false),
        }
    }

    /// A link of a page of the same host, in a turn that has read nothing else and whose prompt holds nothing private.
    async fn is_linked_page(&self, url: &str, done: &[&ExecutionRow]) -> Result<bool> {
        let host = |url: &str| Url::parse(url).ok()?.host_str().map(str::to_owned);
        let is_page =
            |row: &ExecutionRow| row.skill.as_deref().is_some_and(|skill| skill.starts_with("web."));
        let data = |row: &ExecutionRow| -> Option<serde_json::Value> {
            serde_json::from_str(row.data.as_deref()?).ok()
        };
        let links_there = done.iter().filter_map(|row| data(row)).any(|page| {
            let (from, text) =
                (page["url"].as_str().unwrap_or_default(), page["text"].as_str().unwrap_or_default());
            host(from).is_some() && host(from) == host(url) && links(text, url)
        });
        let followed = done.iter().filter(|row| row.basis == Some(Basis::Linked)).count();
        Ok(links_there
            && followed < MAX_LINKED_PAGES
            && done.iter().all(|row| is_page(row))
            && turns::is_blank(&self.ctx.store, &self.ctx.turn.id).await?)
    }

    /// Whether every text of the call stands in what the same service returned in this turn.
    fn has_named(&self, action: &Action, done: &[&ExecutionRow]) -> bool {
        let Some(skill) = self.registry.get(self.call.skill) else { return false };
        let is_same = |row: &&&ExecutionRow| {
            let other = row.skill.as_deref().and_then(|name| self.registry.get(name));
            other.is_some_and(|other| {
                !matches!(other.handler, Handler::Builtin(_)) && domain(other) == domain(skill)
            })
        };
        let returned: Vec<&str> = done.iter().filter(is_same).filter_map(|row| row.data.as_deref()).collect();
        action.targets.iter().all(|target| match target {
            Target::Query(text) => returned.iter().any(|data| data.contains(&format!("\"{text}\""))),
            _ => false,
        })
    }
}
