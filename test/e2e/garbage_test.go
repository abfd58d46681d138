package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
)

// garbage returns the garbage of a kind whose name or pod has a part.
func (n *node) garbage(kind, part string) (found []*nodev1.Garbage) {
	n.t.Helper()
	got := n.curl("/v1/node/garbage")
	var answer nodev1.ListGarbageResponse
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(got.body), &answer); err != nil || got.code != 200 {
		n.t.Fatalf("got %s (%v)", got, err)
	}
	if len(answer.GetFaults()) > 0 {
		n.t.Errorf("could not look through all: %q", answer.GetFaults())
	}
	for _, g := range answer.GetGarbage() {
		if g.GetKind() == kind && strings.Contains(g.GetName()+" "+g.GetPod(), part) {
			found = append(found, g)
		}
	}
	return found
}

// leaveBehind leaves the directory, the logs and the cgroup of a pod that is gone, as a crash does.
func (n *node) leaveBehind(logs, beside string) (cgroups []string) {
	n.t.Helper()
	home := filepath.Join(n.Root(), "pods/left-behind") // the sticky bit marks the node's own directories
	if err := errors.Join(os.Mkdir(home, 0o750), os.Chmod(home, 0o750|os.ModeSticky), os.MkdirAll(filepath.Join(logs, "main"), 0o755),
		os.WriteFile(filepath.Join(logs, "main", "0.log"), []byte("12345"), 0o600)); err != nil {
		n.t.Fatal(err)
	}
	uid := string(n.wait(beside, beside+" running", ready).UID)
	controllers := []string{"memory", "pids"}
	if cgroupVersion(n.t) == 2 {
		controllers = []string{""}
	}
	for _, controller := range controllers {
		pod := filepath.Dir(cgroupDir(n.t, n.pidOf(beside, "main"), controller))
		name := strings.ReplaceAll(filepath.Base(pod), uid, "left-behind")
		name = strings.ReplaceAll(name, strings.ReplaceAll(uid, "-", "_"), "left_behind")
		dir := filepath.Join(filepath.Dir(pod), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			n.t.Fatal(err)
		}
		n.t.Cleanup(func() { _ = os.Remove(dir) }) // if the test fails
		cgroups = append(cgroups, dir)
	}
	return cgroups
}

func TestGarbageIsListedWithItsReasonBeforeItGoes(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"GET /v1/node/garbage lists runs that have ended, unused images, and the logs and cgroups of pods that are gone, each with why it is garbage and when it goes or why it stays",
		"--maximum-dead-containers-per-container and --minimum-container-ttl-duration are honoured",
		"what was listed is removed, and the logs of other kubelets' pods stay")
	n := prepare(t)
	n.Flags = append(n.Flags, "--maximum-dead-containers-per-container=0", "--minimum-container-ttl-duration=20s")
	n.up()
	n.apply(shell("beside", "exec sleep 1000").yaml())
	n.apply(shell("crashing", "exit 1").yaml())
	n.apply(web("web").yaml()) // leaves its image
	n.waitRunning("beside")
	n.waitRunning("web")
	n.deletePod("web", "")
	n.waitGone("web")

	// The first run ends, and the second one too: the newest stays, and the other until it is old enough.
	n.wait("crashing", "two runs of crashing", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount > 0 })
	n.eventually("a run that waits for its age", func() bool {
		for _, g := range n.garbage("container", "crashing") {
			if strings.Contains(g.GetKept(), "--minimum-container-ttl-duration") && g.GetGoesAt().AsTime().After(time.Now().Add(-time.Minute)) {
				return strings.Contains(g.GetWhy(), "keeps 0 besides the newest")
			}
		}
		return false
	})
	n.eventually("the newest run alone", func() bool {
		runs := n.garbage("container", "crashing")
		return len(runs) == 1 && strings.Contains(runs[0].GetKept(), "newest run of its container")
	})

	ours := filepath.Join(n.PodLogs(), "default_gone_left-behind")
	theirs := filepath.Join(n.PodLogs(), "default_theirs_of-another-kubelet")
	if err := os.MkdirAll(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	cgroups := n.leaveBehind(ours, "beside")
	logs := n.garbage("logs", "default_gone_left-behind")
	if len(logs) != 1 || logs[0].GetBytes() != 5 || logs[0].GetPod() != "gone" || logs[0].GetGoesAt() == nil || logs[0].GetWhy() == "" {
		t.Errorf("got %s, want the logs of 5 bytes, with why and when", n.jsonOf(logs))
	}
	if files := n.garbage("files", "left-behind"); len(files) != 1 || files[0].GetGoesAt() == nil {
		t.Errorf("got %s, want the directory of the pod", n.jsonOf(files))
	}
	left := n.garbage("cgroup", strings.TrimSuffix(filepath.Base(cgroups[0]), ".slice"))
	if len(left) != 1 || left[0].GetGoesAt() == nil || left[0].GetKept() != "" {
		t.Errorf("got %s, want the cgroup that was left behind, with the time of the next sweep", n.jsonOf(left))
	}
	if images := n.garbage("image", "nodal.test/probe"); len(images) != 1 || images[0].GetBytes() == 0 ||
		images[0].GetKept() == "" || images[0].GetWhy() != "no container and no pod uses it" {
		t.Errorf("got %s, want the image that no pod uses, with its size and why it stays", n.jsonOf(images))
	}
	if images := n.garbage("image", "nodal.test/busybox"); len(images) != 0 {
		t.Errorf("got %s, want nothing of an image that is in use", n.jsonOf(images))
	}

	n.Kill() // the first sweep of an agent comes at once
	n.up()
	n.eventually("the leftovers are gone", func() bool {
		for _, path := range append(cgroups, ours, filepath.Join(n.Root(), "pods/left-behind")) {
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				return false
			}
		}
		return true
	})
	if len(n.garbage("files", "left-behind")) != 0 || len(n.garbage("cgroup", "left")) != 0 {
		t.Errorf("what is gone is still listed: %s", n.curl("/v1/node/garbage"))
	}
	logs = n.garbage("logs", "default_gone_left-behind")
	if len(logs) != 1 || !strings.Contains(logs[0].GetKept(), "--container-log-budget") || logs[0].GetWhy() != "its pod is deleted" {
		t.Errorf("got %s, want its logs kept within their budget", n.jsonOf(logs))
	}
	if _, err := os.Lstat(theirs); err != nil {
		t.Errorf("the logs of another kubelet's pod: %v", err)
	}
}
