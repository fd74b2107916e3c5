//! Shows what clients have to say on the desktop of whoever owns this machine; quiet where there is no desktop.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use folkmoot_core::event::Event;
use folkmoot_core::model::{Notification, Role};
use folkmoot_core::route::Urgency;
use folkmoot_core::{Record, State};
use folkmoot_hub::{Hub, Sighting};
use folkmoot_runs::process::environment;
use folkmoot_services::routing::notices::{Notice, Queue};
use tokio::process::Command;

/// The usual program that hands a notice to the desktop's notification service.
const PROGRAM: &str = "notify-send";
const SHOW_TIMEOUT: Duration = Duration::from_secs(5);
/// What goes to the desktop; that a client declined is for those who look.
const SHOWN: [&str; 3] = ["route_notification", "route_failed", "route_question"];

pub async fn follow(hub: Hub) {
    let Some(program) = service() else { return };
    let mut watch = hub.watch(Box::new(is_for_the_desktop));
    let mut queue = Queue::default();
    loop {
        let now = hub.now();
        let pause = queue.deadline(now).map(|at| Duration::from_millis((at - now).max(0).unsigned_abs()));
        tokio::select! {
            sighting = watch.next() => match sighting {
                Some(Sighting::Event(event)) => queue.push(notice(*event), hub.now()),
                Some(Sighting::Missed) => {}
                None => return,
            },
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
        }
        if let Some(notice) = queue.next(hub.now()) {
            show(&program, notice).await;
        }
    }
}

/// The program, if there is one and a session bus to reach the desktop by.
fn service() -> Option<PathBuf> {
    let by_address = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty());
    let by_folder =
        std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| PathBuf::from(folder).join("bus").exists());
    let path = std::env::var_os("PATH")?;
    let program = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file());
    program.filter(|_| by_address || by_folder)
}

/// Only for the owner of the machine: what others have routed is not for this screen.
fn is_for_the_desktop(event: &Event, state: &State) -> bool {
    let Event::Saved(Record::Notification(notification)) = event else { return false };
    let is_new = !notification.is_read && SHOWN.contains(&notification.kind.as_str());
    let oldest = || state.workspaces().map(|workspace| workspace.id).min();
    let owns = || {
        let member = state.member(notification.member)?;
        Some(member.role == Role::Owner && oldest() == Some(member.workspace))
    };
    is_new && owns() == Some(true)
}

fn notice(event: Event) -> Notice {
    let Event::Saved(Record::Notification(Notification { title, body, priority, .. })) = event else {
        return Notice { title: String::new(), body: String::new(), urgency: Urgency::Low };
    };
    let urgency = match priority.as_str() {
        "low" => Urgency::Low,
        "high" => Urgency::High,
        _ => Urgency::Normal,
    };
    Notice { title, body, urgency }
}

async fn show(program: &PathBuf, notice: Notice) {
    let urgency = match notice.urgency {
        Urgency::Low => "low",
        Urgency::Normal => "normal",
        Urgency::High => "critical",
    };
    let mut command = Command::new(program);
    environment::clean(command.as_std_mut(), environment::OF_DESKTOP);
    let child = command
        .args(["--app-name=Folkmoot", &format!("--urgency={urgency}"), "--", &notice.title, &notice.body])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status();
    // A desktop that does not answer is no reason for trouble; the notification is stored.
    if tokio::time::timeout(SHOW_TIMEOUT, child).await.is_err() {
        tracing::debug!("the desktop did not take a notice");
    }
}
