//! The calls of HTTP skills, with the files that they send and get. Both are kept files, so that a call's arguments and
//! its result only name them.

use adjutant_l10n::sources;
use adjutant_store::Batch;
use adjutant_turn::wording;
use serde_json::Value;

use super::content::Upload;
use super::http::{self, HttpHandler};
use super::response::ResponseContent;
use crate::builtin::CallContext;
use crate::file_store::{self, Fetched};
use crate::{Handler, Output, Result, Skill};

/// Makes the call of an HTTP skill; the caller limits its time by dropping it.
pub(crate) async fn call(
    skill: &Skill,
    handler: &HttpHandler,
    context: &CallContext<'_>,
    writes: &mut Batch,
) -> Result<Output> {
    let (arguments, services) = (context.arguments, context.services);
    let upload = match handler.upload(arguments)? {
        Some(id) => {
            let (file, bytes) = file_store::bytes(context, &id.trim().into()).await?;
            Some(Upload { media_type: file.media_type, bytes })
        }
        None => None,
    };
    let accounts = (&services.http, &*services.oauth);
    let (media_type, bytes) = match http::call(handler, arguments, upload.as_ref(), accounts).await? {
        ResponseContent::Output(output) => return Ok(output),
        ResponseContent::File { media_type, bytes } => (media_type, bytes),
    };
    let name = match &handler.file {
        Some(name) => name.render(arguments)?,
        None => None,
    };
    let name = name.unwrap_or_default();
    let fetched = Fetched {
        name: &name,
        media_type: &media_type,
        source: sources::service_file(adjutant_files::file_name(&name), &skill.domain),
        origin: skill.name.clone(),
        bytes: &bytes,
    };
    Ok(file_store::output(&file_store::store(context, fetched, writes).await?, 0))
}

/// The arguments as a person is shown them: with the names and sizes of files, in place of their ids.
pub(crate) async fn shown(skill: &Skill, context: &CallContext<'_>) -> Result<Option<Value>> {
    let ids: Vec<Value> = match &skill.handler {
        Handler::Http(handler) => handler.upload(context.arguments)?.into_iter().map(Value::from).collect(),
        Handler::Builtin(_) => vec![context.arguments["file"].clone()],
        Handler::Instructions(_) => context.arguments["files"].as_array().cloned().unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut shown = None;
    for id in ids.iter().filter_map(Value::as_str) {
        let file = file_store::find(context, &id.trim().into()).await?;
        let named = format!("{} ({})", file.name, wording::files::size(file.bytes));
        let all = shown.get_or_insert_with(|| context.arguments.clone());
        let values = all.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut);
        let values = values.flat_map(|value| match value {
            Value::Array(items) => items.iter_mut().collect::<Vec<_>>(),
            value => vec![value],
        });
        for value in values.filter(|value| value.as_str() == Some(id)) {
            *value = Value::from(named.clone());
        }
    }
    Ok(shown)
}
