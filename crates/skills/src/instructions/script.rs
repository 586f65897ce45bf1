//! Runs a script of accepted instructions: with the files of the call and the keys that an owner grants it. What it leaves
//! in its working folder becomes files of the conversation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_files::{MAX_MEGABYTES, file_name};
use adjutant_l10n::{files_read, programs, sources};
use adjutant_sandbox::{Launcher, Permissions};
use adjutant_store::Batch;
use adjutant_types::{FromCall, Own, ours};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::folder::Folder;
use crate::builtin::CallContext;
use crate::file_store::{self, Fetched};
use crate::handlers::command::{OUTPUT, Run, WorkFolder};
use crate::handlers::http::holds;
use crate::{Output, Result, SkillError};

/// The most files that come back from one run, and how many are looked at.
const MAX_FILES: usize = 10;
const MAX_FOUND: usize = 1000;
/// How deep the working folder is looked into.
const DEEPEST: usize = 4;

pub(super) struct Script<'a> {
    pub(super) folder: &'a Folder,
    /// The copy of the folder.
    pub(super) home: PathBuf,
    pub(super) permissions: Permissions,
    /// The secrets that they find in their environment.
    pub(super) granted: Vec<(&'a str, &'a str)>,
}

impl Script<'_> {
    /// Runs the script that a call names.
    pub(super) async fn run(
        &self,
        context: &CallContext<'_>,
        (work_dir, launcher): (&Path, &Launcher),
        writes: &mut Batch,
    ) -> Result<Output> {
        let mut words = self.words(context.arguments)?.into_iter();
        let program = words.next().unwrap_or_default();
        let work = WorkFolder::new(work_dir, &program)?;
        // Not its home, where programs leave what is for themselves.
        let place = work.0.join("files");
        let given = give(context, &place).await?;
        // Compiled modules would change the copy, which then isn't what was accepted.
        let mut env = vec![("PYTHONDONTWRITEBYTECODE", "1")];
        env.extend(&self.granted);
        let hint = "allow more with `adjutant skills add --network`, `--read` or `--write`".to_owned();
        let (program, words, permissions) = (program.as_str(), words.collect(), &self.permissions);
        let run = Run { program, words, output_cap: OUTPUT, permissions, env: &env, hint };
        let mut output = run.in_folder(&work.0, &place, launcher).await?;
        let mut found = Vec::new();
        find(&place, 0, &mut found);
        let (mut items, mut rest) = (Vec::new(), 0_usize);
        for path in found {
            let is_wanted = items.len() < MAX_FILES || given.contains_key(&path);
            let is_small = path.symlink_metadata().is_ok_and(|data| data.len() <= MAX_MEGABYTES << 20);
            let bytes = match is_wanted && is_small {
                true => tokio::fs::read(&path).await.unwrap_or_default(),
                false => Vec::new(),
            };
            if given.get(&path).is_some_and(|digest| *digest == digest_of(&bytes)) {
                continue;
            }
            if bytes.is_empty() || items.len() == MAX_FILES || self.leaks(&bytes) {
                rest += 1;
                continue;
            }
            let name = path.strip_prefix(&place).unwrap_or(&path).to_string_lossy();
            let source = sources::service_file(file_name(&name), &self.folder.name);
            let origin = self.folder.name.clone();
            let fetched = Fetched { name: &name, media_type: "", source, origin, bytes: &bytes };
            let file = file_store::store(context, fetched, writes).await?;
            items.push(file_store::name_in(&mut output, &file));
        }
        if rest > 0 {
            let note = programs::files_not_kept(rest, MAX_FILES, MAX_MEGABYTES);
            output.summary.push_str(&format!("\n{note}"));
        }
        if !items.is_empty() {
            output.data = json!({"output": output.data, "files": items});
        }
        Ok(output)
    }

    /// The program, its own words, and those of the call.
    fn words(&self, arguments: &Value) -> Result<Vec<String>, SkillError> {
        let wanted = arguments["script"].as_str().unwrap_or_default();
        let is_script = self.folder.scripts().contains(&wanted);
        let file = self.folder.files.iter().find(|file| is_script && file.path == wanted);
        let missing = || SkillError::params(ours!("/script: there is no script \"{}\"", FromCall(wanted)));
        let file = file.ok_or_else(missing)?;
        let path = self.home.join(wanted).display().to_string();
        let more = texts(&arguments["arguments"]);
        Ok(file.interpreter().into_iter().chain([path.as_str()]).chain(more).map(str::to_owned).collect())
    }

    /// Whether one of its secrets stands in what it has written.
    fn leaks(&self, bytes: &[u8]) -> bool {
        self.granted.iter().any(|(_, secret)| holds(bytes, secret))
    }
}

/// Makes the working folder and puts the files of a call into it. Returns what they are.
async fn give(context: &CallContext<'_>, place: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let failed = |error: std::io::Error| SkillError::tool(ours!(files_read::not_kept, Own(error)));
    tokio::fs::create_dir(place).await.map_err(failed)?;
    let mut given = BTreeMap::new();
    for id in texts(&context.arguments["files"]) {
        let (file, bytes) = file_store::bytes(context, &id.trim().into()).await?;
        let mut path = place.join(file_name(&file.name));
        if given.contains_key(&path) {
            path = place.join(format!("{}-{}", given.len(), file_name(&file.name)));
        }
        tokio::fs::write(&path, &bytes).await.map_err(failed)?;
        given.insert(path, digest_of(&bytes));
    }
    Ok(given)
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn digest_of(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Finds the files below a folder, apart from hidden ones. No link is followed.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    paths.sort();
    for path in paths {
        match path.symlink_metadata() {
            Ok(data) if data.is_dir() && depth < DEEPEST => find(&path, depth + 1, found),
            Ok(data) if data.is_file() && found.len() < MAX_FOUND => found.push(path),
            _ => {}
        }
    }
}
