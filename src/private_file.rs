//! Files that only their owner may read. Whoever looks finds the whole file or none, never a part.

use std::{
    fs::{self, OpenOptions},
    io::{Result, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Writes the file in place of the one that is there.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    fs::rename(draft(path, content)?, path)
}

/// Writes the file unless there is one: of several that are made at once the first one stays.
pub fn make(path: &Path, content: &[u8]) -> Result<()> {
    let draft = draft(path, content)?;
    // A link, unlike a rename, does not replace the file of whoever was faster.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    linked.or_else(|error| if path.exists() { Ok(()) } else { Err(error) })
}

/// The whole content, on the disk, under a name of this process's own.
fn draft(path: &Path, content: &[u8]) -> Result<PathBuf> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    Ok(draft)
}
