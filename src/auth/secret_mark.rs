//! Which secret is a database's. Under any other, none of its keys, tokens and sessions works, and none that is made either.

use super::{
    Auth, Secret,
    accounts::{Changed, Decided, account},
    secret::equal,
    token::TokenKind,
};
use crate::{
    audit::Entry,
    db::{Conn, Latch, QueryResult, Timestamp, has_table},
    error::{Code, Denial, Result},
    store::{
        credentials, new_id,
        secret_mark::{self, Mark},
    },
};

/// How a secret stands to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The database was told of it: its keys are made under it.
    Its,
    /// The database was told of another.
    Another,
    /// There is none at hand, and the database was told of one, or has keys.
    Missing,
    /// The database was not told of a secret yet.
    Untold,
}

impl Standing {
    /// How `secret` stands to a database of whatever schema.
    pub fn of(conn: &mut Conn, secret: Option<&Secret>) -> QueryResult<Self> {
        let told = has_table(conn, "secret_mark")?;
        Ok(match secret {
            Some(secret) if told => secret.standing(conn)?,
            None if told && secret_mark::find(conn)?.is_some() => Self::Missing,
            None if has_table(conn, "credentials")? && credentials::any(conn)? => Self::Missing,
            _ => Self::Untold,
        })
    }
}

impl Secret {
    fn standing(&self, conn: &mut Conn) -> QueryResult<Standing> {
        Ok(match secret_mark::find(conn)? {
            Some(Mark { salt, mac }) if equal(&mac, &self.mark(&salt)) => Standing::Its,
            Some(_) => Standing::Another,
            None => Standing::Untold,
        })
    }

    fn mark(&self, salt: &str) -> String {
        self.mac("database", salt)
    }

    /// Tells the database of this one.
    fn tell(&self, conn: &mut Conn) -> QueryResult<()> {
        let salt = new_id();
        let mac = self.mark(&salt);
        secret_mark::put(conn, &Mark { salt, mac }).map(|_| ())
    }
}

/// What a key or token that was handed out is worth today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// It is the one in use.
    Current,
    /// It was replaced or revoked.
    Ended,
    /// It is the one in use, and does not work: it was made under another secret.
    OfAnotherSecret,
}

impl Auth {
    /// What a key or token is worth, whoever it is of and whether or not they may do anything with it.
    pub async fn worth(&self, kind: TokenKind, text: &str) -> Result<Worth> {
        let presented = self.secret.present(kind, text);
        self.db
            .read(move |conn| {
                let found = credentials::find(conn, presented.prefix())?;
                Ok(match found.filter(|one| one.revoked_at.is_none()) {
                    None => Worth::Ended,
                    Some(one) if presented.matches(Some(&one.mac)) => Worth::Current,
                    Some(_) => Worth::OfAnotherSecret,
                })
            })
            .await
    }

    /// Tells the database of the secret of this process, if it was told of none yet. Answers whether it had keys by then, which may
    /// be another's.
    ///
    /// # Errors
    /// `forbidden` if the database was told of another.
    pub async fn tell_secret(&self) -> Result<bool> {
        let secret = self.secret.clone();
        if self.db.read(move |conn| secret.standing(conn)).await? == Standing::Its {
            return Ok(false);
        }
        let secret = self.secret.clone();
        let work = move |conn: &mut Conn, standing, _: Timestamp| match standing {
            Standing::Its => Ok(Ok((false, None))),
            Standing::Untold => {
                secret.tell(conn)?;
                Ok(Ok((credentials::any(conn)?, Some(account("secret_set")))))
            }
            Standing::Another | Standing::Missing => Ok(Err(another_secret())),
        };
        let secret = self.secret.clone();
        let recall = move |conn: &mut Conn| match secret.standing(conn)? {
            Standing::Its => credentials::any(conn).map(Some),
            _ => Ok(None),
        };
        self.change(self.hold_secret(), work, recall).await
    }

    /// Makes the secret of this process the database's, whichever was before.
    pub async fn replace_secret(&self) -> Result<Changed<()>> {
        let secret = self.secret.clone();
        let work = move |conn: &mut Conn, standing, _: Timestamp| {
            if standing == Standing::Its {
                return Ok(Ok((Changed::Before(()), None)));
            }
            secret.tell(conn)?;
            Ok(Ok((Changed::Now(()), Some(account("secret_replaced")))))
        };
        let secret = self.secret.clone();
        let recall =
            move |conn: &mut Conn| Ok((secret.standing(conn)? == Standing::Its).then_some(Changed::Now(())));
        self.change(self.hold_secret(), work, recall).await
    }

    /// An [`Auth::change`] that makes a key or a token. A database without any is told by it of the secret; one that has some from
    /// before databases were told is told by whoever serves it.
    pub(super) async fn issue<L, T>(
        &self,
        lock: impl Fn(&mut Conn) -> Decided<L> + Send + Sync + 'static,
        work: impl Fn(&mut Conn, L, Timestamp) -> Decided<(T, Option<Entry>)> + Send + Sync + 'static,
        recall: impl Fn(&mut Conn) -> QueryResult<Option<T>> + Send + Sync + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
    {
        let (secret, hold) = (self.secret.clone(), self.hold_secret());
        let lock = move |conn: &mut Conn| {
            let is_first = match hold(conn)? {
                Ok(Standing::Its) => false,
                Ok(Standing::Untold) if !credentials::any(conn)? => true,
                Ok(Standing::Untold) => return Ok(Err(not_told())),
                Ok(Standing::Another | Standing::Missing) => return Ok(Err(another_secret())),
                Err(denial) => return Ok(Err(denial)),
            };
            Ok(lock(conn)?.map(|locked| (is_first, locked)))
        };
        let work = move |conn: &mut Conn, (is_first, locked), now| {
            let done = work(conn, locked, now)?;
            if is_first && done.is_ok() {
                secret.tell(conn)?;
            }
            Ok(done.map(|(value, entry)| {
                (value, entry.map(|entry| if is_first { entry.with("secret", "set") } else { entry }))
            }))
        };
        self.change(lock, work, recall).await
    }

    /// How the secret of this process stands to the database, until the transaction ends.
    fn hold_secret(&self) -> impl Fn(&mut Conn) -> Decided<Standing> + Send + Sync + 'static {
        let secret = self.secret.clone();
        move |conn| {
            Latch::Secret.take(conn)?;
            secret.standing(conn).map(Ok)
        }
    }
}

fn another_secret() -> Denial {
    let sentence = "The secret at hand is not this database's, or there is none: a key or token that is made now would not \
                    work. `countersign check` says more.";
    Denial::new(Code::Forbidden, sentence)
}

fn not_told() -> Denial {
    let sentence = "This database has keys from before it was told of their secret. Start `countersign serve` once, with the \
                    secret that it has always had; then more can be made.";
    Denial::new(Code::Forbidden, sentence)
}
