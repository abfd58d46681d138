#!/bin/bash
# Short on purpose: each check here finds what a reviewer would miss. All of them run, so that one
# run shows every finding.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
phase() { test/phase.sh "$@" || status=1; }
phase "gofmt" test/checks.sh formatted         # one style, no discussion
phase "generated code" test/checks.sh fresh    # a proto edited without make gen
phase "buf lint" test/buf.sh lint api/proto    # names that clients will have to live with
phase "buf breaking" test/checks.sh compatible # changes that old clients would trip over
phase "go vet" go vet ./...                    # copied locks, wrong formats, lost cancels
phase "staticcheck" go tool -modfile=test/tools/go.mod staticcheck ./... # dead code, misused APIs
exit $status
