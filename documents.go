package nodal

import "embed"

// Documents holds the pages under the paths that they have here, so that their links hold. Nothing ever writes to it.
// Pages for those who work on the node are left out: CONFORMANCE.md, which is a fourth of all and leads to the sources of
// tests, BENCHMARKS.md and WORDS.md.
//
//go:embed README.md SCOPE.md docs/[^BCW]*.md docs/C[^O]*.md docs/CO[^N]*.md docs/CONFI*.md docs/decisions/*.md docs/examples
var Documents embed.FS
