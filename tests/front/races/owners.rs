//! Two owners who end each other at once: one stays.

use countersign::store::people::Role;

use crate::support::races::{race, repeat};
use crate::support::{TestApp, backends};

backends!(of_two_owners_who_end_each_other_one_stays);
async fn of_two_owners_who_end_each_other_one_stays(app: &TestApp) {
    let owners = [app.add_person("ana", Role::Owner).await, app.add_person("bo", Role::Owner).await];
    repeat("owners who end each other", app.database.backend, 40, async |round| {
        let ending = owners.iter().map(|owner| {
            let (auth, email) = (app.inner.auth.clone(), owner.email.clone());
            async move {
                if round % 2 == 0 {
                    auth.disable(&email).await.is_ok()
                } else {
                    auth.set_role(&email, Role::Viewer).await.is_ok()
                }
            }
        });
        let ended = race(ending).await.into_iter().filter(|ended| *ended).count();
        assert_eq!(ended, 1, "one is ended, and one is told to stay");
        for owner in &owners {
            app.inner.auth.reset_password(&owner.email).await.unwrap();
            app.inner.auth.set_role(&owner.email, Role::Owner).await.unwrap();
        }
    })
    .await;
}
