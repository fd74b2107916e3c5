// Writes the kit's types from the hub's description of itself; `types.mjs --check` says whether they are what it gives.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapi, { astToString } from "openapi-typescript";

const DESCRIPTION = join(import.meta.dirname, "..", "..", "..", "docs", "openapi.json");
const TYPES = join(import.meta.dirname, "..", "src", "api.ts");
const HEAD = "/** Generated from `docs/openapi.json` by `make openapi`: change the hub, not this file. */\n\n";

// The objects only: the kit has a method for every address it asks.
const { openapi: version, info, components } = JSON.parse(readFileSync(DESCRIPTION, "utf8"));
const tree = await openapi({ openapi: version, info, paths: {}, components }, { emptyObjectsUnknown: true, silent: true });
const text = HEAD + astToString(tree);

if (!process.argv.includes("--check")) writeFileSync(TYPES, text);
else if (readFileSync(TYPES, "utf8") !== text) {
  console.error("sdk/typescript/src/api.ts is not what docs/openapi.json gives\nhint: run `make openapi` and commit both files");
  process.exit(1);
}
