// Package readme runs the commands of the README and of pages below docs against a real node, so that they
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

	"nodal/test/agent"
	"nodal/test/daemon"
	"nodal/test/rig"
)

// marked matches a fenced block below a comment that makes the test run it. The comment holds the
// wanted output.
var marked = regexp.MustCompile("(?s)<!-- run, want: ([^\n]+) -->\n```sh\n(.*?)```")

func TestTheCommandsOfTheReadmeWork(t *testing.T) { tryCommands(t, "README.md") }

func TestTheCommandsOfTheAPIPageWork(t *testing.T) {
	d := tryCommands(t, "docs/API.md")
	d.Await("the example is gone", func(p daemon.Pods) bool { return p.Gone("web") })
}

func TestTheCommandsOfTheNetworkingPageWork(t *testing.T) { tryCommands(t, "docs/NETWORKING.md") }

func TestTheCommandsOfTheTroubleshootingPageWork(t *testing.T) {
	tryCommands(t, "docs/TROUBLESHOOTING.md")
}

// tryCommands runs all commands of a page in order. The first of them post the example pod.
func tryCommands(t *testing.T, page string) *daemon.Daemon {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := marked.FindAllStringSubmatch(string(text), -1)
	if got, want := len(blocks), strings.Count(string(text), "```sh\n"); got != want || want == 0 {
		t.Fatalf("%s: %d of %d sh blocks are marked to run, want all", page, got, want)
	}
	kubelet, err := agent.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rt := rig.Containerd(t)
	d := daemon.StartWith(t, agent.Config{
		Dir: filepath.Join(rt.Dir, "node"), Binary: kubelet, Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent,
	})
	for i, block := range blocks {
		want, commands := block[1], strings.ReplaceAll(block[2], "bin/kubelet", kubelet)
		if out := shell(t, d, commands); !strings.Contains(out, want) {
			t.Errorf("%s: these commands do not show %q:\n%s\n%s", page, want, commands, out)
		}
		if i == 0 {
			d.Await("the example is ready", func(p daemon.Pods) bool { return p.Ready("web") })
		}
	}
	return d
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
	kubectl, err := filepath.Abs("../../.cache/parts") // beside the control plane's programs
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+kubectl, "SOCKET="+d.Socket, "ROOT="+d.Dir, "PORT="+strconv.Itoa(d.Port), "CURL_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
	return string(out)
}
