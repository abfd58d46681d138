#!/bin/bash
# Runs the pinned buf, which it installs the first time.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=test/tools
if [ $tools/package-lock.json -nt $tools/node_modules/.package-lock.json ]; then
  npm ci --prefix $tools --ignore-scripts --no-fund --no-audit --loglevel=error >&2
fi
exec $tools/node_modules/.bin/buf "$@"
