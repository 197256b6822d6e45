//! Whether the secret is the database's, and what is said where it is not.

use crate::{
    auth::Standing,
    config::Config,
    db::Db,
    error::{Error, Result},
};

/// What can be done about a secret that is not the database's.
pub(super) const REPLACE: &str = "See whether this database is meant, and use its own secret: what COUNTERSIGN_SECRET says, or \
     without that, what is kept beside a SQLite file. If that secret leaked or is lost, or the database was told of a wrong one, \
     README says how to replace it (`countersign migrate --new-secret`).";

/// How the secret stands to the database. Where there is none it is not made.
pub(super) async fn standing(config: &Config, db: &Db) -> Result<Standing> {
    let secret = config.look_at_secret()?;
    db.read(move |conn| Standing::of(conn, secret.as_ref())).await
}

/// Refuses a secret that is not the database's. For whoever looks at keys, before one is made in the place of one that is missing.
pub(super) async fn check(config: &Config, what_to_do: &str) -> Result<()> {
    match Db::look(&config.database_url)? {
        Some(db) => is_told(config, standing(config, &db).await?, what_to_do).map(|_| ()),
        None => Ok(()),
    }
}

/// For what needs no secret: settings under which none is made in the place of one that is missing.
pub(super) async fn without_making_one(config: Config, db: &Db) -> Result<Config> {
    Ok(match standing(&config, db).await? {
        Standing::Missing => config.with_a_passing_secret(),
        _ => config,
    })
}

/// Whether the database was told of this secret.
///
/// # Errors
/// `Setup` if it was told of another, or if there is none at hand.
pub(super) fn is_told(config: &Config, standing: Standing, what_to_do: &str) -> Result<bool> {
    let (place, database) = (config.secret_place(), &config.database_url);
    let sentence = match standing {
        Standing::Its => return Ok(true),
        Standing::Untold => return Ok(false),
        Standing::Another => format!(
            "{place} is not the secret that {database} was told of, under which it makes keys, tokens and sign-ins."
        ),
        Standing::Missing => {
            // Where it is set, or has to be, it is not missing.
            let file = config.secret_file().unwrap_or_default();
            format!(
                "The secret under which {database} makes keys, tokens and sign-ins is not at hand: there is no {}.",
                file.display()
            )
        }
    };
    Err(Error::Setup(format!("{sentence} {what_to_do}")))
}
