#!/bin/bash
# Fuzzes every fuzz test for a while each: fuzz.sh TIME.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -r -n1 dirname | sort -u |
  while read -r dir; do
    for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir"/*_test.go); do
      go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "$dir"
    done
  done
