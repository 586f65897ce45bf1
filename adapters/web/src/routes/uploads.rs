//! Files that come with messages: each is uploaded first, and the message names it.

use adjutant_l10n::page;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use futures::StreamExt;
use tokio::time::timeout;

use super::{Answer, SignedIn, UPLOAD_PATIENCE, unavailable};
use crate::pages::MAX_FILES;
use crate::session::Fields;
use crate::{Kept, Unavailable};

/// The longest name of one, in characters.
const MAX_NAME: usize = 200;

/// Takes one file, whose content is the body. Returns its key.
pub(super) async fn upload(who: SignedIn, headers: HeaderMap, body: Body) -> Answer {
    let token = headers.get("x-form-token").and_then(|token| token.to_str().ok());
    if token != Some(who.token.as_str()) {
        who.site.backend.refused("token");
        return Err((StatusCode::FORBIDDEN, page::form_out_of_date() + "\n").into_response());
    }
    let Ok(_slot) = who.site.uploads.try_acquire() else { return Err(unavailable()) };
    let pieces = body.into_data_stream();
    let pieces = pieces.map(|piece| piece.map(|piece| piece.to_vec()).map_err(|_| Unavailable));
    match timeout(UPLOAD_PATIENCE, who.site.backend.keep_upload(&who.viewer, pieces.boxed())).await {
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, page::too_slow() + "\n").into_response()),
        Ok(kept) => match kept? {
            Kept::As(key) => Ok(key.into_response()),
            Kept::Refused(why) => {
                who.site.backend.refused("size");
                Err((StatusCode::PAYLOAD_TOO_LARGE, why + "\n").into_response())
            }
        },
    }
}

/// The keys and the names of the uploads that a form names.
pub(super) fn uploads(fields: &Fields) -> Vec<(String, String)> {
    let files = fields.all().filter(|(field, _)| *field == "file");
    let parts = files.filter_map(|(_, file)| file.split_once(':'));
    parts.map(|(key, name)| (key.to_owned(), name.chars().take(MAX_NAME).collect())).take(MAX_FILES).collect()
}
