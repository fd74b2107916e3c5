//! What holds for the description of the whole surface, whoever brings it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{described_twice, openapi_json};

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
fn every_operation_has_a_summary_and_an_area() {
    let document = document();
    let areas: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    each_operation(&document, |method, path, operation| {
        assert!(operation["summary"].is_string(), "{method} {path} has no summary");
        assert!(areas.contains(operation["tags"][0].as_str().unwrap()), "{method} {path} is in no area");
    });
}

/// Every answer of an operation, by its status, with references followed.
fn answers<'a>(document: &'a Value, operation: &'a Value) -> impl Iterator<Item = (u16, &'a Value)> {
    operation["responses"].as_object().unwrap().iter().map(|(status, answer)| {
        let status = status.parse().unwrap_or_else(|_| panic!("{status} stands for no status in particular"));
        let name = answer["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/responses/"));
        (status, name.map_or(answer, |name| &document["components"]["responses"][name]))
    })
}

#[test]
fn every_answer_has_a_description_and_every_refusal_its_shape() {
    let document = document();
    each_operation(&document, |method, path, operation| {
        for (status, answer) in answers(&document, operation) {
            let description = answer["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{method} {path}: {status} is not described");
            let shape = &answer["content"]["application/json"]["schema"]["$ref"];
            let is_refusal = status >= 400 && status != 416;
            assert_eq!(is_refusal, *shape == "#/components/schemas/Error", "{method} {path}: {status}");
        }
    });
}

#[test]
fn every_operation_names_the_statuses_that_follow_from_what_it_takes() {
    let document = document();
    each_operation(&document, |method, path, operation| {
        let named: BTreeSet<u16> = answers(&document, operation).map(|(status, _)| status).collect();
        let expect = |applies: bool, statuses: &[u16]| {
            let missing: Vec<_> = statuses.iter().filter(|status| !named.contains(status)).collect();
            assert!(!applies || missing.is_empty(), "{method} {path} does not name {missing:?}");
        };
        assert!(named.iter().any(|status| (200..300).contains(status)), "{method} {path} never goes well");
        expect(!operation["security"].is_array(), &[401, 403, 429, 503]);
        expect(path.contains('{'), &[400, 404]);
        expect(operation["requestBody"].is_object(), &[400, 408, 413]);
        expect(operation["requestBody"]["content"]["multipart/form-data"].is_object(), &[507]);
    });
}

#[test]
fn every_parameter_has_a_meaning_and_a_type_with_bounds() {
    let document = document();
    each_operation(&document, |method, path, operation| {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let at = format!("{method} {path}: {}", parameter["name"]);
            assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{at} has no meaning");
            let schema = resolved(&document, &parameter["schema"]);
            let bounded = match schema["type"].as_str() {
                Some("integer") => schema["minimum"].is_number() && schema["maximum"].is_number(),
                Some("string") => ["enum", "pattern", "maxLength"].iter().any(|bound| !schema[bound].is_null()),
                Some("boolean") => true,
                // A parameter is there or it is not; none is `null`.
                _ => false,
            };
            assert!(bounded, "{at} has no bounds: {schema}");
        }
    });
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/"));
    name.map_or(schema, |name| &document["components"]["schemas"][name])
}

#[test]
fn a_list_says_how_long_it_gets_where_its_length_can_be_chosen() {
    let document = document();
    each_operation(&document, |method, path, operation| {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let is_chosen = parameters.into_iter().any(|parameter| parameter["name"] == "limit");
        let list = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        if is_chosen && list["type"] == "array" {
            assert!(list["maxItems"].is_number(), "{method} {path}");
        }
    });
}

/// No body counts as `{}`: what may be `{}` may be left out.
#[test]
fn a_body_is_required_only_where_it_must_say_something() {
    let document = document();
    let mut optional = BTreeSet::new();
    each_operation(&document, |method, path, operation| {
        let body = &operation["requestBody"];
        let schema = resolved(&document, &body["content"]["application/json"]["schema"]);
        if schema["properties"].is_object() {
            assert_eq!(body["required"], schema["required"].is_array(), "{method} {path}");
        }
        if body["required"] == false {
            optional.insert(format!("{method} {path}"));
        }
    });
    assert!(optional.contains("post /v1/deliveries/{delivery}/pass"), "{optional:?}");
}

#[test]
fn what_is_downloaded_says_what_it_can_be() {
    let document = document();
    let types = &document["paths"]["/v1/files/{file}/download"]["get"]["responses"]["200"]["content"];
    for kind in ["application/octet-stream", "image/png", "text/plain", "application/*", "audio/*"] {
        assert_eq!(types[kind]["schema"]["format"], "binary", "{kind}");
    }
}

#[test]
fn every_body_has_examples_for_what_it_must_say() {
    let document = document();
    each_operation(&document, |method, path, operation| {
        let schema = resolved(&document, &operation["requestBody"]["content"]["application/json"]["schema"]);
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let property = resolved(&document, &schema["properties"][name]);
            let told = ["examples", "enum"].iter().any(|word| property[word].is_array());
            let plain = ["boolean", "array"].iter().any(|kind| property["type"] == *kind);
            assert!(told || plain, "{method} {path}: {name} has no example");
        }
    });
}

#[test]
fn every_part_of_a_path_is_a_parameter_with_a_meaning() {
    each_operation(&document(), |method, path, operation| {
        for part in parts_of(path) {
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

/// Of two types with one name the description keeps only one, and says what is not so of the other.
#[test]
fn no_name_stands_for_two_things() {
    assert_eq!(described_twice(), BTreeSet::new());
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
