package dist

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const version = "v0.0.0-test"

const (
	binary = "kubelet-linux-" + runtime.GOARCH
	dirEnv = "NODAL_DIST" // the directory that was filled once for all tests
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nodal-dist-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("../dist.sh", dir, version, runtime.GOARCH)
	build.Env = append(os.Environ(), "GOFLAGS=-race", "CGO_ENABLED=1") // what a caller has set is not heeded
	out, err := build.CombinedOutput()
	if err == nil {
		err = os.Setenv(dirEnv, dir)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func built(name string) string { return filepath.Join(os.Getenv(dirEnv), name) }

func TestTheBinaryNeedsNoLibrary(t *testing.T) {
	f, err := elf.Open(built(binary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
			t.Errorf("it has a segment %v", p.Type)
		}
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Error("it is not stripped")
	}
}

// What makes it suddenly heavy by megabytes is a program that may call methods by
// name, as text/template does: the linker then keeps every method of every type.
// go build -ldflags=-dumpdep names it, by the word ReflectMethod.
func TestTheBinaryIsSmall(t *testing.T) {
	info, err := os.Stat(built(binary))
	if err != nil {
		t.Fatal(err)
	}
	if got, limit := info.Size(), int64(45_000_000); got > limit {
		t.Errorf("it has %d bytes, want at most %d", got, limit)
	}
}

func TestTheBinaryTellsItsVersionAndThatOfWhatItBrings(t *testing.T) {
	got := output(t, built(binary), "--version")
	for _, want := range []string{"nodal kubelet " + version + " with ", "containerd v", "runc v", "cni v"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func TestTheBinaryNamesNoDirectoryOfItsBuilder(t *testing.T) {
	content := read(t, built(binary))
	for _, what := range []string{"GOROOT", "GOMODCACHE", "GOCACHE"} {
		if dir := strings.TrimSpace(output(t, "go", "env", what)); bytes.Contains(content, []byte(dir+"/")) {
			t.Errorf("it names %s, the builder's %s", dir, what)
		}
	}
}

func TestChecksumsAreOfTheFiles(t *testing.T) {
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

	output(t, built(binary), "uninstall", "--root", root, "--purge")
	if out := output(t, "find", root, "-not", "-type", "d"); out != "" {
		t.Errorf("uninstall leaves\n%s", out)
	}
}

// wantValid asks systemd's own tool, where it is there. The tool wants the
// program in its place.
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
