package differences

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// words say what is sent here for one of upstream's reasons.
var words = []string{"same", "more", "other", "never"}

// neverSent are reasons that the analysis takes for those of events, since a refusal of a pod and one of a change have the
// same type. The latter is a condition.
var neverSent = []string{"Deferred", "Infeasible"}

func TestEveryReasonOfAnEventHasItsLine(t *testing.T) {
	upstream, err := os.ReadFile("upstream.txt")
	if err != nil {
		t.Fatal(err)
	}
	sent := sentReasons(t)
	both, alone := table(t, "Events"), table(t, "Events of this kubelet alone")
	for _, reason := range strings.Fields(string(upstream)) {
		row, ok := both[reason]
		switch {
		case !ok:
			t.Errorf("upstream sends %s, which has no line", reason)
		case !slices.Contains(words, row.Cells[1]):
			t.Errorf("%s: %q is none of %q", reason, row.Cells[1], words)
		case row.Cells[1] != "same" && row.Cells[2] == "":
			t.Errorf("%s differs, and the line does not say why", reason)
		case row.Cells[1] == "never" && sends(sent, reason):
			t.Errorf("%s is sent by our code, and its line says that it never is", reason)
		case row.Cells[1] != "never" && !sends(sent, reason):
			t.Errorf("%s is not sent by our code, and its line says that it is", reason)
		}
		delete(both, reason)
		delete(sent, reason)
	}
	for reason := range both {
		t.Errorf("%s has a line, and upstream does not send it", reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(sent)) {
		if _, ok := alone[reason]; !ok {
			t.Errorf("our code sends %s (%s), which has no line", reason, sent[reason])
		}
		delete(alone, reason)
	}
	for reason := range alone {
		t.Errorf("%s has a line, and our code does not send it", reason)
	}
}

// sends reports whether a reason is among those that were found, some of which end in a star.
func sends(sent map[string]string, reason string) bool {
	for found := range sent {
		if begin, rest := strings.CutSuffix(found, "*"); found == reason || rest && strings.HasPrefix(reason, begin) {
			return true
		}
	}
	return false
}

func table(t *testing.T, heading string) map[string]Row {
	t.Helper()
	rows, err := Read("../..", heading)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Row{}
	for _, row := range rows {
		for _, name := range row.Names {
			if _, twice := all[name]; twice {
				t.Errorf("%s has two lines below %q", name, heading)
			}
			all[name] = row
		}
	}
	return all
}

// sentReasons returns the reasons of events that our code can send, and where.
func sentReasons(t *testing.T) map[string]string {
	t.Helper()
	p := load(t)
	f := newFlow(p, map[string][]string{"k8s.io/api/core/v1.PodStatus.Phase": {"Succeeded", "Failed"}})
	f.ends["nodal/node.Failure.Reason"] = f.keys(p.known["nodal/reconciler"].Scope().Lookup("kubernetesFailures"))
	if len(f.ends["nodal/node.Failure.Reason"]) == 0 {
		t.Fatal("found no failures that have a reason of their own")
	}
	for _, pkg := range []string{"nodal/node", "nodal/api/gen/node/v1"} {
		of, ok := p.known[pkg].Scope().Lookup("Event").Type().Underlying().(*types.Struct)
		if !ok {
			t.Fatalf("%s.Event is no struct", pkg)
		}
		for field := range of.Fields() {
			if field.Name() == "Reason" {
				f.into(field)
			}
		}
	}
	for _, place := range f.lost {
		t.Errorf("%s: where does this reason of an event come from? Write it so that the test can follow it", place)
	}
	sent := map[string]string{}
	for reason, at := range f.found {
		if !slices.Contains(neverSent, reason) {
			sent[reason] = p.fset.Position(at).String()
		}
	}
	if len(sent) < 50 {
		t.Fatalf("found %d reasons: the test does not look at the code", len(sent))
	}
	return sent
}

// keys returns the constant keys of a map that a variable is made with.
func (f *flow) keys(of types.Object) (keys []string) {
	for _, value := range f.writes[of] {
		made, ok := value.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, element := range made.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				keys = append(keys, f.text(pair.Key))
			}
		}
	}
	return keys
}
