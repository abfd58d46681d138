package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is a judge's answer to a manifest.
type Verdict struct {
	Taken  bool
	Fields []string // the invalid fields, sorted; none if it does not decode
	Why    string   // the judge's message
}

// String returns the verdict without its message.
func (v Verdict) String() string {
	switch {
	case v.Taken:
		return "takes it"
	case len(v.Fields) == 0:
		return "refuses it"
	}
	return fmt.Sprintf("refuses %s", strings.Join(v.Fields, ", "))
}

func refused(fields []string, why string) Verdict {
	slices.Sort(fields)
	return Verdict{Fields: slices.Compact(fields), Why: why}
}

// Difference describes how two verdicts differ, or returns "" if they agree.
func Difference(apiserver, node Verdict) string {
	if apiserver.String() == node.String() {
		return ""
	}
	return fmt.Sprintf("Kubernetes %s; the node %s", apiserver, node)
}
