//! Signing in: the form, its cookies, and the way back.

use countersign::store::people::Role;
use reqwest::StatusCode;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};

use crate::failures::told;
use crate::support::{TestApp, backends};

backends!(a_stranger_is_led_in_and_back);
async fn a_stranger_is_led_in_and_back(app: &TestApp) {
    let person = app.person(Role::Viewer).await;
    let away = app.agent.http.get(format!("{}/orders?q=x", app.url)).send().await.unwrap();
    assert_eq!(away.status(), StatusCode::SEE_OTHER);
    assert_eq!(away.headers()[LOCATION], "/login?next=%2Forders%3Fq%3Dx");

    let back = sign_in(app, "/login?next=%2Forders%3Fq%3Dx", &person.email, &person.password).await;
    assert_eq!(back.status(), StatusCode::SEE_OTHER);
    assert_eq!(back.headers()[LOCATION], "/orders?q=x");
    let cookie = back.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    for attribute in ["cs_session=", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "over plain HTTP a secure cookie would be lost: {cookie}");

    // Who is in already is not asked again.
    let session = cookie.split(';').next().unwrap();
    let login = app.agent.http.get(format!("{}/login?next=/audit", app.url)).header(COOKIE, session);
    assert_eq!(login.send().await.unwrap().headers()[LOCATION], "/audit");
}

backends!(the_way_back_stays_on_this_server);
async fn the_way_back_stays_on_this_server(app: &TestApp) {
    let person = app.person(Role::Viewer).await;
    for next in [
        "https%3A%2F%2Fevil.example",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
        "javascript%3Aalert(1)",
    ] {
        let entered = sign_in(app, &format!("/login?next={next}"), &person.email, &person.password).await;
        assert_eq!(entered.headers()[LOCATION], "/", "{next}");
    }
}

backends!(a_wrong_password_and_an_unknown_account_look_the_same);
async fn a_wrong_password_and_an_unknown_account_look_the_same(app: &TestApp) {
    let person = app.person(Role::Viewer).await;
    let mut answers = Vec::new();
    for (email, password) in [(person.email.as_str(), "wrong"), ("nobody@example.com", "wrong")] {
        let refused = sign_in(app, "/login", email, password).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert!(refused.headers().get(SET_COOKIE).is_none());
        let html = refused.text().await.unwrap();
        assert!(html.contains("E-mail address or password is not right."));
        let (_, form) = html.split_once("</h1>").unwrap();
        let (before, rest) = form.split_once("name=\"form_token\" value=\"").unwrap();
        answers.push(format!("{before}{}", &rest.split_once('"').unwrap().1).replace(email, "EMAIL"));
    }
    assert_eq!(answers[0], answers[1]);
}

backends!(too_many_attempts_are_told_to_wait);
async fn too_many_attempts_are_told_to_wait(app: &TestApp) {
    let before = app.rows().await;
    let mut last = sign_in(app, "/login", "guessed@example.com", "wrong").await;
    for _ in 0..12 {
        last = sign_in(app, "/login", "guessed@example.com", "wrong").await;
    }
    assert_eq!(last.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(last.headers().contains_key("retry-after"));
    assert!(last.text().await.unwrap().contains("Too many attempts to sign in."));
    app.only_denials_since(&before, 2).await;
    assert_eq!(told(app, "sign_in", "failed_sign_ins").await, 13);
}

backends!(an_open_page_of_an_ended_session_does_nothing);
async fn an_open_page_of_an_ended_session_does_nothing(app: &TestApp) {
    let session = app.session(app.person(Role::Owner).await).await;
    session.submit("/logout", &[]).await;
    for (form, page) in [
        ("/pause", "agents"),
        ("/actions/0199/approve", "actions%2F0199"),
        ("/account/mail", "account"),
        ("/deliveries/0199/retry", "deliveries"),
        ("/deliveries/retry", "deliveries"),
    ] {
        let refused = session.submit(form, &[]).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{form}");
        assert!(refused.html.contains("You are no longer signed in. Nothing was done."), "{form}");
        assert!(
            refused.html.contains(&format!("href=\"/login?next=%2F{page}\"")),
            "{form}: {}",
            refused.html
        );
    }
}

async fn sign_in(app: &TestApp, form: &str, email: &str, password: &str) -> reqwest::Response {
    let http = &app.agent.http;
    let page = http.get(format!("{}{form}", app.url)).send().await.unwrap();
    let cookie = page.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let html = page.text().await.unwrap();
    let value = |name: &str| {
        let (_, after) = html.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        after.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
    };
    let fields = [
        ("form_token", value("form_token")),
        ("next", value("next")),
        ("email", email.to_owned()),
        ("password", password.to_owned()),
    ];
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let post = http.post(format!("{}/login", app.url)).header(COOKIE, cookie);
    post.header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .send()
        .await
        .unwrap()
}

backends!(a_form_is_read_in_one_way);
async fn a_form_is_read_in_one_way(app: &TestApp) {
    let token = app.inner.auth.visit_token("visit");
    let send = async |charset: &str, email: &[u8]| {
        let body = [format!("form_token={token}&password=x&email=").as_bytes(), email].concat();
        let request = app.agent.http.post(format!("{}/login", app.url)).header("cookie", "cs_visit=visit");
        let kind = format!("application/x-www-form-urlencoded{charset}");
        request.header("content-type", kind).body(body).send().await.unwrap().status().as_u16()
    };
    // The escape sequence means nothing in that encoding, and leaves `%00` behind.
    assert_eq!(send("; charset=iso-2022-jp", b"a%\x1b(B00@example.com").await, 400);
    for charset in [
        "; charset=iso-2022-jp",
        "; charset=utf-16le",
        "; charset=windows-1252",
        "; charset=nonsense",
    ] {
        assert_eq!(send(charset, b"ana%40example.com").await, 400, "{charset}");
    }
    for charset in ["", "; charset=utf-8", "; charset=UTF-8"] {
        assert_eq!(send(charset, b"a%00@example.com").await, 400, "{charset}");
        assert_eq!(send(charset, b"ana%40example.com").await, 401, "{charset}");
    }
}
