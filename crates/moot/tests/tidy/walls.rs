//! Who may depend on whom: between crates, and between the modules of one.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::tree::{Source, crates, root, sources};

/// What each crate may name in its `[dependencies]`, of ours. Who is not in a row cannot be seen: siblings do not see each other.
const MAY_SEE: &[(&str, &[&str])] = &[
    ("action", &[]),
    ("agentd", &["action", "clients", "database", "engines", "runs", "wire"]),
    ("bot", &["clients", "database", "wire"]),
    ("clients", &["wire"]),
    ("config", &["bot", "core", "engines", "hub", "runs", "services", "telegram"]),
    ("conformance", &[]),
    ("core", &[]),
    ("database", &[]),
    ("doors", &["action", "core", "wire"]),
    ("engines", &["action"]),
    ("http", &["core", "doors", "hub", "store"]),
    ("hub", &["core", "doors", "store"]),
    ("pool", &["clients", "wire"]),
    ("runs", &["action", "engines"]),
    ("services", &["core", "doors", "hub"]),
    ("store", &["core", "database"]),
    ("telegram", &["action", "clients", "database", "engines", "runs"]),
    ("terminal", &["action", "clients", "config", "core", "hub", "services", "store", "wire"]),
    ("testbed", &[]),
    ("wire", &[]),
];
/// It puts everything together.
const SEES_ALL: &str = "moot";

/// Crates whose modules still import each other in a circle.
const NOT_YET: &[&str] = &[];

/// The names of the crates that `package` is built from, at most so many steps away.
fn dependencies(package: &str, depth: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", package, "-e", "normal", "--prefix", "none", "-f", "{p}"])
        .args(["--depth", depth])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn core_and_doors_see_no_runtime_no_sockets_and_no_database() {
    for package in ["folkmoot-core", "folkmoot-wire", "folkmoot-doors"] {
        let dependencies = dependencies(package, "99");
        assert!(dependencies.contains("serde"), "cargo tree of {package} says nothing: {dependencies:?}");
        for forbidden in ["tokio", "axum", "sqlx", "rusqlite", "hyper", "reqwest"] {
            assert!(!dependencies.contains(forbidden), "{package} depends on {forbidden}");
        }
    }
}

#[test]
fn every_crate_sees_only_what_the_map_lets_it_see() {
    let mut rows: Vec<&str> = MAY_SEE.iter().map(|(name, _)| *name).chain([SEES_ALL]).collect();
    rows.sort_unstable();
    assert_eq!(rows, crates(), "every crate has its row, and every row its crate");
    for (name, allowed) in MAY_SEE {
        let package = format!("folkmoot-{name}");
        let seen = dependencies(&package, "1");
        let ours = seen.iter().filter_map(|seen| seen.strip_prefix("folkmoot-")).filter(|seen| seen != name);
        let forbidden: Vec<&str> = ours.filter(|seen| !allowed.contains(seen)).collect();
        assert!(forbidden.is_empty(), "{package} must not see {forbidden:?}");
    }
}

#[test]
fn the_modules_of_a_crate_do_not_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in crates() {
        let circle = circle(&edges(&sources(&name)));
        match (circle, NOT_YET.contains(&name.as_str())) {
            (Some(circle), false) => circles.push(format!("{name}: {}", circle.join(" → "))),
            (None, true) => circles.push(format!("{name} has no circle any more; take it out of NOT_YET")),
            _ => {}
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Which top-level module names which.
fn edges(sources: &[Source]) -> Edges {
    let modules: BTreeSet<&str> = sources.iter().filter_map(|source| source.module().first().copied()).collect();
    let roots = sources.iter().filter(|source| source.module().is_empty());
    let exported: BTreeMap<String, &str> = roots.flat_map(|root| exported(&root.text, &modules)).collect();
    let mut edges = Edges::new();
    for source in sources {
        let module = source.module();
        let Some(from) = module.first() else { continue };
        for name in names_from_root(&source.text, module.len()) {
            let to = modules.get(name.as_str()).copied().or_else(|| exported.get(&name).copied());
            if let Some(to) = to.filter(|to| to != from) {
                edges.entry((*from).to_owned()).or_default().insert(to.to_owned());
            }
        }
    }
    edges
}

/// What the root of a crate shows of its modules, by the name under which it does: `pub use hub::Hub` is a way to `hub`.
fn exported<'a>(text: &str, modules: &BTreeSet<&'a str>) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    for statement in text.split(';').filter_map(|part| part.split_once("pub use ").map(|(_, rest)| rest)) {
        let path = statement.trim_start_matches("self::").trim_start_matches("crate::");
        let Some((module, rest)) = path.split_once("::") else { continue };
        let Some(module) = modules.get(module.trim()) else { continue };
        let words = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        found.extend(words.filter(|word| !word.is_empty()).map(|word| (word.to_owned(), *module)));
    }
    found
}

/// The first name behind every `crate::`, and behind every `super::` that leads from this depth to the root.
fn names_from_root(text: &str, depth: usize) -> Vec<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        found.extend(first_names(&code[at + start.len()..]));
    }
    for (at, start) in code.match_indices(up.as_str()) {
        let is_whole = !code[..at].ends_with("super::") && !code[at + start.len()..].starts_with("super::");
        if is_whole {
            found.extend(first_names(&code[at + start.len()..]));
        }
    }
    found
}

/// `a::b` is `a`; `{a::b, c}` is `a` and `c`.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut names, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&group[begin..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&group[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// One way from a module back to itself.
fn circle(edges: &Edges) -> Option<Vec<String>> {
    edges.keys().find_map(|start| way(edges, start, start, &mut BTreeSet::new()))
}

fn way(edges: &Edges, from: &str, to: &str, seen: &mut BTreeSet<String>) -> Option<Vec<String>> {
    for next in edges.get(from)? {
        if next == to {
            return Some(vec![from.to_owned(), to.to_owned()]);
        }
        if seen.insert(next.clone())
            && let Some(rest) = way(edges, next, to, seen)
        {
            return Some([vec![from.to_owned()], rest].concat());
        }
    }
    None
}

#[test]
fn the_graph_follows_groups_supers_and_what_the_root_shows() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source("lib.rs", "mod a; mod b; mod c; mod d;\npub use self::d::Thing;"),
        source("a.rs", "use crate::{b::x, c};\n// crate::d is only talked about"),
        source("b/mod.rs", "use super::c::y;"),
        source("b/inner.rs", "use super::own; use super::super::c;"),
        source("c.rs", "fn z(thing: crate::Thing) {}"),
        source("d.rs", ""),
    ];
    let edges = edges(&sources);
    let shown: Vec<String> = edges.iter().map(|(from, to)| format!("{from} {to:?}")).collect();
    assert_eq!(shown, [r#"a {"b", "c"}"#, r#"b {"c"}"#, r#"c {"d"}"#]);
    assert_eq!(circle(&edges), None);
}

#[test]
fn a_circle_over_several_modules_is_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let found = circle(&Edges::from([edge("a", "b"), edge("b", "c"), edge("c", "a")]));
    assert_eq!(found.unwrap(), ["a", "b", "c", "a"]);
}
