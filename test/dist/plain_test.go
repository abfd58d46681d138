package dist

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/host/service"
	"nodal/test/pace"
	"nodal/test/rig"
)

// plain builds the kubelet as `go build ./cmd/kubelet` does, without a container runtime inside.
func plain(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubelet")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "../../cmd/kubelet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the machine has no C library
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

func TestABuildWithoutARuntime(t *testing.T) {
	rig.Require(t)
	program := plain(t)
	t.Run("lists what the machine lacks", func(t *testing.T) { saysWhatIsMissing(t, program) })
	t.Run("uses that of the machine", func(t *testing.T) { usesThatOfTheMachine(t, program) })
}

func saysWhatIsMissing(t *testing.T, program string) {
	b := newBare(t, program)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(time.Minute))
	defer cancel()
	for name, command := range map[string][]string{"the check": {service.Program, "check"}, "the agent": b.agent()} {
		out, err := exec.CommandContext(ctx, "./bare.sh", append([]string{b.root}, command...)...).CombinedOutput()
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s ends with %v, want a failure at once", name, err)
		}
		const want = "the host lacks containerd; containerd-shim-runc-v2; runc; the CNI plugins bridge, host-local, loopback, portmap"
		if !strings.Contains(string(out), want) {
			t.Errorf("%s says %q, want %q in it", name, out, want)
		}
	}
}

func usesThatOfTheMachine(t *testing.T, program string) {
	b := newBare(t, program)
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runc"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		b.bring(t, path)
	}
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		b.bring(t, filepath.Join("/usr/lib/cni", name))
	}
	b.wantPods(t, []string{"busybox", "pause"}, "--pod-infra-container-image=nodal.test/pause:1")
}

// bring copies a program of this machine, with its libraries, to the same path.
func (b bare) bring(t *testing.T, program string) {
	t.Helper()
	for word := range strings.FieldsSeq(program + " " + output(t, "ldd", program)) {
		if filepath.IsAbs(word) {
			b.copy(t, word)
		}
	}
}

func (b bare) copy(t *testing.T, path string) {
	t.Helper()
	to := filepath.Join(b.root, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, read(t, path), 0o755); err != nil {
		t.Fatal(err)
	}
}
