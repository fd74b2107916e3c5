// Writes the examples into the documents that show them; `examples.mjs --check` says whether they are the ones that the tests run.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const DOCUMENTS = ["docs/agents-kits.md"];
/** A comment that names the file, and the block below it. */
const BLOCK = /(<!-- the file (\S+), written here by `make openapi` -->\n\n```(\w*)\n)[^]*?(\n```\n)/g;

for (const document of DOCUMENTS) {
  const known = readFileSync(join(ROOT, document), "utf8");
  const text = known.replace(BLOCK, (_, head, file, __, foot) => head + readFileSync(join(ROOT, file), "utf8").trimEnd() + foot);
  if (!process.argv.includes("--check")) writeFileSync(join(ROOT, document), text);
  else if (known !== text) {
    console.error(`${document} does not show the examples as they are\nhint: run \`make openapi\` and commit it`);
    process.exit(1);
  }
}
