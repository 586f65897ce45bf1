//! Archives of `tar`, packed by `gzip` or not, and single files packed by `gzip`: in a process of its own, see
//! [`super::apart`].
//!
//! Such an archive has no directory: all before a file has to be unpacked to find it. So there is a limit to what a whole
//! archive may unpack to.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

use super::archive::{Inside, MOST_FILES, leads_out, shown};
use super::{MOST_MEGABYTES, file_name};
use crate::domain::FileProblem;

/// What a whole archive may unpack to, in bytes.
const MOST_UNPACKED: u64 = 256 << 20;
/// The length of a file's head in a `tar`, and what stands in it at which place.
const HEAD: u64 = 512;
const MARK: &[u8] = b"ustar";
const MARK_AT: usize = 257;

/// The first bytes of what `gzip` has packed.
const GZIP: &[u8] = b"\x1f\x8b";

/// The type of a file that this reads.
pub(super) fn media_type(content: &[u8]) -> Option<&'static str> {
    if content.starts_with(GZIP) {
        return Some("application/gzip");
    }
    is_tar(content).then_some("application/x-tar")
}

fn is_tar(content: &[u8]) -> bool {
    content.get(MARK_AT..).is_some_and(|rest| rest.starts_with(MARK))
}

/// What is unpacked, up to the limit. More than that is an error.
struct Unpacked<'c> {
    from: Box<dyn Read + 'c>,
    left: u64,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

fn unpacked(content: &[u8]) -> Unpacked<'_> {
    let from: Box<dyn Read> = match content.starts_with(GZIP) {
        true => Box::new(MultiGzDecoder::new(content)),
        false => Box::new(Cursor::new(content)),
    };
    Unpacked { from, left: MOST_UNPACKED }
}

fn unreadable(_: io::Error) -> FileProblem {
    FileProblem::Unreadable
}

/// Whether the content is a `tar`, packed or not.
fn has_tar(content: &[u8]) -> Result<bool, FileProblem> {
    let mut head = Vec::new();
    unpacked(content).take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    Ok(is_tar(&head))
}

/// The files inside.
pub(super) fn look(content: &[u8]) -> Result<Vec<Inside>, FileProblem> {
    if !has_tar(content)? {
        let bytes = io::copy(&mut unpacked(content), &mut io::sink()).map_err(unreadable)?;
        return Ok(vec![Inside { name: single(content), bytes, ..Inside::default() }]);
    }
    let mut inside = Vec::new();
    walk(content, |_, about, _| {
        inside.push(about);
        if inside.len() > MOST_FILES { Err(FileProblem::TooManyInside) } else { Ok(true) }
    })?;
    Ok(inside)
}

/// Takes out the file of this number, from 1.
pub(super) fn entry(content: &[u8], number: usize) -> Result<(Inside, Vec<u8>), FileProblem> {
    let mut found = None;
    if has_tar(content)? {
        walk(content, |at, about, file| {
            if at == number {
                found = Some((about, bytes(file)?));
            }
            Ok(found.is_none())
        })?;
    } else if number == 1 {
        let bytes = bytes(&mut unpacked(content))?;
        found =
            Some((Inside { name: single(content), bytes: bytes.len() as u64, ..Inside::default() }, bytes));
    }
    found.ok_or(FileProblem::NotInside)
}

/// Visits the files from the first one on, as long as that is wanted.
fn walk(
    content: &[u8],
    mut visit: impl FnMut(usize, Inside, &mut dyn Read) -> Result<bool, FileProblem>,
) -> Result<(), FileProblem> {
    let mut archive = Archive::new(unpacked(content));
    let mut number = 0;
    for file in archive.entries().map_err(unreadable)? {
        let mut file = file.map_err(unreadable)?;
        let name = String::from_utf8_lossy(&file.path_bytes()).into_owned();
        let link = file.link_name_bytes().map(|link| String::from_utf8_lossy(&link).into_owned());
        let kind = file.header().entry_type();
        let folder =
            if kind.is_symlink() { name.rsplit_once('/').map_or("", |(folder, _)| folder) } else { "" };
        if leads_out(&name) || link.is_some_and(|link| link_leads_out(folder, &link)) {
            return Err(FileProblem::Unsafe);
        }
        // Folders, links, devices and notes of the packer are no files.
        if !matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse) {
            continue;
        }
        number += 1;
        let about = Inside { name: shown(&name), bytes: file.size(), ..Inside::default() };
        if !visit(number, about, &mut file)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether a link in this folder leads out of the archive.
fn link_leads_out(folder: &str, link: &str) -> bool {
    let mut depth = 0_i32;
    let steps = folder.split('/').chain(link.split('/'));
    link.starts_with('/')
        || steps.filter(|part| !matches!(*part, "" | ".")).any(|part| {
            depth += if part == ".." { -1 } else { 1 };
            depth < 0
        })
}

/// What a file contains, as far as it may be big.
fn bytes(file: &mut dyn Read) -> Result<Vec<u8>, FileProblem> {
    let most = MOST_MEGABYTES << 20;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most { Err(FileProblem::TooBig) } else { Ok(bytes) }
}

/// The name of a single packed file, where it says one.
fn single(content: &[u8]) -> String {
    let packed = MultiGzDecoder::new(content);
    let name = packed.header().and_then(|header| header.filename()).map(String::from_utf8_lossy);
    file_name(&name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_in_thought_alone() {
        for (folder, link, leads_out) in [
            ("node/bin", "../lib/a.js", false),
            ("node", "../lib", false),
            ("node", "../../lib", true),
            ("", "../x", true),
            ("./a", "./b/../..", false),
            ("a", "/etc/passwd", true),
        ] {
            assert_eq!(link_leads_out(folder, link), leads_out, "{folder} {link}");
        }
    }
}
