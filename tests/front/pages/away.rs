//! The pages while the database is away.

use std::net::TcpListener;

use countersign::app::{self, App};
use countersign::config::Config;
use reqwest::StatusCode;

use crate::support::{http, runtime};

#[test]
fn a_database_that_is_away_is_a_page_that_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = Config::on("postgres://nobody@127.0.0.1:1/nothing").unwrap();
    config.secret = Some("9b1d6f0c4a7e42b58c3d17f6e0a94b2c".into());
    config.listen = listener.local_addr().unwrap();
    let url = format!("http://{}", config.listen);
    let app = App::build(config).unwrap();
    runtime().block_on(async {
        tokio::spawn(app::serve(app, listener, std::future::pending()));
        let queue = http::client().get(&url).header("cookie", "cs_session=x").send().await.unwrap();
        assert_eq!(queue.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(queue.headers().contains_key("retry-after"));
        let html = queue.text().await.unwrap();
        assert!(html.contains("The database is away") && html.contains("nothing is done twice"), "{html}");
        assert!(!html.contains("127.0.0.1:1") && !html.contains("refused"), "{html}");

        let login = http::client().get(format!("{url}/login")).send().await.unwrap();
        assert_eq!(login.status(), StatusCode::OK);
    });
}
