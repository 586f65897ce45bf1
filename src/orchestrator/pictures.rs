//! The pictures in a request, loaded when it is made: the journal only names them.

use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::model::Request;

/// Loads the pictures of a request from the folder of the files. One that isn't there any more stays away.
pub(super) async fn load(request: &mut Request, folder: &Path) {
    for picture in request.messages.iter_mut().flat_map(|message| &mut message.pictures) {
        match tokio::fs::read(folder.join(picture.file.as_str())).await {
            Ok(content) => picture.content = Some(BASE64_STANDARD.encode(content).into()),
            Err(error) => tracing::info!(%error, file = %picture.file, "a picture isn't there any more"),
        }
    }
}
