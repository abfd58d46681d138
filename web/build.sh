#!/bin/bash
# Builds the dashboard into dist/app, unless its sources are unchanged. "modules" only installs the
# packages, "test" runs the unit tests.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p ../.cache
exec 9>../.cache/web.lock
flock 9 # only one build at a time

installed=node_modules/.package-lock.json
if [ ! -e $installed ] || [ package-lock.json -nt $installed ]; then
  # No install scripts: none of these packages needs one.
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error >&2
fi
case ${1-} in
  modules) exit 0 ;;
  test) npx --no-install vitest run && exit 0 || exit 1 ;;
esac

digest() {
  {
    find src scripts public -type f -not -name gen.ts | sort | xargs sha256sum
    sha256sum index.html package-lock.json tsconfig.json vite.config.ts build.sh ../openapi/openapi.json
  } | sha256sum | cut -c1-32
}

now=$(digest)
[ "$(cat dist/app/.digest 2>/dev/null)" != "$now" ] || exit 0
echo "building the dashboard"
node scripts/api-types.mjs
npx --no-install tsc
npx --no-install vite build --logLevel warn
node scripts/compress.mjs
echo "$now" >dist/app/.digest
