//! Signing in, and what ends it.

use countersign::store::people::Role;
use reqwest::StatusCode;

use crate::support::{TestApp, backends};

backends!(a_person_who_is_disabled_is_out_at_once);
async fn a_person_who_is_disabled_is_out_at_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let session = app.session(person).await;
    assert_eq!(session.get("/").await.status, StatusCode::OK);

    app.inner.auth.disable(&person.email).await.unwrap();
    let after = session.get("/").await;
    assert_eq!((after.status, after.location.as_deref()), (StatusCode::SEE_OTHER, Some("/login")));
}

backends!(a_form_needs_the_token_of_its_session);
async fn a_form_needs_the_token_of_its_session(app: &TestApp) {
    let mut session = app.session(app.person(Role::Viewer).await).await;
    let genuine = std::mem::replace(&mut session.form_token, "forged".into());
    assert_eq!(session.submit("/logout", &[]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(session.get("/").await.status, StatusCode::OK);

    session.form_token = genuine;
    assert_eq!(session.submit("/logout", &[]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(session.get("/").await.status, StatusCode::SEE_OTHER);
}
