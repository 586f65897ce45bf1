//! Tables: a person's things, and the system.

use adjutant_chat::sanitized;
use adjutant_l10n::page_tables;
use maud::{Markup, html};

use super::Frame;
use super::layout::{moment, token};
use super::now::count;
use crate::markdown::{markdown, plain, with_code};
use crate::views::{Cell, Edit, LogLine, PageAction, Table, TableRow};

pub(crate) fn tables(frame: &Frame<'_>, tables: &[Table]) -> String {
    frame.page(&html! {
        h1 { (plain(&frame.title)) }
        nav.jump aria-label=(sanitized(&frame.title)) {
            @for (number, table) in tables.iter().enumerate() { a href={ "#table-" (number) } { (table.title) } }
        }
        div.filter #filter data-ours="" {
            input type="search" aria-label=(page_tables::find()) placeholder=(page_tables::find());
        }
        div #live data-whole="yes" {
            @for (number, table) in tables.iter().enumerate() {
                section id={ "table-" (number) } {
                    h2 { (table.title) (count(table.rows.len())) }
                    @if let Some((act, name)) = &table.field {
                        @if *act == PageAction::WatchMail { (watch_form(frame)) }
                        @else { (field(frame, *act, name)) }
                    }
                    @if table.rows.is_empty() { p.empty { (with_code(&table.empty)) } }
                    @else { (one(frame, table)) }
                }
            }
        }
    })
}

/// Makes a watch on email, or on meetings before they begin.
fn watch_form(frame: &Frame<'_>) -> Markup {
    let fields = html! {
        label {
            (page_tables::tell_me())
            select name="act" {
                @for act in [PageAction::WatchMail, PageAction::WatchMeetings] {
                    option value=(act.name()) { (page_tables::watched(act.name())) }
                }
            }
        }
        label { (page_tables::from()) input type="text" name="key" maxlength="50" placeholder="@acme.example"; }
        label { (page_tables::words_of_subject()) input type="text" name="text" maxlength="50"; }
        label { (page_tables::or_do()) input type="text" name="text" maxlength="1000"; }
        label { (page_tables::until()) input type="date" name="text"; }
    };
    sent(frame, PageAction::WatchMail, &fields)
}

/// What this process logged for a turn.
pub(crate) fn log(frame: &Frame<'_>, turn: &str, lines: &[LogLine]) -> String {
    frame.page(&html! {
        h1.small { (page_tables::log_of_request()) }
        p { a href={ "/turn/" (sanitized(turn)) } { (page_tables::the_request()) } }
        @if lines.is_empty() {
            div.empty { (markdown(&page_tables::no_lines())) }
        } @else {
            ol.log {
                @for line in lines {
                    li class=(line.level.to_lowercase()) {
                        (moment(&line.at)) " " b { (line.level) } " " code { (plain(&line.text)) }
                    }
                }
            }
        }
    })
}

/// What is typed here is done something with.
fn field(frame: &Frame<'_>, act: PageAction, name: &str) -> Markup {
    let fields = html! {
        input type="hidden" name="act" value=(act.name());
        label { span.hidden { (name) } input type="text" name="key" required maxlength="200" placeholder=(name); }
    };
    sent(frame, act, &fields)
}

/// A form whose fields say themselves what is done.
fn sent(frame: &Frame<'_>, act: PageAction, fields: &Markup) -> Markup {
    html! {
        form.row method="post" action="/act" {
            (token(frame.token))
            input type="hidden" name="back" value=(frame.path);
            (fields)
            button.other type="submit" { (act.label()) }
        }
    }
}

fn one(frame: &Frame<'_>, table: &Table) -> Markup {
    let has_acts = table.rows.iter().any(|row| !row.acts.is_empty() || row.edit.is_some());
    html! {
        div.wide tabindex="0" role="region" aria-label=(table.title) {
            table.table {
                thead {
                    tr {
                        @for column in &table.columns { th scope="col" { (column) } }
                        @if has_acts { th scope="col" { span.hidden { (page_tables::actions()) } } }
                    }
                }
                tbody { @for row in &table.rows { (line(frame, &table.columns, row, has_acts)) } }
            }
        }
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Link(text, _) => sanitized(text).into_owned(),
        Cell::Time(at) => at.shown.clone(),
    }
}

fn line(frame: &Frame<'_>, columns: &[String], row: &TableRow, has_acts: bool) -> Markup {
    let id = row.acts.last().map(|(act, key)| format!("{}-{}", act.name(), sanitized(key)));
    html! {
        tr id=[id] {
            @for (number, cell) in row.cells.iter().enumerate() {
                // On a phone, a row is a card, and each cell says what it is.
                td data-name=[columns.get(number)] {
                    @match cell {
                        Cell::Text(text) => (plain(text)),
                        Cell::Time(at) => (moment(at)),
                        Cell::Link(text, to) => a href=(sanitized(to)) { (plain(text)) },
                    }
                }
            }
            @if has_acts {
                td.act {
                    // Each row has the same buttons, so they say of which they are.
                    div role="group" aria-label=[row.cells.first().map(text)] {
                        @if let Some(one) = &row.edit { (edit(frame, one)) " " }
                        @for (act, key) in &row.acts { (button(frame, *act, key)) " " }
                    }
                }
            }
        }
    }
}

/// The fields that change a row.
fn edit(frame: &Frame<'_>, one: &Edit) -> Markup {
    html! {
        details {
            summary { (one.act.label()) }
            form.edit method="post" action="/act" {
                (token(frame.token))
                input type="hidden" name="act" value=(one.act.name());
                input type="hidden" name="back" value=(frame.path);
                input type="hidden" name="key" value=(sanitized(&one.key));
                @for (name, value) in &one.fields {
                    label {
                        (plain(name))
                        @if one.act == PageAction::EditMemory {
                            textarea name="text" required maxlength="4000" { (plain(value)) }
                        } @else {
                            input type="text" name="text" maxlength="200" value=(sanitized(value));
                        }
                    }
                }
                button.other type="submit" { (page_tables::save()) }
            }
        }
    }
}

/// The button that does something with a row; what can't be undone says so first.
pub(super) fn button(frame: &Frame<'_>, act: PageAction, key: &str) -> Markup {
    let form = html! {
        form.inline method="post" action="/act" {
            (token(frame.token))
            input type="hidden" name="act" value=(act.name());
            input type="hidden" name="back" value=(frame.path);
            button.quiet type="submit" name="key" value=(key) { (act.label()) }
        }
    };
    html! {
        @if let Some(why) = act.warning() { details { summary { (act.label()) } p { (why) } (form) } }
        @else { (form) }
    }
}
