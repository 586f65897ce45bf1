//! The files of a turn's messages, as its model sees them.

use std::collections::HashSet;

use adjutant_files::MAX_MEGABYTES;
use adjutant_models::{Message, Picture, Role};
use adjutant_store::Result;
use adjutant_store::files::{self, FileRow};
use adjutant_turn::journal::TurnContext;
use adjutant_turn::wording;
use adjutant_types::{FileKind, PromptText, Taint};

/// How many bytes of all texts are shown at once; the rest is read by `files.read`.
const SHOWN: usize = 16_000;

/// The description of the files for the model.
pub(super) struct Shown {
    pub message: Message,
    pub taint: Taint,
}

/// The files of a turn, if its data from outside has any.
pub(super) async fn of_turn(
    ctx: &TurnContext,
    outside: &HashSet<(String, String)>,
    takes_pictures: bool,
) -> Result<Option<Shown>> {
    match outside.iter().any(|(domain, _)| domain == "files") {
        true => Ok(shown(ctx, &files::of_turn(&ctx.store, &ctx.turn.id).await?, takes_pictures)),
        false => Ok(None),
    }
}

/// The files, each in a block of its own, whose names and texts others wrote; none if there are none.
fn shown(ctx: &TurnContext, files: &[FileRow], takes_pictures: bool) -> Option<Shown> {
    if files.is_empty() {
        return None;
    }
    let readable = files.iter().filter(|file| file.content.is_some()).count();
    let share = SHOWN / readable.max(1);
    let mut shown = Shown { message: Message::new(Role::User, intro(files)), taint: Taint::default() };
    for file in files {
        let taint = Taint::by(&file.source);
        let text = content(file, share, takes_pictures);
        shown.message.text.push("\n");
        shown.message.text.push(PromptText::outside(&ctx.turn.id, &taint, &text));
        if takes_pictures && file.is_picture() {
            let (file, media_type) = (file.id.clone(), file.media_type.clone());
            shown.message.pictures.push(Picture { file, media_type, content: None });
        }
        shown.taint.add(&taint);
    }
    Some(shown)
}

/// What can be done with them, in our own words.
fn intro(files: &[FileRow]) -> PromptText {
    let number = match files.len() {
        1 => "a file".to_owned(),
        many => format!("{many} files"),
    };
    PromptText::system(format_args!("The person sent {number}."))
}

fn content(file: &FileRow, share: usize, takes_pictures: bool) -> String {
    let head = format!("{} [file {}]: {}", file.name, file.id, wording::files::about(file));
    match (&file.content, file.problem) {
        (Some(text), _) if text.len() > share => {
            let end = text.floor_char_boundary(share);
            format!("{head}\n\n{}… [cut: {} more bytes, from = {end}]", &text[..end], text.len() - end)
        }
        (Some(text), _) => format!("{head}\n\n{text}"),
        (None, Some(problem)) => {
            format!("{head}\nIt can't be read: {}", wording::files::why(problem, MAX_MEGABYTES))
        }
        (None, None) if takes_pictures && file.is_picture() => {
            format!("{head}\nYou see it with this message.")
        }
        (None, None) if file.kind == FileKind::Picture => format!("{head}\nIt can't be shown to you."),
        (None, None) => format!("{head}\nIt can't be read."),
    }
}
