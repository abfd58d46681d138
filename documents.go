package nodal

import "embed"

// Documents holds the pages under the paths that they have here, so that their links hold. Nothing ever writes to it.
//
//go:embed README.md SCOPE.md docs/*.md docs/decisions/*.md docs/examples
var Documents embed.FS
