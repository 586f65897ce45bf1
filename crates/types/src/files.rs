//! Kinds of files, and why a file can't be used.

use super::words;

words! {
    FileKind {
        Text = "text",
        Pdf = "pdf",
        /// A picture that models take.
        Picture = "picture",
        /// A document of a word processor, a presentation or a spreadsheet, whose text can be read.
        Document = "document",
        Mail = "mail",
        /// An archive: the files inside can be taken out.
        Archive = "archive",
        /// Something else. It is kept and can be sent on.
        Other = "file",
    }
}

words! {
    /// Why a file isn't there, or why its text can't be read.
    FileProblem {
        /// It is longer than we take.
        TooBig = "too big",
        /// There were too many others in its message.
        TooMany = "too many",
        /// It has no content.
        Empty = "empty",
        /// The platform doesn't have it any more, or doesn't give it to us.
        Gone = "gone",
        /// It couldn't be downloaded.
        NotDownloaded = "not downloaded",
        /// A PDF or a document without text, such as a scan.
        NoText = "no text",
        Locked = "locked",
        /// It can't be read within our limits, or is broken.
        Unreadable = "unreadable",
        TooManyInside = "too many inside",
        /// An archive whose files' names lead out of it.
        Unsafe = "unsafe",
        /// There is no such file inside.
        NotInside = "not inside",
        /// Opening it ended the process, twice.
        Quarantined = "quarantined",
        /// Our own code failed.
        Failed = "failed",
    }
}

impl FileProblem {
    /// Whether the file is kept all the same: it can't be read, but it can be sent on.
    pub fn is_kept(self) -> bool {
        matches!(
            self,
            Self::NoText
                | Self::Locked
                | Self::Unreadable
                | Self::TooManyInside
                | Self::Unsafe
                | Self::Quarantined
        )
    }
}
