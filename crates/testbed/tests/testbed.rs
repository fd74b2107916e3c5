//! The servers start, end with whoever started them, and the proxy breaks what it should.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use folkmoot_testbed::{Direction, Nats, Options, Postgres, Proxy, nats, postgres};

#[test]
fn every_test_has_a_database_of_its_own_that_goes_away_with_it() {
    let Some(server) = postgres() else { return };
    let (first, second) = (server.database(), server.database());
    first.query("CREATE TABLE t (a int)");
    second.query("CREATE TABLE t (a int)");
    let named = |name: &str| format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    let name = first.name().to_owned();
    assert_eq!(second.query(&named(&name)), "1");
    drop(first);
    assert_eq!(second.query(&named(&name)), "0");
}

#[test]
fn a_crashed_server_comes_back_with_its_data_on_its_port() {
    let Some(mut server) = Postgres::start(Options::default()) else { return };
    let (database, port) = (server.database(), server.port());
    database.query("CREATE TABLE t AS SELECT 7 AS a");
    server.crash();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    server.start_again();
    assert!(server.is_there());
    assert_eq!((database.query("SELECT a FROM t"), server.port()), ("7".to_owned(), port));
}

#[test]
fn nats_comes_back_on_its_port() {
    let Some(shared) = nats() else { return };
    let mut server = Nats::start(&[]).expect("a server");
    let port = server.port();
    assert_ne!(port, shared.port());
    server.crash();
    server.start_again();
    assert_eq!(server.port(), port);
    let mut greeting = [0; 4];
    TcpStream::connect(("127.0.0.1", port))
        .and_then(|mut stream| stream.read_exact(&mut greeting))
        .expect("a greeting");
    assert_eq!(&greeting, b"INFO");
}

/// Not a test but what the next one runs and kills: it starts servers and waits.
#[test]
#[ignore = "started by another test"]
fn starts_servers_and_waits_to_be_killed() {
    let (Some(postgres), Some(nats)) = (postgres(), nats()) else { return };
    println!("ports {} {} {}", postgres.port(), nats.port(), postgres.socket_folder().display());
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn servers_end_when_the_tests_are_killed() {
    if postgres().is_none() || nats().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("a test binary"));
    command.args(["--ignored", "--nocapture", "--exact", "starts_servers_and_waits_to_be_killed"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = std::io::BufReader::new(child.stdout.take().expect("output"));
    let mut line = String::new();
    while !line.contains("ports ") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut output, &mut line).expect("a line"), 0);
    }
    let words: Vec<&str> = line.split_whitespace().skip_while(|word| *word != "ports").skip(1).collect();
    let ports: Vec<u16> = words[..2].iter().map(|port| port.parse().expect("a port")).collect();
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let begin = Instant::now();
    let is_there = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
    while ports.iter().any(is_there) || std::path::Path::new(words[2]).exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "a server or its folder stayed");
        thread::yield_now();
    }
}

/// A server that sends back what it gets.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || std::io::copy(&mut stream.try_clone().expect("a clone"), &mut stream));
        }
    });
    port
}

fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(("127.0.0.1", proxy.port())).expect("a connection")
}

fn hears(stream: &mut TcpStream, text: &str) -> bool {
    let mut heard = vec![0; text.len()];
    stream.read_exact(&mut heard).is_ok() && heard == text.as_bytes()
}

#[test]
fn a_cut_ends_connections_and_refuses_new_ones_until_it_is_healed() {
    let proxy = Proxy::to(echo());
    let mut stream = connect(&proxy);
    stream.write_all(b"one").expect("a write");
    assert!(hears(&mut stream, "one"));
    proxy.cut();
    assert!(!hears(&mut stream, "x"));
    assert!(!hears(&mut connect(&proxy), "x"));
    proxy.heal();
    let mut stream = connect(&proxy);
    stream.write_all(b"two").expect("a write");
    assert!(hears(&mut stream, "two"));
}

#[test]
fn a_black_hole_holds_back_and_one_way_holds_back_one_way() {
    let proxy = Proxy::to(echo());
    let mut stream = connect(&proxy);
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    for stall in [|proxy: &Proxy| proxy.black_hole(), |proxy: &Proxy| proxy.stall(Direction::ToClient)] {
        stall(&proxy);
        stream.write_all(b"late").expect("a write");
        assert!(!hears(&mut stream, "late"));
        proxy.heal();
        stream.set_read_timeout(None).expect("no timeout");
        assert!(hears(&mut stream, "late"));
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    }
}

#[test]
fn a_delay_is_added_each_way_and_does_not_add_up() {
    let proxy = Proxy::to(echo());
    let mut stream = connect(&proxy);
    proxy.delay(Duration::from_millis(20));
    let begin = Instant::now();
    stream.write_all(b"there and back").expect("a write");
    assert!(hears(&mut stream, "there and back"));
    assert!(begin.elapsed() >= Duration::from_millis(40));
}
