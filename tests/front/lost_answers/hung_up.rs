//! The client hangs up, or takes its call back, while the server is stopped at each point of each call. That undoes nothing.

use std::time::{Duration, Instant};

use serde_json::json;

use super::calls::{Call, Ready, Scene};
use crate::mcp_stdio::pipe::Pipe;
use crate::support::program::Program;
use crate::support::races::repeat;
use crate::support::rival::Rival;
use crate::support::shop::refund;
use crate::support::site::Site;
use crate::support::{Backend, backends};

backends!(hung_up_at_each_point_of_each_call, cancelled_at_each_point);

const ROUNDS: usize = 10;

async fn hung_up_at_each_point_of_each_call(backend: &Backend) {
    let cases: Vec<_> = Call::ALL
        .into_iter()
        .flat_map(|call| call.points().iter().map(move |point| (call, *point)))
        .collect();
    let site = Site::new(*backend, ROUNDS * cases.len()).await;
    repeat(&format!("hung up at {} points", cases.len()), *backend, ROUNDS, async |round| {
        for (number, (call, point)) in cases.iter().copied().enumerate() {
            let scene = || Scene {
                agent: site.agent(),
                person: site.person(),
                database: &site.database,
            };
            let ready = Ready::new(&scene(), call, &format!("#{}", round * cases.len() + number)).await;
            site.failpoints.arm(point);
            let sent = tokio::spawn(ready.send(&scene()));
            site.failpoints.until_reached(point).await;
            sent.abort();
            assert!(sent.await.unwrap_err().is_cancelled());
            // Long enough for the server to notice that the connection is closed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            site.failpoints.release(point);
            site.until_quiet().await;

            site.books.balance();
            ready.send_again(&scene(), true).await;
            site.books.balance();
        }
    })
    .await;
}

/// Over standard input and output, straight on the database and through a bridge.
async fn cancelled_at_each_point(backend: &Backend) {
    let cases: Vec<_> = Call::Request.points().iter().flat_map(|point| [(0, *point), (1, *point)]).collect();
    let site = Site::new(*backend, ROUNDS * cases.len()).await;
    let straight = Program::on(&site.database).with("FAILPOINTS", site.failpoints.folder());
    let bridge = Program::bare().with("COUNTERSIGN_URL", site.url());
    let mut pipes = [straight, bridge].map(|program| {
        let unlimited = program.with("COUNTERSIGN_WRITE_RATE", "off").with("COUNTERSIGN_READ_RATE", "off");
        let mut pipe = Pipe::open(&unlimited.with("COUNTERSIGN_AGENT_KEY", &site.agent().key));
        pipe.shake_hands();
        pipe
    });
    repeat(&format!("cancelled at {} points", cases.len()), *backend, ROUNDS, async |round| {
        for (number, (pipe, point)) in cases.iter().copied().enumerate() {
            let pipe = &mut pipes[pipe];
            let order = format!("#{}", round * cases.len() + number);
            let arguments = refund(&order, 100);
            let params = json!({ "name": "request_refund", "arguments": arguments });
            let call =
                |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });

            site.failpoints.arm(point);
            pipe.say(&call("lost").to_string());
            site.failpoints.until_reached(point).await;
            let params = json!({ "requestId": "lost" });
            pipe.say(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
                    .to_string(),
            );
            // What comes after it is answered, so it was read.
            assert_eq!(pipe.ask(&json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" }))["id"], "ping");
            site.failpoints.release(point);
            // A repetition could overtake it, and be the first.
            until_asked_for(&site, &order).await;

            let heard = pipe.ask(&call("again"));
            let answer = &heard["result"]["structuredContent"];
            assert_eq!(
                (&heard["id"], &answer["disposition"]),
                (&"again".into(), &"joined".into()),
                "{point}: {heard}"
            );
            assert_eq!(answer["attempt"], 1);
            site.books.balance();
        }
    })
    .await;
    for pipe in pipes {
        assert!(pipe.close().1);
    }
}

/// Waits until there is an action on the order.
async fn until_asked_for(site: &Site, order: &str) {
    let (patience, mut watcher) = (Instant::now() + Duration::from_secs(10), Rival::on(&site.database));
    while watcher.count("action_subjects", &format!("subject = 'order:{order}'")) == 0 {
        assert!(Instant::now() < patience, "a call that was taken back did nothing");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
