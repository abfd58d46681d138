#!/bin/bash
# Runs the pinned buf, which it installs the first time.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=test/tools
installed=$tools/node_modules/.package-lock.json
if [ ! -e $installed ] || [ $tools/package-lock.json -nt $installed ]; then
  npm ci --prefix $tools --ignore-scripts --no-fund --no-audit --loglevel=error >&2
fi
case $(uname -m) in
  x86_64) arch=x64 ;;
  *) arch=$(uname -m) ;;
esac
exec "$tools/node_modules/@bufbuild/buf-linux-$arch/bin/buf" "$@"
