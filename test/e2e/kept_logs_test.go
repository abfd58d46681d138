package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
)

// logsOf lists the logs of pods of a name.
func (n *node) logsOf(name string) []*nodev1.LogOfRun {
	n.t.Helper()
	got := n.curl("/v1/namespaces/default/logs?name=" + name)
	var answer nodev1.ListLogsResponse
	if err := protojson.Unmarshal([]byte(got.body), &answer); err != nil || got.code != 200 {
		n.t.Fatalf("got %s (%v)", got, err)
	}
	return answer.GetLogs()
}

func TestLogsStayReadableAfterTheirRunsAndPods(t *testing.T) {
	claim.Shows(t, "Logs",
		"logs of every run, and of deleted pods by their UID, stay readable and listed while --container-log-budget lasts",
		"GET /v1/node/garbage lists the logs of deleted pods; without a budget they go")
	n := prepare(t)
	n.Flags = append(n.Flags, "--maximum-dead-containers-per-container=0")
	n.up()
	n.apply(shell("talk", `echo "run of talk"; sleep 1; exit 1`).yaml())
	p := n.wait("talk", "two restarts", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount > 1 })
	of := "/v1/namespaces/default/pods/talk/containers/main/logs?uid=" + string(p.UID)
	n.eventually("the log of the first run, which the runtime no longer has", func() bool {
		logs := n.logsOf("talk")
		return len(logs) > 1 && logs[0].GetAttempt() == 0 && logs[0].GetKept() && !logs[0].GetDeleted()
	})
	reads := func(query string) {
		t.Helper()
		if got := n.curl(of + query); got.code != 200 || got.body != "run of talk\n" {
			t.Errorf("%s: got %s, want one line", of+query, got)
		}
	}
	reads("&attempt=0")
	if got := n.curl("/v1/namespaces/other/pods/talk/containers/main/logs?attempt=0&uid=" + string(p.UID)); got.code != 404 {
		t.Errorf("in another namespace: got %s, want 404", got)
	}

	n.deletePod("talk", "")
	if got := n.curl("/v1/namespaces/default/pods/talk/containers/main/logs"); got.code != 404 {
		t.Errorf("by its name: got %s, want 404", got)
	}
	n.Kill()
	n.up()
	reads("&attempt=0")
	reads("&attempt=1")
	reads("") // the last
	for _, log := range n.logsOf("talk") {
		if !log.GetDeleted() || !log.GetKept() || log.GetUid() != string(p.UID) || log.GetBytes() == 0 {
			t.Errorf("got %v, want a log of the deleted pod", log)
		}
	}
	garbage := n.garbage("logs", string(p.UID))
	if len(garbage) != 1 || garbage[0].GetPod() != "talk" || !strings.Contains(garbage[0].GetKept(), "--container-log-budget") {
		t.Errorf("got %s, want the logs with why they stay", n.jsonOf(garbage))
	}
	n.Kill()
	n.Flags = append(n.Flags, "--container-log-budget=0")
	n.up()
	n.eventually("nothing is kept", func() bool {
		left, err := os.ReadDir(n.PodLogs())
		return err == nil && len(left) == 0 && len(n.logsOf("talk")) == 0
	})
}

// chatter writes blocks of lines: each begins with a number, and is as long as most lines of logs are.
const chatter = `i=0; while [ $i -lt %d ]; do seq $((i*400)) $((i*400+399)) | sed 's/$/ %s/'; i=$((i+1)); sleep 1; done; exec sleep 1000`

func TestRotationUnderManyWritersLosesAndRepeatsNoLine(t *testing.T) {
	claim.Shows(t, "Logs", "50 containers that write 2 MB/s while their logs are rotated: followers, later readers and readers of the deleted pods get each line once")
	n := start(t, func(c *agent.Config) {
		c.Settings["containerLogMaxSize"], c.Settings["containerLogMaxFiles"] = "100Ki", 50
		c.Settings["containerLogMonitorInterval"], c.Settings["containerLogMaxWorkers"] = "3s", 4
	})
	const pods, writers, blocks = 10, 5, 20
	padding := strings.Repeat("x", 94)
	var text strings.Builder
	for line := range blocks * 400 {
		fmt.Fprintf(&text, "%d %s\n", line, padding)
	}
	want := text.String()
	for i := range pods {
		p := pod{name: fmt.Sprint("chatter-", i)}
		for w := range writers {
			p.apps = append(p.apps, busybox(fmt.Sprint("w", w), fmt.Sprintf(chatter, blocks, padding)))
		}
		n.apply(p.yaml())
	}
	uids := map[string]string{}
	for i := range pods {
		name := fmt.Sprint("chatter-", i)
		uids[name] = string(n.waitRunning(name).UID)
	}
	compare := func(who string, ask func(name, container string) *nodev1.ReadLogsRequest) {
		t.Helper()
		var all sync.WaitGroup
		for name := range uids {
			for w := range writers {
				container := fmt.Sprint("w", w)
				all.Go(func() {
					if got, err := n.tryRead(ask(name, container)); err != nil || got != want {
						t.Errorf("%s of %s/%s: %v, %s", who, name, container, err, firstDifference(got, want))
					}
				})
			}
		}
		all.Wait()
	}
	limit := int64(len(want))
	compare("a follower", func(name, container string) *nodev1.ReadLogsRequest {
		return &nodev1.ReadLogsRequest{Name: name, Container: container, Follow: true, LimitBytes: &limit}
	})
	rotated, err := filepath.Glob(filepath.Join(n.PodLogs(), "default_chatter-*", "*", "0.log.*"))
	if err != nil || len(rotated) < 2*pods*writers {
		t.Errorf("%d files were rotated away, %v, want at least two of each container", len(rotated), err)
	}
	compare("a reader", func(name, container string) *nodev1.ReadLogsRequest {
		return &nodev1.ReadLogsRequest{Name: name, Container: container}
	})
	for name := range uids {
		n.deletePod(name, "?gracePeriodSeconds=1")
	}
	compare("a reader after the deletion", func(name, container string) *nodev1.ReadLogsRequest {
		return &nodev1.ReadLogsRequest{Name: name, Container: container, Uid: uids[name]}
	})
}

// firstDifference says where a text is not what it has to be.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %.20q, want %.20q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
