//! The pictures in a request, loaded when it is made: the journal only names them.

use adjutant_files::{Folder, FolderError};
use adjutant_models::Request;
use adjutant_store::Store;
use adjutant_types::FileId;
use base64::prelude::{BASE64_STANDARD, Engine};

/// Loads the pictures of a request. One that isn't there any more stays away.
pub(super) async fn load(request: &mut Request, store: &Store, folder: &Folder) {
    for picture in request.messages.iter_mut().flat_map(|message| &mut message.pictures) {
        match read(store, folder, &picture.file).await {
            Ok(content) => picture.content = Some(BASE64_STANDARD.encode(content).into()),
            Err(error) => tracing::info!(%error, file = %picture.file, "a picture can't be shown"),
        }
    }
}

async fn read(store: &Store, folder: &Folder, file: &FileId) -> Result<Vec<u8>, FolderError> {
    Ok(tokio::fs::read(folder.find(store, file).await?).await?)
}
