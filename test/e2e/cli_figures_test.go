package e2e

import (
	"slices"
	"strings"
	"testing"

	"nodal/test/claim"
)

func TestTheCommandLineShowsFiguresAndSteps(t *testing.T) {
	claim.Shows(t, "Ways in",
		"kubelet top shows what pods, containers and the node use, and timeline when each step of a pod came and how long it took",
		"shells complete verbs, flags and the names of pods",
	)
	n := start(t)
	n.apply(bundle(web("web"), shell("busy", "while :; do :; done")))
	n.waitRunning("web")
	n.waitRunning("busy")
	pods := strings.Split(n.verb("top"), "\n")
	if len(pods) < 3 || !strings.HasPrefix(pods[0], "NAME") || !strings.HasPrefix(pods[1], "busy  ") || strings.Contains(pods[1], "unknown") || strings.Contains(pods[1], " 0m") {
		t.Errorf("top: got\n%s\nwant the busy pod first, with its CPU", strings.Join(pods, "\n"))
	}
	if got := n.verb("top", "-A", "--containers", "--sort-by", "name"); !strings.Contains(got, "default    busy  main") {
		t.Errorf("top --containers: got\n%s", got)
	}
	if got := n.verb("top", "node"); !strings.Contains(got, "node-a") || !strings.Contains(got, "Mi of ") {
		t.Errorf("top node: got\n%s", got)
	}
	steps := n.verb("timeline", "web")
	at := -1
	for _, step := range []string{"Accepted", "SandboxCreated", "Created", "Started"} {
		next := strings.Index(steps, " "+step+" ")
		if next <= at {
			t.Errorf("timeline: %s is not in its place\n%s", step, steps)
		}
		at = next
	}
	out, _, code := n.command("", n.Binary, "__complete", "logs", "--socket", n.Socket, "w")
	if code != 0 || out != "web\n" {
		t.Errorf("what completes w: got %d, %q", code, out)
	}
	if out, _, _ := n.command("", n.Binary, "__complete", "ti"); !slices.Equal(strings.Fields(out), []string{"timeline"}) {
		t.Errorf("what completes ti: got %q", out)
	}
	script, _, _ := n.command("", n.Binary, "completion", "bash")
	words := "COMP_WORDS=(" + n.Binary + " logs --socket " + n.Socket + " bu); COMP_CWORD=4; _nodal_complete; echo \"${COMPREPLY[@]}\""
	if out, failed, code := n.command(script+words, "bash"); code != 0 || out != "busy\n" {
		t.Errorf("in bash: got %d, %q, %q", code, out, failed)
	}
}
