package cri_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/cri"
	"nodal/node"
	"nodal/node/manifest"
	"nodal/test/pace"
	"nodal/test/rig"
)

// patience is for what a real runtime does in its own time.
var patience = pace.Of(30 * time.Second)

func dialRig(t *testing.T, rt *rig.Runtime) client {
	t.Helper()
	conn, err := cri.Dial(cri.Config{Endpoint: rt.Endpoint, RequestTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	config := testConfig(t)
	config.CgroupParent = func(*corev1.Pod) string { return rt.CgroupParent }
	return newClient(conn, config)
}

func onContainerd(t *testing.T, image string, args ...string) (*fixture, *rig.Runtime) {
	t.Helper()
	t.Parallel()
	rt := rig.Containerd(t)
	return &fixture{T: t, cri: dialRig(t, rt), pod: testPod(rt.Image(image), args...)}, rt
}

func TestContainerdRunsAPodThroughAllActions(t *testing.T) {
	f, rt := onContainerd(t, "probe", "exit", "3", "3s") // its start and its end are noted by two processes
	status, err := f.cri.Status(t.Context())
	if err != nil || status.Name != "containerd" || !status.Ready || !status.NetworkReady {
		t.Fatalf("status is %+v, %v, want a ready containerd", status, err)
	}
	sandbox, container := f.start()
	ip := f.do(node.InspectSandbox{ID: sandbox}).Sandbox.IPs
	if len(ip) != 1 || net.ParseIP(ip[0]) == nil {
		t.Errorf("the sandbox's addresses are %q, want one", ip)
	}
	ended := f.waitState(container, node.ContainerExited)
	if ended.ExitCode != 3 || ended.Reason != "Error" {
		t.Errorf("the container ended with %d %s, want 3 Error", ended.ExitCode, ended.Reason)
	}
	if ended.StartedAt.Before(ended.CreatedAt) || ended.FinishedAt.Before(ended.StartedAt) {
		t.Errorf("created %s, started %s, finished %s: want this order", ended.CreatedAt, ended.StartedAt, ended.FinishedAt)
	}
	if ended.SandboxID != sandbox {
		t.Errorf("the container's sandbox is %s, want %s", ended.SandboxID, sandbox)
	}
	if _, err := os.Stat(ended.LogPath); err != nil {
		t.Errorf("the container's log: %v", err)
	}

	listed := f.list().Newest("uid-1", "main")
	if want := manifest.ContainerHash(&f.pod.Object.Spec.Containers[0]); listed.Hash != want || ended.Hash != want {
		t.Errorf("hashes are %q listed and %q inspected, want %q", listed.Hash, ended.Hash, want)
	}
	if listed.LogPath != ended.LogPath || listed.Grace != 7*time.Second || ended.Grace != 7*time.Second {
		t.Errorf("listed %+v, inspected %+v: want one log path and 7s of grace", listed, ended)
	}

	again := f.pull(rt.Image("probe"))
	second := f.do(node.CreateContainer{Container: "main", Attempt: 1, SandboxID: sandbox, ImageID: again.ID}).ID
	if got := f.list().Containers; len(got) != 2 || got[0].ID != second || got[0].Attempt != 1 {
		t.Errorf("containers are %+v, want two, the newest attempt first", got)
	}
	for _, id := range []string{container, second} {
		f.do(node.RemoveContainer{Container: "main", ID: id})
		f.do(node.RemoveContainer{Container: "main", ID: id})
	}
	for range 2 {
		f.do(node.StopSandbox{ID: sandbox})
	}
	for range 2 {
		f.do(node.RemoveSandbox{ID: sandbox})
	}
	if !f.list().Empty() {
		t.Errorf("left in the runtime: %+v", f.list())
	}
	if err := f.try(node.InspectSandbox{ID: sandbox}); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("the removed sandbox answers %v, want not found", err)
	}
}

// waitState waits until a container is in a state.
func (f *fixture) waitState(id string, state node.ContainerState) (c node.Container) {
	f.Helper()
	f.waitFor(func() error {
		if c = f.inspect(id); c.State != state {
			return fmt.Errorf("the container is %s, want %s", c.State, state)
		}
		return nil
	})
	return c
}

func TestContainerdKeepsANameForItsFirstOwner(t *testing.T) {
	f, _ := onContainerd(t, "probe", "pause")
	sandbox, container := f.create()
	f.wantUnknown(f.try(node.RunSandbox{}))
	image := f.pull(f.pod.Object.Spec.Containers[0].Image)
	f.wantUnknown(f.try(node.CreateContainer{Container: "main", SandboxID: sandbox, ImageID: image.ID}))
	if got := f.list(); len(got.Sandboxes) != 1 || len(got.Containers) != 1 || got.Containers[0].ID != container {
		t.Errorf("observed %+v, want what was made first", got)
	}
}

func TestContainerdSaysWhyItCannot(t *testing.T) {
	f, rt := onContainerd(t, "probe", "pause")
	sandbox, _ := f.create()
	for _, ref := range []string{rt.Image("nothing:1"), "127.0.0.1:1/nobody:1"} {
		_, err := f.cri.Pull(f.Context(), ref, nil)
		f.wantFailure(err, node.ErrImagePull)
	}

	c := &f.pod.Object.Spec.Containers[0]
	c.Command = []string{"/no/such/file"}
	image, err := f.cri.Image(t.Context(), c.Image)
	if err != nil || image == nil {
		t.Fatalf("image %s: got %v, %v, want it there", c.Image, image, err)
	}
	broken := f.do(node.CreateContainer{Container: "main", Attempt: 1, SandboxID: sandbox, ImageID: image.ID}).ID
	f.wantFailure(f.try(node.StartContainer{Container: "main", ID: broken}), "RunContainerError")

	c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
	create := node.CreateContainer{Container: "main", Attempt: 2, SandboxID: sandbox, ImageID: image.ID}
	f.wantFailure(f.try(create), "CreateContainerConfigError")
}

func TestContainerdHoldsAContainerToItsSecurityContext(t *testing.T) {
	f, _ := onContainerd(t, "busybox", "sleep 1000")
	c := &f.pod.Object.Spec.Containers[0]
	c.Command = []string{"sh", "-c"}
	c.Env = []corev1.EnvVar{
		{Name: "ADDRESS", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "GREETING", Value: "from $(ADDRESS)"},
	}
	c.SecurityContext = &corev1.SecurityContext{
		RunAsUser: new(int64(1234)), RunAsGroup: new(int64(5678)),
		ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	f.pod.Object.Spec.Hostname = "given"
	sandbox, container := f.start()
	ip := f.do(node.InspectSandbox{ID: sandbox}).Sandbox.IPs[0]
	for script, want := range map[string]string{
		"id -u; id -g":                        "1234\n5678\n",
		"grep NoNewPrivs /proc/self/status":   "NoNewPrivs:\t1\n",
		"grep CapBnd /proc/self/status":       "CapBnd:\t0000000000000000\n",
		"touch /file 2>/dev/null || echo no":  "no\n",
		"echo $GREETING; hostname":            "from " + ip + "\ngiven\n",
		"cat /proc/kcore 2>/dev/null | wc -c": "0\n",
	} {
		stdout, stderr, exit, err := f.cri.ExecSync(t.Context(), container, []string{"sh", "-c", script}, patience)
		if err != nil || exit != 0 || string(stdout) != want {
			t.Errorf("%s: got %q %q %d %v, want %q", script, stdout, stderr, exit, err, want)
		}
	}
}

func TestContainerdReopensALogThatWasMovedAway(t *testing.T) {
	f, _ := onContainerd(t, "probe", "tick", "5ms")
	_, container := f.start()
	path := f.inspect(container).LogPath
	if err := os.Rename(path, filepath.Join(filepath.Dir(path), "moved")); err != nil {
		t.Fatal(err)
	}
	if err := f.cri.ReopenLog(t.Context(), container); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the new log: %v", err)
	}
}

func TestContainerdStopsWithinTheGracePeriod(t *testing.T) {
	f, _ := onContainerd(t, "busybox")
	for uid, test := range map[types.UID]struct {
		trap string
		want int32
	}{
		"obeys":   {"trap 'exit 9' TERM", 9},
		"ignores": {"trap '' TERM", 137},
	} {
		f.pod.Object.UID = uid
		f.pod.Object.Spec.Containers[0].Args = []string{"sh", "-c", test.trap + "; echo ready; while :; do sleep 0.05; done"}
		_, container := f.start()
		f.waitLog(container, "ready")
		begin := time.Now()
		f.do(node.StopContainer{Container: "main", ID: container, Grace: time.Millisecond})
		if took := time.Since(begin); test.want == 137 && took < 2*time.Second {
			t.Errorf("who %s was killed after %s, want 2s of grace at least", uid, took)
		}
		if got := f.inspect(container); got.State != node.ContainerExited || got.ExitCode != test.want {
			t.Errorf("who %s is %s with %d, want exited with %d", uid, got.State, got.ExitCode, test.want)
		}
	}
}

// waitLog waits until a container has written something.
func (f *fixture) waitLog(container, text string) {
	f.Helper()
	path := f.inspect(container).LogPath
	f.waitFor(func() error {
		log, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(log, []byte(text)) {
			err = fmt.Errorf("the log is %q, want %q in it", log, text)
		}
		return err
	})
}

// waitFor waits until something on the real machine is so.
func (f *fixture) waitFor(check func() error) {
	f.Helper()
	deadline := time.After(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			f.Fatalf("after %s: %v", patience, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestContainerdIsAdoptedAfterARestartOfEitherSide(t *testing.T) {
	f, rt := onContainerd(t, "probe", "pause")
	sandbox, container := f.start()
	before := f.list()
	if err := rt.Kill(); err != nil {
		t.Fatal(err)
	}
	key := f.pod.Key()
	if _, err := f.cri.List(t.Context(), &key); !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("without a runtime a list answers %v, want unavailable", err)
	}
	f.wantUnknown(f.try(node.StopSandbox{ID: sandbox}))
	if err := rt.Start(); err != nil {
		t.Fatal(err)
	}
	f.waitFor(func() error {
		_, err := f.cri.Status(f.Context())
		return err
	})
	other := &fixture{T: t, cri: dialRig(t, rt), pod: f.pod}
	for name, agent := range map[string]*fixture{"the same agent": f, "another agent": other} {
		after := agent.list()
		if !slices.Equal(sandboxIDs(after), []string{sandbox}) || len(after.Containers) != 1 {
			t.Fatalf("%s sees %+v, want what was there", name, after)
		}
		got, want := after.Containers[0], before.Containers[0]
		got.LogPath, want.LogPath = "", "" // each agent has its own place for logs
		if got != want || got.ID != container {
			t.Errorf("%s sees %+v, want %+v", name, got, want)
		}
	}
}

func sandboxIDs(o *node.Observed) []string {
	var ids []string
	for _, s := range o.Sandboxes {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestContainerdReportsADeadContainer(t *testing.T) {
	f, rt := onContainerd(t, "probe", "pause")
	woken, relisted := make(chan node.Key, 64), make(chan struct{}, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- f.cri.Watch(t.Context(), func(k node.Key) { woken <- k }, func() { relisted <- struct{}{} })
	}()
	await(t, relisted)
	_, container := f.start()
	if _, _, _, err := f.cri.ExecSync(t.Context(), container, []string{"/probe", "exit", "0"}, patience); err != nil {
		t.Fatal(err)
	}
	f.do(node.StopContainer{Container: "main", ID: container})
	if got, want := await(t, woken), f.pod.Key(); got != want {
		t.Errorf("woken for %s, want %s", got, want)
	}
	if err := rt.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := await(t, ended); err == nil || errors.Is(err, node.ErrUnsupported) {
		t.Errorf("the watch of a killed runtime ended with %v, want a broken stream", err)
	}
}

func await[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("nothing came within %s", patience)
	}
	return value
}
