package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

var example = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The manifests of the page on volumes work. Those that need a server, or a rare runtime, are only
// posted.
func TestTheExamplesOfVolumesWork(t *testing.T) {
	page, err := os.ReadFile("../../docs/VOLUMES.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := example.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("the page has %d examples", len(blocks))
	}
	n := start(t)
	for _, block := range blocks {
		n.apply(block[1])
	}
	for _, pod := range []string{"scratch", "machine", "configured", "trusting", "lasting"} {
		n.waitRunning(pod)
	}
	n.wantPhase(claims+"disk", "Bound disk")
	n.wait("elsewhere", "it waits for the remote volume", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && strings.Contains(p.Status.Message, "nfs")
	})
	for _, pod := range []string{"scratch", "machine", "configured", "trusting", "lasting", "elsewhere"} {
		n.deletePod(pod, "?gracePeriodSeconds=1")
	}
}
