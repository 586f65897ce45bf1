//! What the product can do. No prompt says it: the look-up of the domain `assistant` does.

use std::fmt::Write;

use adjutant_chat::COMMANDS;
use adjutant_config::Policy;
use adjutant_skills::accounts::PersonAccounts;
use adjutant_store::Result;
use adjutant_types::{AccountService, PromptText};

use super::Run;
use super::tools::{self, ABOUT};

/// The commands whose wish no skill carries out.
const TYPED: [&str; 10] =
    ["new", "stop", "spawn", "rules", "room", "mine", "accounts", "link", "web", "pair"];

impl Run<'_> {
    /// The skills of the domain, and what else there is.
    pub(super) async fn about(&self) -> Result<PromptText> {
        let mut text =
            "\nCommands that the person can type; those with * only so, the others also in words:".to_owned();
        let services = &self.orchestrator.agents.executor.services;
        let may_connect = !services.logins.offer().is_empty();
        for command in COMMANDS.iter().filter(|command| may_connect || command.name != "connect") {
            let argument = command.argument.map(|name| format!(" {}", name.to_uppercase().replace('-', " ")));
            let (argument, about) = (argument.unwrap_or_default(), (command.description)());
            let mark = if TYPED.contains(&command.name) { '*' } else { '-' };
            let _ = write!(text, "\n{mark} /{}{argument}: {about}", command.name);
        }
        let workflows = self.orchestrator.runner.workflows.current();
        let workflows: Vec<&str> = workflows.workflows.iter().map(|one| one.name.as_str()).collect();
        let _ = write!(
            text,
            "\nRoles, for agents and /spawn: {}\nWorkflows: {}; workflow.draft or /draft makes a new one, and asks before \
             it runs\nPlans: workflow.plan or /plan; shown and asked about before anything runs\nMemory: what you save, \
             and only where the owner has set that up, what is noticed in messages; /memories shows it, /forget removes it",
            self.roles.listing(),
            workflows.join(", ")
        );
        let conversation = &self.ctx.turn.conversation;
        if !conversation.shared {
            let accounts = services.accounts.of(&self.ctx).await?;
            if conversation.channel == "console" || self.ctx.is_owners().await? {
                text.push_str(&self.about_owners(&accounts));
            } else if !accounts.all.is_empty() {
                text.push_str(&about_accounts(&accounts, &[]));
            }
        }
        Ok(tools::skills_of(&self.listed, ABOUT).with(PromptText::config(text)))
    }

    fn about_owners(&self, accounts: &PersonAccounts) -> String {
        let services = &self.orchestrator.agents.executor.services;
        let more = [("notes folder", services.notes.is_some()), ("web search", services.search.is_some())];
        let approval = &self.ctx.turn.settings.approval;
        let risks = [("low", approval.low), ("medium", approval.medium), ("high", approval.high)];
        let risks = risks.map(|(risk, policy)| format!("{risk} risk: {}", word(policy)));
        let skills = approval.skills.iter().map(|(skill, policy)| format!("{skill}: {}", word(*policy)));
        let rules: Vec<String> = risks.into_iter().chain(skills).collect();
        format!(
            "{}; calendar and contacts without a server are kept here, emails without an account as files\n\
             Approvals ([approval] in the configuration): {}; what the person didn't ask for may be asked all the same",
            about_accounts(accounts, &more),
            rules.join(", ")
        )
    }
}

/// Which accounts the person has, and what else there is.
fn about_accounts(accounts: &PersonAccounts, more: &[(&str, bool)]) -> String {
    let own = [
        ("email account", accounts.has(AccountService::Mail)),
        ("calendar server", accounts.has(AccountService::Calendar)),
        ("contacts server", accounts.has(AccountService::Contacts)),
    ];
    let all = own.iter().chain(more);
    let all: Vec<String> =
        all.map(|(name, is_there)| format!("{name}: {}", if *is_there { "yes" } else { "no" })).collect();
    format!("\nAccounts: {}", all.join(", "))
}

fn word(policy: Policy) -> &'static str {
    match policy {
        Policy::Auto => "runs",
        Policy::Ask => "asks first",
        Policy::Deny => "never runs",
    }
}
