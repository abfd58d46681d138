package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

func TestTheExampleNodeAnswersGoesOnAndGoes(t *testing.T) {
	rig.Require(t)
	t.Chdir("../..")
	before := rig.Snapshot()
	dir, err := os.MkdirTemp("/var/lib", "nodal-example-")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := example{kubelet: os.Getenv(agent.BinaryEnv), dir: dir, out: &out}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.clean(ctx); err != nil {
			t.Errorf("clean: %v", err)
		}
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	a, err := e.bringUp(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"curl http://10.", "export SOCKET=", "Authorization: Bearer", "grpcurl"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not show %q:\n%s", want, out.String())
		}
	}
	page := "http://" + between(out.String(), "curl http://", "\n")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := awaitAnswer(t.Context(), page); err != nil {
		t.Errorf("without its kubelet the pod is gone: %v", err)
	}
	if _, err = e.bringUp(t.Context()); err != nil {
		t.Fatalf("the second time: %v\n%s", err, out.String())
	}
	if again := "http://" + between(out.String()[strings.LastIndex(out.String(), "curl http://"):], "curl http://", "\n"); again != page {
		t.Errorf("the pod moved from %s to %s", page, again)
	}
	// clean ends this kubelet by its process ID.
}

func between(text, begin, end string) string {
	_, text, _ = strings.Cut(text, begin)
	text, _, _ = strings.Cut(text, end)
	return text
}
