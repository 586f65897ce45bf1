//! The settings, for owners: a form a section, and what a change would do to the file.

use std::collections::BTreeMap;

use adjutant_chat::{CheckStatus, Finding, sanitized};
use adjutant_l10n::{page, page_settings as words};
use maud::{Markup, html};

use super::Frame;
use super::layout::{filled, moment, token};
use crate::markdown::{plain, with_code};
use crate::views::{
    Badge, SettingsEdit, SettingsField, SettingsInput, SettingsPage, SettingsPreview, SettingsSection,
};

type Typed = BTreeMap<String, String>;

/// The form, with what was typed already, why that wasn't accepted, and what a test has found.
pub(crate) fn settings(
    frame: &Frame<'_>,
    it: &SettingsPage,
    typed: &Typed,
    (refused, found): (&[String], &[Finding]),
) -> String {
    frame.page(&html! {
        h1.small { (page::settings()) }
        p { (words::about()) }
        @for why in refused.iter().chain(&it.problems) { p.error role="alert" { (with_code(why)) } }
        @if !found.is_empty() { div role="status" { ul.plain { @for one in found { (finding(one)) } } } }
        @if !it.needs_restart.is_empty() {
            form.fields method="post" action="/settings" {
                (token(frame.token))
                p { (plain(&words::needs_restart(it.needs_restart.join(", ")))) }
                button type="submit" name="restart" value="yes" { (words::restart()) }
            }
        }
        @for (number, one) in it.sections.iter().enumerate() { (section(frame, it, typed, (number, one))) }
        @if !it.changes.is_empty() {
            h2 { (words::changes()) }
            ul.plain {
                @for (who, what, when) in &it.changes {
                    li { (plain(&words::change(who, what))) " · " (moment(when)) }
                }
            }
        }
        @if it.can_undo {
            form.inline method="post" action="/settings" {
                (token(frame.token))
                input type="hidden" name="digest" value=(it.digest);
                button.quiet type="submit" name="undo" value="yes" { (words::undo()) }
            }
        }
    })
}

fn finding(finding: &Finding) -> Markup {
    let badge = match finding.status {
        CheckStatus::Ok => Badge::Done,
        CheckStatus::Warning => Badge::Partial,
        CheckStatus::Error => Badge::Failed,
    };
    html! {
        li {
            (super::layout::badge(badge)) " " (with_code(&finding.reason))
            @if !finding.fix.is_empty() { p.by { (with_code(&finding.fix)) } }
        }
    }
}

fn section(
    frame: &Frame<'_>,
    page: &SettingsPage,
    typed: &Typed,
    (number, it): (usize, &SettingsSection),
) -> Markup {
    let is_open = it.fields.iter().any(|field| typed.contains_key(&field.key));
    html! {
        details.request open[is_open] {
            summary { (plain(&it.title)) }
            form.fields method="post" action="/settings" {
                (token(frame.token))
                input type="hidden" name="digest" value=(page.digest);
                @for (at, one) in it.fields.iter().enumerate() {
                    (field(&format!("set-{number}-{at}"), one, typed.get(&one.key)))
                }
                button type="submit" { (words::show_change()) }
            }
            @if let Some(test) = &it.test {
                form.fields method="post" action="/settings" {
                    (token(frame.token))
                    button.quiet type="submit" name="test" value=(sanitized(test)) { (words::test()) }
                    span.by { (words::test_hint()) }
                }
            }
        }
    }
}

fn field(place: &str, it: &SettingsField, typed: Option<&String>) -> Markup {
    let (name, value) = (format!("set.{}", it.key), typed.unwrap_or(&it.value).as_str());
    let (name, example) = (sanitized(&name), sanitized(&it.example));
    html! {
        p.field {
            label for=(place) { b { (plain(&it.key)) } @if !it.about.is_empty() { ": " (plain(&it.about)) } }
            @match &it.input {
                SettingsInput::Line => input id=(place) name=(name) type="text" value=(sanitized(value))
                    placeholder=(example) autocomplete="off" autocapitalize="off" spellcheck="false";,
                SettingsInput::Lines => textarea id=(place) name=(name) rows="2" placeholder=(example)
                    autocapitalize="off" spellcheck="false" { (plain(value)) },
                SettingsInput::Choice(choices) => select id=(place) name=(name) {
                    option value="" { (words::by_default()) }
                    @for (choice, word) in choices {
                        option value=(choice) selected[*choice == value] { (plain(word)) }
                    }
                },
                SettingsInput::Secret(now) => {
                    input id=(place) name=(name) type="text" placeholder="env:NAME"
                        autocomplete="off" autocapitalize="off" spellcheck="false";
                    span.by { (plain(now)) " " (words::secret_hint()) }
                },
            }
        }
    }
}

/// The lines that a change takes away and puts in, and the button that writes them.
pub(crate) fn settings_change(frame: &Frame<'_>, edit: &SettingsEdit, it: &SettingsPreview) -> String {
    frame.page(&html! {
        h1.small { (words::change_title()) }
        div.difference {
            @for (is_new, line) in &it.lines {
                @if *is_new { ins { "+ " (plain(line)) } } @else { del { "− " (plain(line)) } }
            }
        }
        @if !it.needs_restart.is_empty() {
            p { (plain(&words::will_need_restart(it.needs_restart.join(", ")))) }
        }
        @if let Some(command) = &it.command {
            p role="alert" { (words::not_writable()) }
            @if !command.is_empty() { p { (filled(words::command, &html! { code { (plain(command)) } })) } }
        } @else {
            form.fields method="post" action="/settings" {
                (token(frame.token))
                input type="hidden" name="digest" value=(sanitized(&edit.digest));
                @if edit.is_undo { input type="hidden" name="undo" value="yes"; }
                @for (key, text) in &edit.typed {
                    @let name = format!("set.{key}");
                    input type="hidden" name=(sanitized(&name)) value=(sanitized(text));
                }
                button type="submit" name="write" value="yes" { (words::write()) }
            }
        }
        p { a href="/settings" { (words::back()) } }
    })
}
