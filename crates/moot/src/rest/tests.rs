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
