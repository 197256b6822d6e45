//! A database of either backend, with who acts and with orders enough.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{bare, cluster::Cluster, orders};
use crate::support::{Cast, Outcome, Place};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
    /// Whose connections keep their statements prepared.
    Prepared,
}

pub struct Site {
    pub backend: Backend,
    pub cast: Cast,
    folder: TempDir,
    url: String,
    /// As the server takes it.
    served_at: String,
    _cluster: Option<Cluster>,
}

impl Site {
    pub fn new(backend: Backend, orders: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let is_postgres = backend != Backend::Sqlite;
        // One that keeps what it has, unlike those of the tests.
        let cluster = is_postgres.then(|| Cluster::new(|_| "fsync = on\nmax_connections = 200".to_owned()));
        let url = match &cluster {
            Some(cluster) => format!("postgres://postgres@{}/postgres", cluster.address()),
            None => format!("sqlite://{}", file_in(&folder).display()),
        };
        let served_at = match backend {
            Backend::Prepared => format!("{url}?prepared_statements=yes"),
            Backend::Sqlite | Backend::Postgres => url.clone(),
        };
        let place = Place {
            folder: folder.path(),
            url: &served_at,
        };
        let cast = place.set_up()?;
        let more = orders::sql(orders, is_postgres);
        match &cluster {
            Some(cluster) => cluster.run(&format!("{more}; ANALYZE")),
            None => bare::open(&file_in(&folder))?.execute_batch(&more)?,
        }
        Ok(Self {
            url,
            served_at,
            cast,
            backend,
            _cluster: cluster,
            folder,
        })
    }

    pub fn place(&self) -> Place<'_> {
        Place {
            folder: self.folder(),
            url: &self.served_at,
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// As every other program takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn file(&self) -> PathBuf {
        file_in(&self.folder)
    }
}

fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("bench.db")
}
