package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pure lists packages that take all input as arguments, even the time. So a simulation runs a day
// of a node in a millisecond, and twice the same.
var pure = []string{
	"host/cri/spec", "node", "reconciler/decide", "reconciler/evict", "reconciler/gc", "reconciler/oom",
	"reconciler/shutdown",
}

// acting lists files of pure packages that carry decisions out. They reach the machine through an
// interface, but they log, and wait between rounds.
var acting = map[string]string{
	"reconciler/evict/evictor.go":    "has pods measured and ends them, every second",
	"reconciler/evict/relief.go":     "has the node measured and acts, as often as the pace says",
	"reconciler/gc/collector.go":     "lists images and removes them, every few minutes",
	"reconciler/shutdown/machine.go": "has pods end when something changes or is due, and logs",
	"reconciler/oom/watch.go":        "logs what it hears of the kernel",

	"reconciler/gc/log_collector.go": "lists logs and removes them, as often as they are rotated",
}

// impureImports lists packages that do I/O or are not deterministic. An entry covers the packages
// below it, except those in pureImports.
var impureImports = map[string]string{
	"os":                    "reads the machine",
	"net":                   "reaches the network",
	"log":                   "only those who act log",
	"syscall":               "reaches the kernel",
	"golang.org/x/sys/unix": "reaches the kernel",
	"math/rand":             "pass the random numbers in",
	"crypto/rand":           "pass the random numbers in",
}

var pureImports = []string{"net/netip", "net/url"}

// clockCalls lists the functions that read the clock or wait for it.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func purityErrors(files []goFile) []string {
	var errs []string
	for _, f := range files {
		if f.isTest() || !underAny(f.dir, pure) || acting[f.path()] != "" {
			continue
		}
		for _, imported := range f.imports {
			if why := impure(imported); why != "" {
				errs = append(errs, fmt.Sprintf("%s imports %s, but %s is pure: %s", f.path(), imported, f.dir, why))
			}
		}
		errs = append(errs, clockErrors(f)...)
	}
	return errs
}

func impure(imported string) string {
	if slices.Contains(pureImports, imported) {
		return ""
	}
	for top, why := range impureImports {
		if under(imported, top) {
			return why
		}
	}
	return ""
}

func clockErrors(f goFile) []string {
	var errs []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clockCalls, selector.Sel.Name) {
			errs = append(errs, fmt.Sprintf("%s uses time.%s, but %s is pure: take now as an argument",
				f.at(n), selector.Sel.Name, f.dir))
		}
		return true
	})
	return errs
}

func TestPurePackagesDoNoIOAndReadNoClock(t *testing.T) {
	for _, err := range purityErrors(ours(t)) {
		t.Error(err)
	}
}

func TestPurityRulesCatch(t *testing.T) {
	for _, c := range []struct{ name, file, source, want string }{
		{"reading the clock", "node/a.go", "package node\nimport \"time\"\nvar t = time.Now()", "time.Now"},
		{"a timer", "reconciler/decide/a.go", "package decide\nimport \"time\"\nvar t = time.After(1)", "time.After"},
		{"opening files", "node/status/a.go", `package status; import "os"`, "reads the machine"},
		{"an HTTP client", "node/a.go", `package node; import "net/http"`, "reaches the network"},
		{"logging", "reconciler/gc/a.go", `package gc; import "log/slog"`, "only those who act log"},
		{"a duration, which is plain data", "node/a.go", "package node\nimport \"time\"\nvar d = time.Second", ""},
		{"parsing an address", "node/a.go", `package node; import "net/netip"`, ""},
		{"a clock in the loop, which acts", "reconciler/a.go", "package reconciler\nimport \"time\"\nvar t = time.Now()", ""},
		{"a clock in a test", "node/a_test.go", "package node\nimport \"time\"\nvar t = time.Now()", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(purityErrors(parse(t, tree(c.file, c.source))), "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
