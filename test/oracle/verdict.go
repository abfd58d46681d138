package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict holds a judge's answer to a manifest.
type Verdict struct {
	Taken  bool
	Fields []string // that are wrong, sorted; none if it does not decode
	Why    string   // in the judge's words, for people
}

// String is the short form of a verdict, without its words.
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

// Difference tells how two judges differ about one manifest; empty if they agree.
func Difference(apiserver, node Verdict) string {
	if apiserver.String() == node.String() {
		return ""
	}
	return fmt.Sprintf("Kubernetes %s; the node %s", apiserver, node)
}
