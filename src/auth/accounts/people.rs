//! The accounts of people.

use super::{Changed, Decided, account, names};
use crate::{
    auth::{Auth, TokenKind, password},
    db::{Conn, QueryResult, Timestamp, must_be_one},
    error::{Code, Denial, Result},
    store::{
        credentials::{self, Credential},
        new_id,
        notices::{self, Notice, Topic},
        people::{self, Person, Role},
        sessions,
    },
};

/// A new person, with what is shown once.
pub struct NewPerson {
    pub person: Person,
    pub password: String,
    pub api_token: String,
}

impl Auth {
    /// Adds a person with a generated password and an API token.
    ///
    /// # Errors
    /// `invalid_params` for an address that is none, or is taken.
    pub async fn add_person(&self, email: &str, role: Role) -> Result<NewPerson> {
        let email = names::of_person(email)?;
        let password = password::generate();
        let hash = password::hash(&password).await?;
        let token = self.secret.issue(TokenKind::Person);
        let (prefix, mac, id) = (token.prefix, token.mac, new_id());
        let recalled = id.clone();
        let work = move |conn: &mut Conn, (), now| {
            match people::by_email(conn, &email)? {
                // A try before this one was committed just now, and its answer got lost.
                Some(person) if person.id == id => return Ok(Ok((person, None))),
                Some(_) => {
                    return Ok(Err(Denial::invalid("email", format!("There is already a person {email}."))));
                }
                None => {}
            }
            let person = Person {
                id: id.clone(),
                email: email.clone(),
                role,
                password_hash: hash.clone(),
                enabled: true,
                created_at: now,
                lock_no: 0,
            };
            people::insert(conn, &person)?;
            credentials::insert(conn, &of_person(&id, &prefix, &mac, now))?;
            Ok(Ok((
                person,
                Some(account("person_added").with("person_id", id.as_str()).with("role", role.as_str())),
            )))
        };
        let added = self.issue(|_| Ok(Ok(())), work, move |conn| people::find(conn, &recalled));
        Ok(NewPerson {
            person: added.await?,
            password,
            api_token: token.text,
        })
    }

    /// Gives a person another role and ends their sessions; their API token is judged by the new role at once.
    ///
    /// # Errors
    /// `not_found`; `rule_refused` (`last_owner`) when no enabled owner would be left.
    pub async fn set_role(&self, email: &str, role: Role) -> Result<Changed<Person>> {
        let email = names::fold_email(email);
        let work = move |conn: &mut Conn, (owners, person): (Vec<Person>, Person), now| {
            if person.role == role {
                return Ok(Ok((Changed::Before(person), None)));
            }
            if let Err(denial) = leaves_an_owner(&owners, &person) {
                return Ok(Err(denial));
            }
            must_be_one(people::set_role(conn, &person.id, role)?)?;
            sessions::end_all(conn, &person.id, now)?;
            let entry = account("role_changed").with("person_id", person.id.as_str());
            let entry = entry.with("role", role.as_str()).with("was", person.role.as_str());
            Ok(Ok((Changed::Now(Person { role, ..person }), Some(entry))))
        };
        let again = recall(&email);
        self.change(lock_with_owners(&email), work, move |conn| Ok(again(conn)?.map(Changed::Now)))
            .await
    }

    /// Disables a person: sessions and tokens end at once.
    ///
    /// # Errors
    /// As [`Auth::set_role`].
    pub async fn disable(&self, email: &str) -> Result<Changed<Person>> {
        let email = names::fold_email(email);
        let work = |conn: &mut Conn, (owners, person): (Vec<Person>, Person), now| {
            if !person.enabled {
                return Ok(Ok((Changed::Before(person), None)));
            }
            if let Err(denial) = leaves_an_owner(&owners, &person) {
                return Ok(Err(denial));
            }
            must_be_one(people::set_enabled(conn, &person.id, false)?)?;
            sessions::end_all(conn, &person.id, now)?;
            credentials::revoke_person(conn, &person.id, now)?;
            let entry = account("person_disabled").with("person_id", person.id.as_str());
            let person = Person {
                enabled: false,
                ..person
            };
            Ok(Ok((Changed::Now(person), Some(entry))))
        };
        let again = recall(&email);
        self.change(lock_with_owners(&email), work, move |conn| Ok(again(conn)?.map(Changed::Now)))
            .await
    }

    /// Gives a person a new password and a new API token, and ends what the old ones opened. Enables a disabled person.
    pub async fn reset_password(&self, email: &str) -> Result<NewPerson> {
        let email = names::fold_email(email);
        let password = password::generate();
        let hash = password::hash(&password).await?;
        let token = self.secret.issue(TokenKind::Person);
        let (prefix, mac, notice) = (token.prefix, token.mac, new_id());
        let work = move |conn: &mut Conn, person: Person, now| {
            must_be_one(people::set_password_hash(conn, &person.id, &hash)?)?;
            must_be_one(people::set_enabled(conn, &person.id, true)?)?;
            sessions::end_all(conn, &person.id, now)?;
            credentials::revoke_person(conn, &person.id, now)?;
            credentials::insert(conn, &of_person(&person.id, &prefix, &mac, now))?;
            notices::insert(conn, &Notice::of_person(&notice, Topic::PasswordChanged, &person.id, "", now))?;
            let entry = account("password_reset").with("person_id", person.id.as_str());
            Ok(Ok((
                Person {
                    enabled: true,
                    ..person
                },
                Some(entry),
            )))
        };
        Ok(NewPerson {
            person: self.issue(lock(&email), work, recall(&email)).await?,
            password,
            api_token: token.text,
        })
    }
}

/// Locks the person of an address.
fn lock(email: &str) -> impl Fn(&mut Conn) -> Decided<Person> + Send + Sync + 'static {
    let email = email.to_owned();
    move |conn| Ok(people::lock_by_email(conn, &email)?.ok_or_else(no_person))
}

/// Locks every enabled owner, in one order, and then the person: of two owners who end each other at once one stays, and
/// neither waits for the other for ever.
fn lock_with_owners(
    email: &str,
) -> impl Fn(&mut Conn) -> Decided<(Vec<Person>, Person)> + Send + Sync + 'static {
    let lock = lock(email);
    move |conn| {
        let owners = people::lock_owners(conn)?;
        Ok(lock(conn)?.map(|person| (owners, person)))
    }
}

/// Reads the person of an address.
fn recall(email: &str) -> impl Fn(&mut Conn) -> QueryResult<Option<Person>> + Send + Sync + 'static {
    let email = email.to_owned();
    move |conn| people::by_email(conn, &email)
}

/// Refuses to take the last enabled owner from an installation: nobody could put that right from the dashboard.
fn leaves_an_owner(owners: &[Person], person: &Person) -> Result<(), Denial> {
    if owners.iter().any(|owner| owner.id != person.id) || owners.is_empty() {
        return Ok(());
    }
    let sentence = format!("{} is the only owner. Make somebody else an owner first.", person.email);
    Err(Denial {
        rule: Some("last_owner".to_owned()),
        ..Denial::new(Code::RuleRefused, sentence)
    })
}

fn of_person(person_id: &str, prefix: &str, mac: &str, now: Timestamp) -> Credential {
    let (prefix, mac) = (prefix.to_owned(), mac.to_owned());
    Credential {
        prefix,
        mac,
        agent_id: None,
        person_id: Some(person_id.to_owned()),
        created_at: now,
        revoked_at: None,
    }
}

fn no_person() -> Denial {
    Denial::new(Code::NotFound, "There is no person with that e-mail address.")
}
