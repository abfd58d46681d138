package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/agent/config"
	"nodal/node"
)

func TestCheckNamesTheSpecThatIsWrong(t *testing.T) {
	dir := t.TempDir()
	c := config.CDI{Dirs: []string{dir}, Offers: []node.CDIOffer{{Kind: "example.com/gpu", Resource: "example.com/gpu", Shares: 2}}}
	if all := checkCDI(c); len(all) != 1 || all[0].OK || all[0].Required || !strings.Contains(all[0].Problem, "no spec in "+dir) {
		t.Errorf("without a spec the check finds %+v", all)
	}
	path := filepath.Join(dir, "gpu.yaml")
	text := "cdiVersion: 0.5.0\nkind: example.com/gpu\ndevices: [{name: a, containerEdits: {deviceNodes: [{path: /dev/null}]}}]\n"
	for _, step := range []struct{ text, problem, name string }{
		{text, "", "CDI devices example.com/gpu: 2 of example.com/gpu"},
		{strings.Replace(text, "/dev/null", "/dev/nowhere", 1), "device a needs /dev/nowhere", "CDI devices example.com/gpu: 0 of example.com/gpu"},
		{"kind: [", path + " is no spec of CDI", "CDI devices example.com/gpu: 0 of example.com/gpu"},
	} {
		if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		all := checkCDI(c)
		if len(all) != 1 || all[0].Name != step.name || all[0].OK != (step.problem == "") || !strings.Contains(all[0].Problem, step.problem) {
			t.Errorf("with %q the check finds %+v, want %q", step.text, all, step.problem)
		}
	}
	if all := checkCDI(config.CDI{Dirs: []string{dir}}); len(all) != 0 {
		t.Errorf("a node that offers nothing finds %+v", all)
	}
}
