package dist

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// binaryFile is the kubelet of one architecture.
type binaryFile struct {
	path     string
	machine  elf.Machine
	emulator string // the emulator for it; empty for this machine's architecture
}

// eachBinary tests each binary that was built, at least this machine's.
func eachBinary(t *testing.T, look func(*testing.T, binaryFile)) {
	t.Helper()
	known := map[string]binaryFile{
		"amd64": {machine: elf.EM_X86_64, emulator: "qemu-x86_64-static"},
		"arm64": {machine: elf.EM_AARCH64, emulator: "qemu-aarch64-static"},
	}
	paths, err := filepath.Glob(built("kubelet-linux-*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no binaries (%v)", err)
	}
	for _, path := range paths {
		arch := strings.TrimPrefix(filepath.Base(path), "kubelet-linux-")
		t.Run(arch, func(t *testing.T) {
			b, ok := known[arch]
			if !ok {
				t.Fatalf("there is no such architecture as %s", arch)
			}
			if b.path = path; arch == runtime.GOARCH {
				b.emulator = ""
			}
			look(t, b)
		})
	}
}

// says runs the kubelet, on an emulated processor if necessary, and returns its output.
func (b binaryFile) says(t *testing.T, args ...string) string {
	t.Helper()
	if b.emulator == "" {
		return output(t, b.path, args...)
	}
	if _, err := exec.LookPath(b.emulator); err != nil {
		t.Skipf("it cannot be run here (make setup-dist mends that): %v", err)
	}
	return output(t, b.emulator, append([]string{b.path}, args...)...)
}

func TestTheBinaryNeedsNoLibrary(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		f := wantStatic(t, b.path, b.machine)
		if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
			t.Error("it is not stripped")
		}
	})
}

func wantStatic(t *testing.T, path string, machine elf.Machine) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if f.Machine != machine {
		t.Errorf("%s is for %v, want %v", path, f.Machine, machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
			t.Errorf("%s has a segment %v", path, p.Type)
		}
	}
	return f
}

// If the binary grows by megabytes, a program may call methods by name, as text/template does: the
// linker then keeps every method of every type. go build -ldflags=-dumpdep names it with the word
// ReflectMethod.
func TestTheBinaryIsSmall(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Fatal(err)
		}
		if got, limit := info.Size(), int64(60_000_000); got > limit {
			t.Errorf("it has %d bytes, want at most %d", got, limit)
		}
	})
}

func TestTheBinaryPrintsItsVersionAndItsRuntimes(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		if got := b.says(t, "--version"); !strings.HasPrefix(got, "Kubernetes v1.") {
			t.Errorf("got %q, want upstream's words", got)
		}
		got := b.says(t, "--version=json")
		for _, want := range []string{`"kubelet": "` + os.Getenv(versionEnv) + `"`, `"containerd": "v`, `"runc": "v`, `"cni": "v`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
	})
}

// Each library that a binary links, and each program that it brings, has to come with its terms. make licenses collects them.
func TestTheBinaryHasTheLicencesOfWhatIsInIt(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		linked, err := buildinfo.ReadFile(b.path)
		if err != nil {
			t.Fatal(err)
		}
		got := b.says(t, "licenses")
		for _, m := range linked.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if line := "\n  " + m.Path + " " + m.Version + "\n"; !strings.Contains(got, line) {
				t.Errorf("it has no licence of %s %s; run make licenses", m.Path, m.Version)
			}
		}
		var brought struct{ Runtime map[string]string }
		if err := json.Unmarshal([]byte(b.says(t, "--version=json")), &brought); err != nil {
			t.Fatal(err)
		}
		for program, path := range map[string]string{
			"containerd": "github.com/containerd/containerd/v2", "runc": "github.com/opencontainers/runc", "cni": "github.com/containernetworking/plugins",
		} {
			if line := "\n  " + path + " " + brought.Runtime[program] + "\n"; !strings.Contains(got, line) {
				t.Errorf("it has no licence of %s %s; run make licenses", path, brought.Runtime[program])
			}
		}
		if shown := string(read(t, built("LICENSES.txt"))); shown != got {
			t.Error("LICENSES.txt is not what the binary prints")
		}
	})
}

func TestTheBinaryBringsProgramsForItsMachine(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		dir, programs := t.TempDir(), 0
		b.says(t, "unpack-runtime", dir)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				wantStatic(t, path, b.machine)
				programs++
			}
			return err
		})
		if err != nil || programs < 6 {
			t.Errorf("it brings %d programs (%v), want containerd, its shim, hold, runc and two plugins", programs, err)
		}
	})
}

func TestTheBinaryNamesNoDirectoryOfItsBuilder(t *testing.T) {
	eachBinary(t, func(t *testing.T, b binaryFile) {
		content := read(t, b.path)
		for _, what := range []string{"GOROOT", "GOMODCACHE", "GOCACHE"} {
			if dir := strings.TrimSpace(output(t, "go", "env", what)); bytes.Contains(content, []byte(dir+"/")) {
				t.Errorf("it names %s, the builder's %s", dir, what)
			}
		}
	})
}
