#!/bin/bash
# The checks of `make lint` and `make check` that are more than one command.
set -euo pipefail
cd "$(dirname "$0")/.."

formatted() {
  local wrong
  wrong=$(find . -name '*.go' -not -path '*/node_modules/*' -not -path './.cache/*' -print0 | xargs -0 "$(go env GOROOT)/bin/gofmt" -l)
  [ -z "$wrong" ] || { printf 'not formatted (make fmt does it):\n%s\n' "$wrong"; return 1; }
}

# Generated files are made again and compared: without that, a proto edited without `make gen` would
# ship yesterday's code.
fresh() {
  local dir status=0
  dir=$(mktemp -d)
  test/gen.sh "$dir" || status=1
  diff -r --brief "$dir/api/gen" api/gen || status=1
  if [ -d openapi ]; then
    for file in $(cd "$dir" && find openapi -name '*.json' 2>/dev/null); do
      diff --brief "$dir/$file" "$file" || status=1
    done
  fi
  rm -rf "$dir"
  [ $status = 0 ] || echo "generated files are stale: run make gen and commit"
  return $status
}

# compatible compares the API with the saved image.
compatible() {
  test/buf.sh breaking api/proto --against api/proto/node.binpb
}

# units runs the tests that need no runtime, with few seeds.
units() {
  local fast status=0
  fast=$(test/packages.sh fast | grep -vx nodal/sim)
  # shellcheck disable=SC2086 # they are words
  {
    go test -json -timeout 5m $fast || status=1
    go test -C host/runtime/bundle -json -timeout 5m ./containerd-shim-runc-v2 ./network || status=1
    go test -json -timeout 5m -run 'TestSeeds$' ./sim -seeds 1000 || status=1
    exit $status
  } | go run ./test/summary -part
}

"$@"
