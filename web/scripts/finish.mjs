// After the build: compressed copies beside every text file, for the hub to put into its binary; `finish.mjs FOLDER` for another one.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const DIST = process.argv[2] ?? join(import.meta.dirname, "..", "dist");
const TEXT = /\.(html|js|mjs|css|svg|json|webmanifest|txt)$/;

// Nearly all of these two runs at once. A browser that knows this comment makes them ready while they load, beside its main
// thread; it has to be the very first line, which no bundler can promise.
const EAGER = /^assets\/(index|parts)-.*\.js$/;
const HINT = "//# allFunctionsCalledOnLoad\n";
for (const name of readdirSync(DIST, { recursive: true })) {
  const path = join(DIST, name);
  if (EAGER.test(name)) writeFileSync(path, HINT + readFileSync(path, "utf8"));
}

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
