package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

func TestTheExampleNodeAnswersAndGoes(t *testing.T) {
	rig.Require(t)
	t.Chdir("../..")
	var out bytes.Buffer
	if err := run(t.Context(), os.Getenv(agent.BinaryEnv), true, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"curl http://10.", "export SOCKET=", "Authorization: Bearer", "grpcurl", "deleting the pods"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not show %q:\n%s", want, out.String())
		}
	}
}
