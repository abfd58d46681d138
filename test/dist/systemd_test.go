package dist

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/service"
	"nodal/test/pace"
	"nodal/test/rig"
)

const (
	unit = "kubelet.service"
	// throwAway exists only in a machine of test/vm.
	throwAway = "/run/vm"
)

// TestSystemdRunsTheNode installs the file permanently, on a machine that is thrown away
// afterwards.
func TestSystemdRunsTheNode(t *testing.T) {
	if _, err := os.Stat(throwAway); err != nil {
		t.Skip("it installs a node on this machine: test/vm/tests.sh --systemd test/dist does so in another")
	}
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(time.Minute))
	defer cancel()
	output(t, "systemctl", "start", "basic.target") // what is new after this belongs to the node
	// The files of the real machine show through, so its old logs are not the node's.
	logged := []string{"/var/log/pods", "/var/log/containers"}
	for _, dir := range logged {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	before := rig.Snapshot()
	b := bare{root: "/", program: service.Program, example: read(t, "../../docs/examples/web.yaml")}

	output(t, built(binary), "install")
	first := wantActive(t)
	output(t, service.Program, "images", "import", image(t, "busybox"))
	b.write(t, "etc/nodal/manifests/web.yaml", b.example)
	b.awaitReady(ctx, t, "web-vm")
	pod := b.pod(ctx, t)
	wantServing(ctx, t, pod)

	output(t, "systemctl", "restart", unit)
	second := wantActive(t)
	if second == first {
		t.Errorf("after a restart the agent is process %s as before", first)
	}
	b.wantUnmoved(ctx, t, pod)

	// A stopped process does not feed the watchdog.
	output(t, "kill", "-STOP", second)
	awaitRestart(t)
	if third := wantActive(t); third == second {
		t.Errorf("the watchdog has left process %s alone", second)
	}
	if got := output(t, "journalctl", "--no-pager", "--unit="+unit); !strings.Contains(got, "Watchdog timeout") {
		t.Errorf("systemd reports no watchdog:\n%s", got)
	}
	b.wantUnmoved(ctx, t, pod)

	wantUpdates(ctx, t, b, pod)

	output(t, built(binary), "uninstall")
	if got := property(t, "LoadState"); got != "not-found" {
		t.Errorf("after uninstall the unit is %q, want it gone", got)
	}
	wantServing(ctx, t, pod)
	output(t, built(binary), "install")
	b.wantUnmoved(ctx, t, pod)
	output(t, built(binary), "uninstall", "--purge")
	for _, path := range append(logged, service.Program, "/etc/nodal", "/etc/systemd/system/"+unit, "/var/lib/kubelet", b.socket()) {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("uninstall --purge leaves %s", path)
		}
	}
	if left := rig.Leaks(before); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// wantUpdates updates the program to one that works, and then to one that never gets ready.
func wantUpdates(ctx context.Context, t *testing.T, b bare, pod corev1.Pod) {
	t.Helper()
	newer := append(read(t, service.Program), '\n') // which an ELF file may have at its end
	b.write(t, "run/newer", newer)
	if got := output(t, service.Program, "self-update", "/run/newer"); !strings.Contains(got, "1 pods have to be ready") {
		t.Errorf("the update says\n%s", got)
	}
	wantActive(t)
	b.wantUnmoved(ctx, t, pod)
	if !bytes.Equal(read(t, service.Program), newer) {
		t.Error("the newer program is not in place")
	}

	// It passes for a program of ours, and says that it can run the node.
	const broken = "#!/bin/sh\n# path\tnodal/cmd/kubelet\ncase $1 in check) exit 0 ;; --version=json) echo '{\"kubelet\":\"broken\"}' ;; *) exit 1 ;; esac\n"
	if err := os.WriteFile("/run/broken", []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, service.Program, "self-update", "--within=5s", "/run/broken").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "again: after 5s: ") {
		t.Errorf("the update to a broken program: got %v\n%s", err, out)
	}
	wantActive(t)
	b.wantUnmoved(ctx, t, pod)
	if !bytes.Equal(read(t, service.Program), newer) {
		t.Error("the broken program was not taken back")
	}
	if got := strings.TrimSpace(output(t, "systemctl", "show", "--value", "--property=LoadState", service.UpdateUnit)); got != "not-found" {
		t.Errorf("after the update its unit is %s", got)
	}
}

func property(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(output(t, "systemctl", "show", "--value", "--property="+name, unit))
}

// wantActive returns the agent's process. The unit is active once the agent has reported that it is
// ready.
func wantActive(t *testing.T) (pid string) {
	t.Helper()
	for name, want := range map[string]string{"ActiveState": "active", "SubState": "running", "Type": "notify", "WatchdogUSec": "30s"} {
		if got := property(t, name); got != want {
			t.Fatalf("%s is %q, want %q:\n%s", name, got, want, output(t, "journalctl", "--no-pager", "--lines=30", "--unit="+unit))
		}
	}
	return property(t, "MainPID")
}

// awaitRestart waits until systemd has restarted the agent.
func awaitRestart(t *testing.T) {
	t.Helper()
	deadline := time.After(pace.Of(time.Minute))
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for property(t, "NRestarts") == "0" {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("systemd restarts nothing")
		}
	}
	output(t, "systemctl", "start", unit) // it returns when the start is complete
}

func (b bare) pod(ctx context.Context, t *testing.T) corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(b.ask(ctx, t, "GET", "/pods")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || len(list.Items[0].Status.ContainerStatuses) != 1 {
		t.Fatalf("got %+v, want one pod of one container", list.Items)
	}
	return list.Items[0]
}

// wantUnmoved checks that the container of before still runs and answers.
func (b bare) wantUnmoved(ctx context.Context, t *testing.T, before corev1.Pod) {
	t.Helper()
	b.awaitReady(ctx, t, "web-vm")
	want, got := before.Status.ContainerStatuses[0], b.pod(ctx, t).Status.ContainerStatuses[0]
	if got.ContainerID != want.ContainerID || got.RestartCount != want.RestartCount {
		t.Errorf("the pod runs in %s after %d restarts, want %s as before", got.ContainerID, got.RestartCount, want.ContainerID)
	}
	wantServing(ctx, t, before)
}

func wantServing(ctx context.Context, t *testing.T, pod corev1.Pod) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+pod.Status.PodIP+":8080/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("the pod does not answer: %v", err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "hello from a pod\n" {
		t.Errorf("the pod says %q, %v", body, err)
	}
}
