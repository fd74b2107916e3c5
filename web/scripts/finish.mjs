// After the build: the view that most people open is loaded together with the main script, and compressed copies beside every text file, for the hub to put into its binary.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const DIST = join(import.meta.dirname, "..", "dist");
const TEXT = /\.(html|js|mjs|css|svg|json|webmanifest|txt)$/;

// Without this the browser learns of the channel's files only when the main script runs: one more round trip.
const page = join(DIST, "index.html");
const channel = readdirSync(join(DIST, "assets")).filter((name) => /^Channel-.*\.(js|css)$/.test(name));
const hints = channel.map((name) =>
  name.endsWith(".js")
    ? `<link rel="modulepreload" crossorigin href="/assets/${name}">`
    : `<link rel="preload" as="style" crossorigin href="/assets/${name}">`,
);
writeFileSync(page, readFileSync(page, "utf8").replace("</head>", `  ${hints.join("\n    ")}\n  </head>`));

for (const name of readdirSync(DIST, { recursive: true })) {
  if (!TEXT.test(name)) continue;
  const path = join(DIST, name);
  const plain = readFileSync(path);
  const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  const gzip = gzipSync(plain, { level: 9 });
  if (brotli.length < plain.length) writeFileSync(`${path}.br`, brotli);
  if (gzip.length < plain.length) writeFileSync(`${path}.gz`, gzip);
}
// The build empties the folder; this file is tracked, so that the folder is there in every clone.
writeFileSync(join(DIST, ".gitignore"), "*\n!.gitignore\n");
