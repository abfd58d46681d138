// Package readme runs the README's commands against a real node, so that they
// cannot rot.
package readme

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"nodal/test/daemon"
	"nodal/test/rig"
)

// marked matches a fenced block below a comment that makes the test run it. The comment holds the
// wanted output.
var marked = regexp.MustCompile("(?s)<!-- run, want: ([^\n]+) -->\n```sh\n(.*?)```")

func TestTheCommandsOfTheReadmeWork(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := marked.FindAllStringSubmatch(string(text), -1)
	if got, want := len(blocks), strings.Count(string(text), "```sh\n"); got != want || want == 0 {
		t.Fatalf("%d of the README's %d sh blocks are marked to run, want all", got, want)
	}
	d := daemon.Start(t, rig.Containerd(t))
	for i, block := range blocks {
		want, commands := block[1], block[2]
		if out := shell(t, d, commands); !strings.Contains(out, want) {
			t.Errorf("these commands do not show %q:\n%s\n%s", want, commands, out)
		}
		if i == 0 {
			d.Await("the example is ready", func(p daemon.Pods) bool { return p.Ready("web") })
		}
	}
	d.Await("the example is gone", func(p daemon.Pods) bool { return p.Gone("web") })
}

// shell runs commands as if a reader had pasted them, and stops at the first failure. curl is made
// to fail on an HTTP error.
func shell(t *testing.T, d *daemon.Daemon, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail\nsilent\nshow-error\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "SOCKET="+d.Socket, "ROOT="+d.Dir, "PORT="+strconv.Itoa(d.Port), "CURL_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
	return string(out)
}
