#!/bin/bash
# Lists the packages whose tests need a real runtime (real) or do not (fast).
set -euo pipefail
cd "$(dirname "$0")/.."
list() {
  go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}} ' ./...
}
case $1 in
  real) list | grep -E '^nodal/test/rig | nodal/test/rig ' | cut -d' ' -f1 ;;
  fast) list | grep -vE '^nodal/test/rig | nodal/test/rig ' | cut -d' ' -f1 ;;
esac
