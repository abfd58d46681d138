// Replaces each file of dist/app by its .br and .gz; fonts are compressed by
// themselves. The server sends whichever the browser takes.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const top = fileURLToPath(new URL("../dist/app", import.meta.url));

function* filesOf(dir) {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (statSync(path).isDirectory()) yield* filesOf(path);
    else yield path;
  }
}

for (const path of filesOf(top)) {
  if (path.endsWith(".woff2") || path.endsWith("manifest.json")) continue;
  const data = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: data.length } }));
  writeFileSync(`${path}.gz`, gzipSync(data, { level: 9 }));
  rmSync(path);
}
