package claim

import (
	"fmt"
	"slices"
	"strings"
)

const head = `# What is shown

Each row is a behaviour and the test that shows it on a real container runtime: the node's own and Debian's containerd.
The table is written from the tests, and a full run fails if a row was not shown: see [test/claim](../test/claim/claim.go).
`

// Table returns the document with the rows.
func Table(rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d behaviours.\n", head, len(rows))
	for _, area := range Areas() {
		in := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Area != area })
		if len(in) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| behaviour | test |\n|---|---|\n", area)
		for _, r := range in {
			fmt.Fprintf(&b, "| %s | [%s](../%s) |\n", strings.ReplaceAll(r.Behaviour, "|", `\|`), r.Test, r.File)
		}
	}
	return b.String()
}
