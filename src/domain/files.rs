//! What files are, and why one can't be used.

use super::words;

words! {
    /// What a file is, by its content.
    FileKind {
        /// A text.
        Text = "text",
        /// A PDF.
        Pdf = "pdf",
        /// A picture that models take.
        Picture = "picture",
        /// Something else. It is kept and can be sent on; archives aren't opened.
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
        /// A PDF without text, such as a scan.
        NoText = "no text",
        /// A PDF with a password.
        Locked = "locked",
        /// A PDF that can't be read within our limits, or is broken.
        Unreadable = "unreadable",
        /// Our own code failed.
        Failed = "failed",
    }
}

impl FileProblem {
    /// Whether the file is kept all the same: it can't be read, but it can be sent on.
    pub fn is_kept(self) -> bool {
        matches!(self, Self::NoText | Self::Locked | Self::Unreadable)
    }
}
