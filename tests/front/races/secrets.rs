//! Which secret a database is told of, by several processes at once.

use countersign::auth::accounts::Changed;
use countersign::auth::{Auth, Secret};
use countersign::error::{Code, Error};
use futures_util::FutureExt;

use super::ROUNDS;
use super::accounts::ACCOUNTS;
use crate::support::app::SECRET;
use crate::support::races::{race, repeat};
use crate::support::{TestApp, backends};

backends!(of_two_secrets_a_database_is_told_of_one, no_key_is_made_under_a_secret_that_was_replaced);

const ANOTHER: &str = "5f0b7c9e2d4a41868b3c6f1e9d7a0c25";

async fn of_two_secrets_a_database_is_told_of_one(app: &TestApp) {
    let process = |secret: &str| app.unserved_with(|config| config.secret = Some(secret.to_owned())).auth;
    let processes = [process(SECRET), process(SECRET), process(ANOTHER), process(ANOTHER)];
    repeat("tell × tell", app.database.backend, ROUNDS, async |_| {
        app.rival().run("DELETE FROM secret_mark");
        let told = race(processes.clone().map(|process| async move { tells(&process).await })).await;
        assert!(told == [true, true, false, false] || told == [false, false, true, true], "{told:?}");
        for (process, is_its) in processes.iter().zip(told) {
            assert_eq!(tells(process).await, is_its);
        }
    })
    .await;
}

async fn tells(process: &Auth) -> bool {
    match process.tell_secret().await {
        Ok(_) => true,
        Err(Error::Denied(denial)) if denial.code == Code::Forbidden => false,
        Err(error) => panic!("{error:?}"),
    }
}

async fn no_key_is_made_under_a_secret_that_was_replaced(app: &TestApp) {
    let old = app.inner.auth.clone();
    let new = Auth {
        secret: Secret::new(ANOTHER).unwrap(),
        ..old.clone()
    };
    // The mark is held, too: one replaces it, the other makes a key.
    let held = format!("{ACCOUNTS}; UPDATE secret_mark SET mac = mac");
    repeat("rotate × new secret", app.database.backend, ROUNDS, async |round| {
        old.replace_secret().await.unwrap();
        let name = format!("{round}");
        app.add_agent(&name, &["orders:read"]).await;
        let (maker, replacer) = (old.clone(), new.clone());
        let mut both = [
            async move {
                match maker.rotate(&name).await {
                    Ok(_) => true,
                    Err(Error::Denied(denial)) if denial.code == Code::Forbidden => false,
                    Err(error) => panic!("{error:?}"),
                }
            }
            .boxed(),
            async move { matches!(replacer.replace_secret().await.unwrap(), Changed::Now(())) }.boxed(),
        ];
        both.rotate_left(round % 2);
        let mut done = app.in_order(&held, both).await;
        done.rotate_left(round % 2);
        assert_eq!(done, [round % 2 == 0, true], "whoever comes first");
    })
    .await;
}
