package nodal

import "embed"

// Documents holds the pages under the paths that they have here, so that their links hold. Nothing ever writes to it.
// CONFORMANCE.md is left out: it is a fourth of all pages, and leads to the sources of tests.
//
//go:embed README.md SCOPE.md docs/[^C]*.md docs/C[^O]*.md docs/CO[^N]*.md docs/CONFI*.md docs/decisions/*.md docs/examples
var Documents embed.FS
