//! The readable page at `/docs`: the OpenAPI description as HTML. No script, nothing from elsewhere.

use axum::response::Response;
use bytes::Bytes;
use folkmoot_hub::request::document;
use serde_json::{Map, Value};

const STYLE: &str = include_str!("page.css");
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub fn show(html: Bytes) -> Response {
    document("text/html; charset=utf-8", POLICY, html)
}

pub async fn style() -> Response {
    document("text/css; charset=utf-8", POLICY, STYLE)
}

/// The whole page.
pub fn html(document: &Value) -> String {
    let mut page = Page(String::new());
    page.write(document);
    page.0
}

struct Page(String);

impl Page {
    /// Markup that we wrote.
    fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Text from the description, with `code` between backticks.
    fn text(&mut self, text: &str) {
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                self.raw("<code>");
                self.escaped(part);
                self.raw("</code>");
            } else {
                self.escaped(part);
            }
        }
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.raw("&amp;"),
                '<' => self.raw("&lt;"),
                '>' => self.raw("&gt;"),
                '"' => self.raw("&quot;"),
                '\'' => self.raw("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    fn element(&mut self, name: &str, text: &str) {
        self.raw(&format!("<{name}>"));
        self.text(text);
        self.raw(&format!("</{name}>"));
    }

    fn write(&mut self, document: &Value) {
        let info = &document["info"];
        self.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
        self.escaped(text_of(info, "title"));
        self.raw("</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        self.raw("<meta name=\"color-scheme\" content=\"light dark\">");
        self.raw("<link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body><header><h1>");
        self.escaped(text_of(info, "title"));
        self.raw(" <small>");
        self.escaped(text_of(info, "version"));
        self.raw("</small></h1>");
        self.element("p", text_of(info, "description"));
        self.raw("<p>The same for programs: <a href=\"/openapi.json\">openapi.json</a>, and for the socket <a href=\"/asyncapi.json\">asyncapi.json</a></p></header>");
        self.navigation(document);
        self.raw("<main>");
        for area in list_of(&document["tags"]) {
            self.area(document, area);
        }
        self.schemas(document);
        self.raw("</main></body></html>\n");
    }

    fn navigation(&mut self, document: &Value) {
        self.raw("<nav aria-label=\"Areas\"><ul>");
        let areas = list_of(&document["tags"]).iter().map(|area| text_of(area, "name"));
        for name in areas.chain(["objects"]) {
            self.raw(&format!("<li><a href=\"#{}\">", anchor(name)));
            self.escaped(name);
            self.raw("</a></li>");
        }
        self.raw("</ul></nav>");
    }

    fn area(&mut self, document: &Value, area: &Value) {
        let name = text_of(area, "name");
        self.raw(&format!("<section id=\"{}\"><h2>", anchor(name)));
        self.escaped(name);
        self.raw("</h2>");
        self.element("p", text_of(area, "description"));
        for (path, item) in fields_of(&document["paths"]) {
            for method in METHODS {
                let operation = &item[method];
                if operation["tags"][0] == name {
                    self.operation(document, method, path, operation);
                }
            }
        }
        self.raw("</section>");
    }

    fn operation(&mut self, document: &Value, method: &str, path: &str, operation: &Value) {
        self.raw(&format!("<details id=\"{}\"><summary>", text_of(operation, "operationId")));
        self.raw(&format!("<span class=\"method {method}\">{}</span> <code class=\"path\">", method.to_uppercase()));
        self.escaped(path);
        self.raw("</code> <span class=\"summary\">");
        self.text(text_of(operation, "summary"));
        self.raw("</span></summary>");
        self.element("p", text_of(operation, "description"));
        if operation["security"].is_array() {
            self.element("p", "No authentication.");
        }
        self.parameters(list_of(&operation["parameters"]));
        self.body(document, &operation["requestBody"]);
        self.responses(document, &operation["responses"]);
        self.raw("</details>");
    }

    fn parameters(&mut self, parameters: &[Value]) {
        if parameters.is_empty() {
            return;
        }
        self.raw("<h3>Parameters</h3><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
        for parameter in parameters {
            self.raw("<tr><td><code>");
            self.escaped(text_of(parameter, "name"));
            self.raw("</code></td><td>");
            self.escaped(text_of(parameter, "in"));
            self.raw("</td><td>");
            self.kind(&parameter["schema"]);
            self.raw("</td><td>");
            self.text(text_of(parameter, "description"));
            self.raw("</td></tr>");
        }
        self.raw("</tbody></table>");
    }

    fn body(&mut self, document: &Value, body: &Value) {
        for (content_type, content) in fields_of(&body["content"]) {
            self.raw("<h3>Body</h3><p>");
            self.kind(&content["schema"]);
            self.raw(" as <code>");
            self.escaped(content_type);
            self.raw("</code></p>");
            let name = content["schema"]["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
            let schema = &document["components"]["schemas"][name.unwrap_or_default()];
            self.element("p", text_of(schema, "description"));
            self.fields(schema);
        }
    }

    fn responses(&mut self, document: &Value, responses: &Value) {
        self.raw("<h3>Answers</h3><ul>");
        for (status, response) in fields_of(responses) {
            self.raw("<li><code>");
            self.escaped(status);
            self.raw("</code> ");
            let name = response["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
            let response = name.map_or(response, |name| &document["components"]["responses"][name]);
            let schemas = fields_of(&response["content"]).map(|(_, content)| &content["schema"]);
            for schema in schemas.filter(|schema| !schema.is_null()) {
                self.kind(schema);
                self.raw(" ");
            }
            self.text(text_of(response, "description"));
            self.raw("</li>");
        }
        self.raw("</ul>");
    }

    /// What a value is: a link to an object, a list of something, or a plain type.
    fn kind(&mut self, schema: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            self.raw(&format!("<a href=\"#schema-{}\">", anchor(name)));
            self.escaped(name);
            self.raw("</a>");
        } else if schema["items"].is_object() {
            self.raw("list of ");
            self.kind(&schema["items"]);
        } else if let Some(choices) = schema["oneOf"].as_array().or(schema["allOf"].as_array()) {
            let named: Vec<_> = choices.iter().filter(|choice| choice["type"] != "null").collect();
            for (index, choice) in named.into_iter().enumerate() {
                self.raw(if index == 0 { "" } else { " and " });
                self.kind(choice);
            }
        } else {
            self.escaped(&plain_type(&schema["type"]));
        }
    }

    fn schemas(&mut self, document: &Value) {
        self.raw("<section id=\"objects\"><h2>objects</h2><p>What bodies and answers are made of.</p>");
        for (name, schema) in fields_of(&document["components"]["schemas"]) {
            self.raw(&format!("<article id=\"schema-{}\"><h3><code>", anchor(name)));
            self.escaped(name);
            self.raw("</code></h3>");
            self.element("p", text_of(schema, "description"));
            self.values(schema);
            self.fields(schema);
            self.raw("</article>");
        }
        self.raw("</section>");
    }

    fn values(&mut self, schema: &Value) {
        let values: Vec<_> = list_of(&schema["enum"]).iter().filter_map(Value::as_str).collect();
        if !values.is_empty() {
            self.element("p", &format!("One of `{}`.", values.join("`, `")));
        }
    }

    fn fields(&mut self, schema: &Value) {
        for part in list_of(&schema["allOf"]) {
            if part["$ref"].is_string() {
                self.raw("<p>All fields of ");
                self.kind(part);
                self.raw(", and:</p>");
            } else {
                self.fields(part);
            }
        }
        let properties = &schema["properties"];
        if !properties.is_object() {
            return;
        }
        let required = list_of(&schema["required"]);
        self.raw("<table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
        for (name, property) in fields_of(properties) {
            self.raw("<tr><td><code>");
            self.escaped(name);
            self.raw("</code>");
            if !required.iter().any(|one| one == name) {
                self.raw(" <small>optional</small>");
            }
            self.raw("</td><td>");
            self.kind(property);
            self.raw("</td><td>");
            self.text(text_of(property, "description"));
            self.raw("</td></tr>");
        }
        self.raw("</tbody></table>");
    }
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list_of(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn fields_of(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn anchor(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect()
}

fn plain_type(kind: &Value) -> String {
    match kind {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let named: Vec<_> = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
            named.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        html(&super::super::describe::whole(&[]))
    }

    #[test]
    fn the_page_shows_every_operation_once() {
        let document = super::super::describe::whole(&[]);
        let page = html(&document);
        for (path, item) in fields_of(&document["paths"]) {
            for (_, operation) in fields_of(item) {
                let id = format!("<details id=\"{}\">", text_of(operation, "operationId"));
                assert_eq!(page.matches(&id).count(), 1, "{path}: {id}");
            }
        }
    }

    #[test]
    fn the_page_has_no_script_no_inline_style_and_nothing_from_elsewhere() {
        let page = page();
        for banned in ["<script", "<style", " style=", " onclick", "http://", "https://"] {
            assert!(!page.contains(banned), "{banned}");
        }
    }

    #[test]
    fn every_link_on_the_page_has_a_target() {
        let page = page();
        for link in page.split("href=\"#").skip(1) {
            let target = link.split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
        }
    }

    #[test]
    fn an_enum_is_shown_with_all_its_values() {
        let values = "One of <code>todo</code>, <code>in_progress</code>, <code>review</code>, <code>done</code>.";
        assert!(page().contains(values));
    }

    #[test]
    fn text_of_the_description_cannot_become_markup() {
        let mut page = Page(String::new());
        page.text("<b> & `<i>` \"'");
        assert_eq!(page.0, "&lt;b&gt; &amp; <code>&lt;i&gt;</code> &quot;&#39;");
    }
}
