// Holds docs/openapi.json and docs/asyncapi.json against the published schemas of their formats.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv";
import addFormats from "ajv-formats";

const DOCS = join(import.meta.dirname, "..", "docs");
const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(join(DOCS, name), "utf8"));

async function openapi() {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(read("openapi.json"));
  if (valid) validator.resolveRefs();
  return valid ? [] : [].concat(errors);
}

function asyncapi() {
  const schema = require("@asyncapi/specs/schemas/3.0.0.json");
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true, meta: false, validateSchema: false }));
  const check = ajv.compile(schema);
  return check(read("asyncapi.json")) ? [] : check.errors;
}

let wrong = 0;
for (const [name, check] of [["openapi.json", openapi], ["asyncapi.json", asyncapi]]) {
  const errors = await check();
  for (const error of errors.slice(0, 20)) {
    console.error(`docs/${name}: ${error.instancePath ?? ""} ${error.message ?? error}`);
  }
  wrong += errors.length;
  if (!errors.length) console.log(`docs/${name} is valid`);
}
process.exit(wrong ? 1 : 0);
