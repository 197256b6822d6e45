//! Which secret is a database's: under any other, none of its keys, tokens and sessions works, and new ones would not either for
//! those who have the right one.

use super::{
    Auth, Secret,
    accounts::{Changed, account},
    secret::equal,
};
use crate::{
    db::{Conn, QueryResult},
    error::Result,
    store::secret_mark,
};

/// Whether the database's keys are made under this secret; nothing where it has not been told of one.
pub fn is_secret_of(conn: &mut Conn, secret: &Secret) -> QueryResult<Option<bool>> {
    Ok(secret_mark::find(conn)?.map(|known| equal(&known, &mark(secret))))
}

/// It tells secrets apart and gives none away.
fn mark(secret: &Secret) -> String {
    secret.mac("database", "")
}

impl Auth {
    /// Whether the database's keys are made under the secret of this process. Where the database has not been told of one, it is
    /// this one from now on.
    pub async fn has_its_secret(&self) -> Result<bool> {
        let secret = self.secret.clone();
        let known = self.db.read(move |conn| is_secret_of(conn, &secret)).await?;
        if let Some(is_this) = known {
            return Ok(is_this);
        }
        let secret = self.secret.clone();
        let told = self.db.write(move |conn| {
            secret_mark::insert(conn, &mark(&secret))?;
            is_secret_of(conn, &secret)
        });
        Ok(told.await? == Some(true))
    }

    /// Makes the secret of this process the database's, whichever was before.
    pub async fn replace_secret(&self) -> Result<Changed<()>> {
        let secret = self.secret.clone();
        let work = move |conn: &mut Conn, (), _| {
            if is_secret_of(conn, &secret)? == Some(true) {
                return Ok(Ok((Changed::Before(()), None)));
            }
            secret_mark::replace(conn, &mark(&secret))?;
            Ok(Ok((Changed::Now(()), Some(account("secret_replaced")))))
        };
        self.change(|_| Ok(Ok(())), work, |_| Ok(Some(Changed::Now(())))).await
    }
}
