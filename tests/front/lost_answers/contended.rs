//! The way to Postgres breaks at a COMMIT in one process, while two others that have a way of their own are after the same
//! action. Everybody is told what the database says.

use countersign::store::people::Role;
use futures_util::future::BoxFuture;

use super::calls::{Call, Ready, Scene};
use super::told::Told;
use crate::support::cable::{Cabled, Cut};
use crate::support::races::{race, repeat};
use crate::support::rival::Rival;
use crate::support::run::run_on_several_processes;
use crate::support::settings::figure;
use crate::support::shop::id;
use crate::support::{Backend, TestApp};

/// Seven times each of the calls with each cut.
const ROUNDS: usize = 210;

/// What is called at once, the first of them behind the cable: the same by all, or three endings of one action.
const CALLS: [[Call; 3]; 10] = [
    [Call::Request; 3],
    [Call::NextAttempt; 3],
    [Call::Replay; 3],
    [Call::Approval; 3],
    [Call::Failure; 3],
    [Call::Rejection; 3],
    [Call::Withdrawal; 3],
    [Call::Approval, Call::Rejection, Call::Withdrawal],
    [Call::Rejection, Call::Withdrawal, Call::Approval],
    [Call::Withdrawal, Call::Approval, Call::Rejection],
];

#[test]
fn a_commit_lost_beside_other_processes_is_told_as_it_is() {
    run_on_several_processes(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let (scenes, books) = (scenes(app).await, app.books());
        let mut first = Cut::ALL.map(|cut| (cut, 0));
        repeat("a commit cut beside others", Backend::Postgres, ROUNDS, async |round| {
            let (cut, times) = &mut first[round % Cut::ALL.len()];
            let contest = Contest::new(app, &scenes, round).await;
            cable.cut_a_commit(*cut);
            let told = race(contest.contenders()).await;
            books.balance();
            *times += usize::from(contest.settle(told).await == 0);
            books.balance();
        })
        .await;
        let first = first.map(|(cut, times)| format!("{times} {cut:?}")).join(", ");
        figure(&format!("a commit cut beside others, and yet the first: {first}"));
    });
}

/// It may still arrive, or end with its connection.
#[test]
fn other_processes_wait_for_a_commit_under_way() {
    run_on_several_processes(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let (scenes, books) = (scenes(app).await, app.books());
        app.rival().block_commits();
        repeat("others behind a commit that was cut", Backend::Postgres, ROUNDS, async |round| {
            let arrives = (round + round / CALLS.len()).is_multiple_of(2);
            let contest = Contest::new(app, &scenes, round).await;
            let mut rival = app.rival();
            rival.begin("UPDATE turnstile SET one = one");
            cable.cut_a_commit(Cut::Behind);
            let mut sent = Vec::new();
            // The first try at its commit and the second at its rows, and then the others.
            for (waiting, contender) in (2..).zip(contest.contenders()) {
                sent.push(tokio::spawn(contender));
                app.until_waiting(waiting).await;
            }
            if !arrives {
                end_waiting_commits(&mut rival);
            }
            rival.run("COMMIT");

            let mut told = Vec::new();
            for sent in sent {
                told.push(sent.await.unwrap());
            }
            books.balance();
            let first = contest.settle(told).await;
            assert!(first == 0 || !arrives, "{first} was before it");
            books.balance();
        })
        .await;
    });
}

/// Ends the connections that wait at their commit. What they did is undone.
fn end_waiting_commits(rival: &mut Rival) {
    rival.run(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query = 'COMMIT'",
    );
}

/// The agent and a person behind the cable, and twice elsewhere.
async fn scenes(app: &TestApp) -> [Scene<'_>; 3] {
    let here = app.person(Role::Approver).await;
    let there = app.person(Role::Owner).await.at(&app.elsewhere.as_ref().unwrap().url);
    let mut agents = app.agent.processes(3).into_iter();
    [here.clone(), there.clone(), there].map(|person| Scene {
        agent: agents.next().unwrap(),
        person,
        database: &app.database,
    })
}

/// Calls about one order, one at each scene.
struct Contest<'a>([(Ready, &'a Scene<'a>); 3]);

impl<'a> Contest<'a> {
    async fn new(app: &TestApp, scenes: &'a [Scene<'a>; 3], round: usize) -> Self {
        let calls = CALLS[round % CALLS.len()];
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let ready = Ready::new(&scenes[0], calls[0], &order).await;
        let mut scenes = scenes.iter();
        Self(calls.map(|call| (ready.but(call), scenes.next().unwrap())))
    }

    fn contenders(&self) -> impl Iterator<Item = BoxFuture<'static, Option<Told>>> {
        self.0.iter().map(|(ready, scene)| ready.send(scene))
    }

    /// Looks at what each was told, and follows the action to its end. Answers who was the first to bring it there.
    async fn settle(&self, told: Vec<Option<Told>>) -> usize {
        let mut told: Vec<Told> = told.into_iter().map(Option::unwrap).collect();
        let (cut, here) = &self.0[0];
        // Of a decision that came too late there is nothing to find but that it is to be sent again.
        if cut.call.is_decision() && told[0].body["code"] == "unavailable" {
            told[0] = cut.send(here).await.unwrap();
        }
        let is_first = |number: &usize| {
            self.0[*number].0.is_done(&told[*number]) && told[*number].body["disposition"] != "joined"
        };
        let first: Vec<usize> = (0..3).filter(is_first).collect();
        let all = [[Call::Replay; 3], [Call::Withdrawal; 3]].contains(&self.calls());
        assert_eq!(first.len(), if all { 3 } else { 1 }, "{:?}: {told:?}", self.calls());
        let (winner, scene) = &self.0[first[0]];
        for (number, (ready, _)) in self.0.iter().enumerate() {
            if ready.call.is_request() {
                assert!(ready.is_done(&told[number]), "{told:?}");
                assert_eq!(id(&told[number].body), id(&told[first[0]].body));
            } else if !is_first(&number) {
                ready.is_told_of(winner, scene, &told[number]);
            }
        }
        winner.send_again(scene, true).await;
        first[0]
    }

    fn calls(&self) -> [Call; 3] {
        self.0.each_ref().map(|(ready, _)| ready.call)
    }
}
