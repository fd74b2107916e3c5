//! What holds for the description of the whole surface, whoever brings it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::openapi_json;

fn document() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn each_operation(document: &Value, mut look: impl FnMut(&str, &str, &Value)) {
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            look(method, path, operation);
        }
    }
}

#[test]
fn the_description_is_the_same_every_time() {
    assert_eq!(openapi_json(), openapi_json());
}

#[test]
fn every_operation_has_a_summary_an_area_and_the_shape_of_its_refusals() {
    let document = document();
    let areas: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    each_operation(&document, |method, path, operation| {
        assert!(operation["summary"].is_string(), "{method} {path} has no summary");
        assert!(areas.contains(operation["tags"][0].as_str().unwrap()), "{method} {path} is in no area");
        let refusal = &operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(refusal, "#/components/schemas/Error", "{method} {path}");
    });
}

#[test]
fn every_part_of_a_path_is_a_parameter_with_a_meaning() {
    each_operation(&document(), |method, path, operation| {
        for part in parts_of(path).filter(|part| *part != "secret") {
            let parameters = operation["parameters"].as_array().unwrap();
            let parameter = parameters.iter().find(|parameter| parameter["name"] == part);
            let parameter = parameter.unwrap_or_else(|| panic!("{method} {path}: {part}"));
            assert_eq!(parameter["in"], "path");
            assert!(parameter["description"].is_string(), "{method} {path}: {part}");
        }
    });
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_an_id_of_its_own() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    let mut ids = BTreeSet::new();
    each_operation(&document, |method, path, operation| {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id.clone()), "{method} {path}: {id} is used twice");
    });
}

/// Names under which the types of a file are described.
fn described_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for item in text.split("#[derive(").skip(1).filter(|item| item.split(")]").next().unwrap().contains("ToSchema")) {
        let head = item.split(['{', ';']).next().unwrap();
        let renamed = head.split("#[schema(as = ").nth(1).and_then(|rest| rest.split(")]").next());
        let own = head.split_whitespace().skip_while(|word| !matches!(*word, "struct" | "enum")).nth(1);
        names.extend(renamed.or(own.and_then(|own| own.split('<').next())));
    }
    names
}

/// Of two types with one name the description keeps only one, and says what is not so of the other.
#[test]
fn every_described_type_has_a_name_of_its_own() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> = ["http", "hub", "moot", "services"].map(|name| crates.join(name).join("src")).into();
    let mut taken = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for name in described_names(&text) {
                assert!(taken.insert(name.to_owned()), "{name} is described twice: {}", path.display());
            }
        }
    }
    assert!(taken.contains("Invitation") && taken.contains("PoolSession"), "{taken:?}");
}

#[test]
fn only_the_open_endpoints_need_no_token() {
    let document = document();
    let mut open = BTreeSet::new();
    each_operation(&document, |method, path, operation| {
        if operation["security"].is_array() {
            open.insert(format!("{method} {path}"));
        }
    });
    let expected = [
        "get /v1/auth/providers",
        "get /v1/invites/{code}",
        "get /v1/setup",
        "post /v1/auth/join",
        "post /v1/auth/login",
        "post /v1/auth/register",
        "post /v1/workspaces/{workspace}/agents",
        "post /webhooks/{webhook}/{secret}",
    ];
    assert_eq!(open, expected.map(str::to_owned).into());
}

#[test]
fn no_schema_shows_a_secret_that_is_kept() {
    let schemas = document()["components"]["schemas"].to_string();
    for secret in ["password_hash", "key_hash", "secret_hash", "valid_after"] {
        assert!(!schemas.contains(secret), "{secret}");
    }
}
