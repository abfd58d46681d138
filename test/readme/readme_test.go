// Package readme runs the README's commands against a real node, so that they
// cannot rot.
package readme

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"nodal/test/daemon"
	"nodal/test/rig"
)

// marked is a fenced block below the comment that has it run.
var marked = regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```")

// answers are what the blocks have to show, in their order.
var answers = []string{
	`"result":"RESULT_CREATED"`,
	`"what":"Started"`,
	`"name":"testnode"`,
	"node.v1.PodsService",
	`"kind":"PodList"`,
	`"result":"RESULT_DELETED"`,
}

func TestTheCommandsOfTheReadmeWork(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := marked.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(answers) {
		t.Fatalf("the README has %d blocks to run, want %d", len(blocks), len(answers))
	}
	d := daemon.Start(t, rig.Containerd(t))
	here := strings.NewReplacer(
		"/run/nodal/node.sock", d.Socket,
		"/var/lib/kubelet", d.Dir,
		"127.0.0.1:10250", d.Address(),
	)
	for i, block := range blocks {
		commands := here.Replace(block[1])
		out := shell(t, commands)
		if !strings.Contains(out, answers[i]) {
			t.Errorf("these commands do not show %q:\n%s\n%s", answers[i], commands, out)
		}
		if i == 0 {
			d.Await("the example is ready", func(p daemon.Pods) bool { return p.Ready("web") })
		}
	}
	d.Await("the example is gone", func(p daemon.Pods) bool { return p.Gone("web") })
}

// shell runs commands as a reader would who pastes them, and stops at the first that fails.
func shell(t *testing.T, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), fmt.Sprintf("CURL_HOME=%s", t.TempDir()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
	return string(out)
}
