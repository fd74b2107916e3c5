//! Trying again: calls that are made until they succeed, are refused for good, or have been tried long enough.

use std::time::Duration;

use folkmoot_clients::PeerError;
use folkmoot_clients::backoff::Backoff;
use tokio::time::{Instant, sleep};

use crate::api::ApiError;

/// How long whoever waits for a file, a voice note or an answer is kept waiting.
pub const MINUTES: Option<Duration> = Some(Duration::from_secs(300));
/// A person who pressed a button does not look longer than that.
pub const A_MOMENT: Option<Duration> = Some(Duration::from_secs(30));
pub const FOREVER: Option<Duration> = None;

/// Whether a call that failed is made again, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    Never,
    /// As the server asks.
    After(Duration),
    /// After a pause that grows.
    Soon,
}

/// Makes a call until it succeeds or `again` gives it up, at most for as long as `timeout`.
pub async fn retrying<T, E, F>(
    timeout: Option<Duration>,
    again: fn(&E) -> Again,
    mut call: impl FnMut() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut backoff = Backoff::for_reconnecting();
    let give_up = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let error = match call().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let pause = match again(&error) {
            Again::Never => return Err(error),
            Again::After(pause) => pause,
            Again::Soon => backoff.next(rand::random()),
        };
        if give_up.is_some_and(|give_up| Instant::now() + pause > give_up) {
            return Err(error);
        }
        sleep(pause).await;
    }
}

/// For what may be done twice: only a refusal is final.
pub fn unless_refused(error: &ApiError) -> Again {
    match error {
        ApiError::RateLimited { retry_after } => Again::After(*retry_after),
        ApiError::Unreachable { .. } => Again::Soon,
        ApiError::Rejected { .. } => Again::Never,
    }
}

/// For what must not be done twice: what may have had its effect is not tried again.
pub fn unless_done(error: &ApiError) -> Again {
    match error {
        ApiError::Unreachable { perhaps_done: true, .. } => Again::Never,
        error => unless_refused(error),
    }
}

/// For what has to be known: only a token that is none is final.
pub fn unless_unauthorized(error: &ApiError) -> Again {
    match unless_refused(error) {
        Again::Never if !error.is_unauthorized() => Again::Soon,
        again => again,
    }
}

/// For other services.
pub fn unless_hopeless(error: &PeerError) -> Again {
    match error {
        PeerError::RateLimited { retry_after: Some(pause) } => Again::After(*pause),
        // The endpoint waited for us and not the other way round.
        PeerError::Refused { status: 408, .. } => Again::Soon,
        error if error.is_transient() => Again::Soon,
        _ => Again::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers in turn, then the last for ever; how often it was asked and how long that took.
    async fn tried(
        timeout: Option<Duration>,
        again: fn(&ApiError) -> Again,
        answers: Vec<Result<(), ApiError>>,
    ) -> (Result<(), ApiError>, usize, Duration) {
        let (began, mut asked) = (Instant::now(), 0);
        let answer = retrying(timeout, again, || {
            asked += 1;
            std::future::ready(answers[(asked - 1).min(answers.len() - 1)].clone())
        })
        .await;
        (answer, asked, began.elapsed())
    }

    fn unreachable(perhaps_done: bool) -> ApiError {
        ApiError::Unreachable { cause: "502".into(), perhaps_done }
    }

    fn limited(seconds: u64) -> ApiError {
        ApiError::RateLimited { retry_after: Duration::from_secs(seconds) }
    }

    fn refused(code: u16) -> ApiError {
        ApiError::Rejected { code, description: "no".into(), moved_to: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_made_again_after_a_429_and_a_502_as_slowly_as_the_server_asks() {
        let answers = vec![Err(limited(40)), Err(unreachable(false)), Ok(())];
        let (answer, times, took) = tried(MINUTES, unless_done, answers).await;
        assert_eq!((answer, times), (Ok(()), 3));
        assert!(took >= Duration::from_secs(40), "as long as the server asked: {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_given_up_after_some_minutes_or_never() {
        let (answer, times, took) = tried(MINUTES, unless_refused, vec![Err(unreachable(true))]).await;
        assert_eq!(answer, Err(unreachable(true)));
        assert!(times > 5 && took > Duration::from_secs(200), "{times} times in {took:?}");
        let (answer, times, _) = tried(MINUTES, unless_refused, vec![Err(limited(4000))]).await;
        assert_eq!((answer, times), (Err(limited(4000)), 1), "nobody waits for an hour");
        let mut long = vec![Err(unreachable(true)); 500];
        long.push(Ok(()));
        assert_eq!(tried(FOREVER, unless_refused, long).await.1, 501);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_arrived_is_not_sent_twice_and_a_refusal_is_final() {
        for error in [unreachable(true), refused(400)] {
            let (answer, times, _) = tried(MINUTES, unless_done, vec![Err(error.clone()), Ok(())]).await;
            assert_eq!((answer, times), (Err(error), 1));
        }
        let odd = vec![Err(refused(409)), Ok(())];
        assert_eq!(tried(FOREVER, unless_unauthorized, odd).await.1, 2);
        let unknown = vec![Err(refused(401)), Ok(())];
        assert_eq!(tried(FOREVER, unless_unauthorized, unknown).await.1, 1);
    }

    #[test]
    fn of_another_service_only_a_refusal_that_cannot_change_is_final() {
        let of = |status| PeerError::Refused { status, reason: String::new() };
        assert_eq!(unless_hopeless(&of(408)), Again::Soon);
        assert_eq!(unless_hopeless(&of(400)), Again::Never);
        assert_eq!(unless_hopeless(&PeerError::Unauthorized(String::new())), Again::Never);
        assert_eq!(unless_hopeless(&PeerError::Failed { status: 502, reason: String::new() }), Again::Soon);
        assert_eq!(unless_hopeless(&PeerError::Cut), Again::Soon);
        let pause = Duration::from_secs(3);
        assert_eq!(unless_hopeless(&PeerError::RateLimited { retry_after: Some(pause) }), Again::After(pause));
        assert_eq!(unless_hopeless(&PeerError::RateLimited { retry_after: None }), Again::Soon);
    }
}
