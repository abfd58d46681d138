package oracle

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
	"nodal/test/plane"
)

const patience = 2 * time.Minute

func startAPIServer(t *testing.T) APIServer {
	t.Helper()
	parts := requireParts(t)
	ports, claim, err := agent.ClaimPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { claim.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	p, err := plane.Start(ctx, plane.Config{Dir: t.TempDir(), Parts: parts, Ports: ports, Flags: Flags()})
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Log(p.LogTails())
		}
	})
	if err != nil {
		t.Fatalf("%v; test/cluster/parts/build.sh builds the programs", err)
	}
	client, err := p.Client()
	if err != nil {
		t.Fatal(err)
	}
	return APIServer{p, client}
}

// requireParts skips the test if the API server was not built. The full test run builds it.
func requireParts(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.Abs("../../.cache/parts")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "kube-apiserver")); err != nil && os.Getenv("NODAL_REQUIRE_ROOT") != "1" {
		t.Skipf("needs an API server; test/cluster/parts/build.sh builds it: %v", err)
	}
	return dir
}

func TestVerdictsMatchKubernetes(t *testing.T) {
	claim.Shows(t, "Admission",
		"a real kube-apiserver and the node accept and refuse the same of a thousand manifests, for the same fields, except differences that are listed with reasons",
	)
	cases, err := Read("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := Listed("testdata/differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apiserver := startAPIServer(t)
	for _, c := range cases {
		want, err := apiserver.Judge(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		got, err := Node(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if difference := Difference(want, got); difference != listed[c.Name] {
			t.Errorf("%q: %q\n\tlisted as %q\n\tKubernetes: %s\n\tthe node: %s",
				c.Name, difference, listed[c.Name], want.Why, got.Why)
		}
		delete(listed, c.Name)
	}
	if len(listed) > 0 {
		t.Errorf("differences are listed of cases that are not there: %q", slices.Sorted(maps.Keys(listed)))
	}
}
