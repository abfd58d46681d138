package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/claim"
)

// TestAThresholdThatTheNodeCannotMeetEvictsNothing waits for two of the looks that would see the node short of everything.
func TestAThresholdThatTheNodeCannotMeetEvictsNothing(t *testing.T) {
	claim.Shows(t, "Resources",
		"a threshold of eviction above what the node has evicts no pod; the node warns of it, and kubelet check names it",
		"a running node rejects a hard threshold above its memory",
	)
	n := prepare(t, func(c *agent.Config) {
		drops := filepath.Join(filepath.Dir(c.Dir), "drops")
		c.Flags = append(c.Flags, "--config-dir", drops)
		if err := os.MkdirAll(drops, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	const fields = "evictionHard: {memory.available: 0%, imagefs.available: 1Pi, nodefs.inodesFree: 1P, pid.available: 1G}\n" +
		"evictionSoft: {memory.available: 1Pi}\nevictionSoftGracePeriod: {memory.available: 1s}\n"
	n.configure(fields)
	n.up()
	n.apply(web("calm").yaml())
	before := containerStatus(n.waitRunning("calm"), "main").ContainerID
	names := []string{"evictionHard[imagefs.available]", "evictionHard[nodefs.inodesFree]", "evictionHard[pid.available]", "evictionSoft[memory.available]"}
	n.eventually("warnings of four thresholds", func() bool {
		got := n.curl("/v1/node").body
		for _, name := range names {
			if !strings.Contains(got, `{"setting":"`+name+`","message":"has no effect: `) {
				return false
			}
		}
		return true
	})
	time.Sleep(20 * time.Second)
	if p := n.get("calm"); !ready(p) || containerStatus(p, "main").ContainerID != before {
		t.Errorf("the pod is %+v, want it to run on", p.Status)
	}
	got := n.curl("/v1/node").body
	for _, kind := range []string{"Memory", "Disk", "PID"} {
		if !strings.Contains(got, `"type":"`+kind+`Pressure","status":"False"`) {
			t.Errorf("the node says %s, want no pressure", got)
		}
	}
	checked, _, _ := n.command("", n.Binary, append([]string{"check", "--container-runtime-endpoint", n.Endpoint, "--root-dir", n.Root()}, n.Flags...)...)
	for _, name := range []string{"evictionHard[nodefs.inodesFree]", "evictionHard[pid.available]", "evictionSoft[memory.available]"} {
		if !strings.Contains(checked, name) {
			t.Errorf("kubelet check says %s, want %s", checked, name)
		}
	}

	n.configure("evictionHard: {memory.available: 1Pi}\n")
	n.tells("evictionHard[memory]: 1Pi of memory exceeds the ")
	checked, _, code := n.command("", n.Binary, append([]string{"check", "--container-runtime-endpoint", n.Endpoint, "--root-dir", n.Root()}, n.Flags...)...)
	if code == 0 || !strings.Contains(checked, "evictionHard[memory]: 1Pi of memory exceeds the ") {
		t.Errorf("kubelet check ends with %d and says %s, want that the node would not start", code, checked)
	}
	if p := n.get("calm"); !ready(p) {
		t.Errorf("the pod is %+v, want it to run on", p.Status)
	}
}
