// Compresses each file of dist/app; fonts are compressed already. One encoding is enough: a second,
// smaller one for some browsers would make the binary larger for all.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

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
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
  rmSync(path);
}
