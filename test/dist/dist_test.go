package dist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	binary     = "kubelet-linux-" + runtime.GOARCH
	dirEnv     = "NODAL_DIST"         // a directory with the files; if unset, the tests build them
	versionEnv = "NODAL_DIST_VERSION" // their version
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(dirEnv) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "nodal-dist-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	const version = "v0.0.0-test"
	build := exec.Command("../dist.sh", dir, version, runtime.GOARCH)
	build.Env = append(os.Environ(), "GOFLAGS=-race", "CGO_ENABLED=1") // the caller's settings must not matter
	out, err := build.CombinedOutput()
	if err == nil {
		err = errors.Join(os.Setenv(dirEnv, dir), os.Setenv(versionEnv, version))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func built(name string) string { return filepath.Join(os.Getenv(dirEnv), name) }

func TestChecksumsMatchTheFiles(t *testing.T) {
	entries, err := os.ReadDir(built(""))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		if name := e.Name(); name != "SHA256SUMS" {
			sum := sha256.Sum256(read(t, built(name)))
			fmt.Fprintf(&want, "%s  %s\n", hex.EncodeToString(sum[:]), name)
		}
	}
	if got := string(read(t, built("SHA256SUMS"))); got != want.String() || !strings.Contains(got, binary) {
		t.Errorf("got\n%swant\n%s", got, want.String())
	}
}

func TestTheUnitIsTheOneThatInstallWrites(t *testing.T) {
	root := t.TempDir()
	output(t, built(binary), "install", "--root", root, "--dry-run")
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("a dry run has made %v, %v", left, err)
	}
	for range 2 { // the second time over itself
		output(t, built(binary), "install", "--root", root)
	}
	unit := read(t, filepath.Join(root, "etc/systemd/system/kubelet.service"))
	if !bytes.Equal(unit, read(t, built("kubelet.service"))) {
		t.Errorf("it writes another unit:\n%s", unit)
	}
	installed := filepath.Join(root, "usr/local/bin/kubelet")
	if !bytes.Equal(read(t, installed), read(t, built(binary))) {
		t.Error("it installs another program than itself")
	}
	wantValid(t, unit, installed)
	if page := read(t, filepath.Join(root, "usr/local/share/man/man1/kubelet-get.1")); !bytes.Contains(page, []byte(".TH KUBELET")) {
		t.Errorf("the manual page of get is\n%s", page)
	}

	output(t, built(binary), "uninstall", "--root", root, "--purge")
	if out := output(t, "find", root, "-not", "-type", "d"); out != "" {
		t.Errorf("uninstall leaves\n%s", out)
	}
}

// wantValid checks the unit with systemd's own tool, if there is one. The tool needs the program to
// exist.
func wantValid(t *testing.T, unit []byte, program string) {
	t.Helper()
	for _, want := range []string{"Type=notify\n", "WatchdogSec=", "Restart=always\n", "Delegate=yes\n", "KillMode=process\n", "OOMScoreAdjust=", "LimitNOFILE="} {
		if !bytes.Contains(unit, []byte("\n"+want)) {
			t.Errorf("the unit lacks %s", want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Logf("the unit is not verified: %v", err)
		return
	}
	path := filepath.Join(t.TempDir(), "kubelet.service")
	moved := bytes.ReplaceAll(unit, []byte("/usr/local/bin/kubelet"), []byte(program))
	if err := os.WriteFile(path, moved, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := output(t, "systemd-analyze", "verify", path); out != "" {
		t.Errorf("systemd-analyze says: %s", out)
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
