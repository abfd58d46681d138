package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
)

func TestLogsAreRotatedUnderTheirReaders(t *testing.T) {
	claim.Shows(t, "Logs",
		"logs are rotated by size, packed, and read across rotations without losing a line, while they are followed too",
		"links for log collectors lead to every log, and stale ones are removed",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["containerLogMaxSize"], c.Settings["containerLogMaxFiles"] = "20Ki", 20
		c.Settings["containerLogMonitorInterval"] = "3s"
	})
	const lines = 1300
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i of the log that is rotated; i=$((i+1)); sleep 0.01; done; exec sleep 1000", lines)
	n.apply(shell("long", script).yaml())
	p := n.waitRunning("long")

	// The link for log collectors leads to the log, even after a rotation.
	main := n.containers("long")[0]
	link := filepath.Join(n.Config.Dir, "containers", "long_default_main-"+main.id+".log")
	log := filepath.Join(n.PodLogs(), "default_long_"+string(p.UID), "main/0.log")
	n.eventually("a link that leads to the log", func() bool {
		target, err := os.Readlink(link)
		return err == nil && target == log
	})
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d of the log that is rotated\n", i)
	}
	limit := int64(want.Len())
	followed := n.read(&nodev1.ReadLogsRequest{Name: "long", Container: "main", Follow: true, LimitBytes: &limit})
	if followed != want.String() {
		t.Errorf("following gave %d bytes, want %d of them, every line once", len(followed), limit)
	}
	packed, err := filepath.Glob(log + ".*.gz")
	if err != nil || len(packed) == 0 {
		t.Errorf("the rotated files are %q, %v, want some that are packed", packed, err)
	}
	if got := n.curl("/v1/namespaces/default/pods/long/containers/main/logs"); got.body != want.String() {
		t.Errorf("read at once it has %d bytes, want %d of them, every line once", len(got.body), limit)
	}
	if got := n.curl("/v1/namespaces/default/pods/long/containers/main/logs?tailLines=1200"); strings.Count(got.body, "\n") != 1200 || !strings.HasSuffix(want.String(), got.body) {
		t.Errorf("the last 1200 lines are %d", strings.Count(got.body, "\n"))
	}

	n.Kill()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(filepath.Dir(link), "gone_default_main-0123.log")
	if err := os.Symlink(filepath.Join(n.PodLogs(), "default_gone_0/main/0.log"), dangling); err != nil {
		t.Fatal(err)
	}
	n.up()
	n.wait("long", "the pod adopted", func(p *corev1.Pod) bool { return ready(p) })
	n.eventually("the link made again", func() bool { _, err := os.Readlink(link); return err == nil })
	n.eventually("the link to nowhere swept", func() bool { _, err := os.Lstat(dangling); return os.IsNotExist(err) })
	n.curl("/v1/namespaces/default/pods/long", "-X", "DELETE")
	n.waitGone("long")
	if left, err := os.ReadDir(filepath.Dir(link)); err != nil || len(left) != 0 {
		t.Errorf("links left behind: %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Dir(filepath.Dir(log))); !os.IsNotExist(err) {
		t.Errorf("the logs: %v, want them gone with the pod", err)
	}
}
