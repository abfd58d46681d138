#!/bin/bash
# Short on purpose: each check here has found something a reviewer would miss.
set -euo pipefail
cd "$(dirname "$0")/.."
tool="go tool -modfile=test/tools/go.mod"
test/phase.sh "gofmt" test/checks.sh formatted         # one style, no discussion
test/phase.sh "generated code" test/checks.sh fresh    # a proto edited without make gen
test/phase.sh "buf lint" test/buf.sh lint api/proto    # names that clients will have to live with
test/phase.sh "buf breaking" test/checks.sh compatible # changes that old clients would trip over
test/phase.sh "go vet" go vet ./...                    # copied locks, wrong formats, lost cancels
test/phase.sh "staticcheck" $tool staticcheck ./...    # dead code, misused APIs
