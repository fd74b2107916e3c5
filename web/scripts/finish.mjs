// After the build: compressed copies beside every text file, for the hub to put into its binary.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const DIST = join(import.meta.dirname, "..", "dist");
const TEXT = /\.(html|js|mjs|css|svg|json|webmanifest|txt)$/;

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
