//! Files that only their owner may read. Whoever looks finds the whole file or none, never a part.

use std::{
    fs::{self, OpenOptions},
    io::{Result, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use uuid::Uuid;

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

/// The whole content, on the disk, under a name that nobody else has. A process's number is none: in a container it is 1.
fn draft(path: &Path, content: &[u8]) -> Result<PathBuf> {
    let draft = path.with_extension(format!("{}.new", Uuid::now_v7()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_number_do_not_share_a_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let other = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&other, "in the middle of it").unwrap();
        for write in [make, replace] {
            write(&path, b"whole").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            assert_eq!(fs::read(&other).unwrap(), b"in the middle of it");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }
}
