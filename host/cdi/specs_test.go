package cdi

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// bench is a machine with two directories of specs.
type bench struct {
	*Specs
	t *testing.T
}

func newBench(t *testing.T, offers ...string) *bench {
	t.Helper()
	parsed, err := node.ParseCDIOffers(offers)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{&Specs{
		Dirs: []string{t.TempDir(), t.TempDir()}, Offers: parsed, Board: store.NewDevices(), Log: slog.New(slog.DiscardHandler),
	}, t}
}

// write writes a spec into one of the directories.
func (b *bench) write(dir int, name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.Dirs[dir], name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// spec is a spec whose devices are words such as "0=/dev/null", or "0" for one without a device file.
func specOf(kind string, devices ...string) string {
	text := "cdiVersion: 0.5.0\nkind: " + kind + "\ndevices:\n"
	for _, d := range devices {
		name, files, _ := strings.Cut(d, "=")
		text += "- name: \"" + name + "\"\n  containerEdits:\n    env: [X=1]\n"
		if files != "" {
			text += "    deviceNodes:\n"
		}
		for _, file := range strings.FieldsFunc(files, func(r rune) bool { return r == '+' }) {
			path, host, _ := strings.Cut(file, "<")
			text += "    - path: " + path + "\n"
			if host != "" {
				text += "      hostPath: " + host + "\n"
			}
		}
	}
	return text
}

// shown looks, and returns the devices of the first offer in the words of a test: "b!" for an unhealthy one.
func (b *bench) shown() string {
	b.Look()
	var words []string
	for _, d := range b.Board.Resource(b.Offers[0].Resource).Devices {
		if !d.Healthy {
			d.ID += "!"
		}
		words = append(words, d.ID)
	}
	return strings.Join(words, " ")
}

func (b *bench) want(devices, fault string) {
	b.t.Helper()
	got, r := b.shown(), b.Board.Resource(b.Offers[0].Resource)
	if got != devices || fault == "" && r.Fault != "" || !strings.Contains(r.Fault, fault) {
		b.t.Errorf("the board shows %q and %q, want %q and %q", got, r.Fault, devices, fault)
	}
}

func TestDevicesOfSpecsAreOffered(t *testing.T) {
	b := newBench(t, "example.com/gpu:as=example.com/part:shares=2")
	b.want("", "no spec in "+b.Dirs[0]+" or "+b.Dirs[1]+" has devices of kind example.com/gpu")
	b.write(0, "other.json", `{"cdiVersion": "0.6.0", "kind": "example.com/nic", "devices": [{"name": "n"}]}`)
	b.write(0, "README", "no spec")
	b.write(0, "gpu.yaml", specOf("example.com/gpu", "0=/dev/gpu0</dev/null", "1=/dev/gpu1</dev/zero"))
	b.want("0 1 0::1 1::1", "")
	grant, err := b.Allocate(t.Context(), "example.com/part", []string{"0", "0::1", "1::1"})
	if err != nil || strings.Join(grant.CDI, " ") != "example.com/gpu=0 example.com/gpu=1" {
		t.Errorf("three shares of two devices are %q, %v", grant.CDI, err)
	}
	if _, err := b.Allocate(t.Context(), "example.com/part", []string{"2"}); err == nil || !strings.Contains(err.Error(), "device 2 of example.com/part cannot be had") {
		t.Errorf("a device that is not there: %v", err)
	}
	b.write(1, "gpu.yaml", specOf("example.com/gpu", "1=/dev/gpu1</dev/nowhere"))
	b.want("0 1! 0::1 1::1!", "device 1 needs /dev/nowhere, which this machine does not have")
	if err := os.Remove(filepath.Join(b.Dirs[0], "gpu.yaml")); err != nil {
		t.Fatal(err)
	}
	b.want("1! 1::1! 0! 0::1!", "device 0 has gone from the specs")
	for name := range b.gone {
		b.gone[name] = time.Now().Add(-time.Hour)
	}
	b.want("1! 1::1!", "/dev/nowhere")
	b.write(1, "gpu.yaml", specOf("example.com/gpu", "0", "1"))
	b.want("0 1 0::1 1::1", "")
}

func TestARuntimeThatIgnoresCDIGetsNoDevices(t *testing.T) {
	b := newBench(t, "example.com/gpu")
	b.write(0, "gpu.yaml", specOf("example.com/gpu", "0", "1"))
	var fault error
	ignored := false
	b.Ignored = func(context.Context) (bool, error) { return ignored, fault }
	step := func(name, devices, shown, allocates string) {
		t.Helper()
		b.ask(t.Context())
		b.want(devices, shown)
		grant, err := b.Allocate(t.Context(), "example.com/gpu", []string{"0"})
		if allocates == "" && (err != nil || len(grant.CDI) != 1) || allocates != "" && (err == nil || !strings.Contains(err.Error(), allocates)) {
			t.Errorf("%s: got %q and %v, want %q", name, grant.CDI, err, allocates)
		}
	}
	step("a runtime that gives them", "0 1", "", "")
	fault = errors.New("the runtime is away")
	step("it does not answer", "0 1", "", "the runtime is away")
	ignored, fault = true, nil
	if _, err := b.Allocate(t.Context(), "example.com/gpu", []string{"0"}); err == nil || !strings.Contains(err.Error(), "ignores CDI") {
		t.Errorf("another runtime, before the next look: %v", err)
	}
	step("another runtime", "0! 1!", "the container runtime ignores CDI: set enable_cdi", "ignores CDI")
	fault = errors.New("the runtime is away")
	step("that one is away", "0! 1!", "ignores CDI", "the runtime is away")
	ignored, fault = false, nil
	step("the first one is back", "0 1", "", "")
}

func TestSpecsThatAreNone(t *testing.T) {
	b := newBench(t, "example.com/gpu")
	b.write(0, "a.yaml", specOf("example.com/gpu", "a", "b"))
	for _, c := range []struct{ name, text, devices, fault string }{
		{"no YAML", "{", "a b", "is no spec of CDI"},
		{"no kind", "cdiVersion: 0.5.0\n", "a b", "says no cdiVersion or no kind"},
		{"too much", strings.Repeat("# x\n", 2<<20), "a b", "more than 4194304 bytes"},
		{"a device that another file has", specOf("example.com/gpu", "b"), "a b!", "both have device example.com/gpu=b: remove one"},
		{"a sound one", specOf("example.com/gpu", "c"), "a b c", ""},
	} {
		b.write(0, "b.yaml", c.text)
		got, r := b.shown(), b.Board.Resource("example.com/gpu")
		if got != c.devices || !strings.Contains(r.Fault, c.fault) {
			t.Errorf("%s: the board shows %q and %q, want %q and %q", c.name, got, r.Fault, c.devices, c.fault)
		}
	}
}

func TestADeviceUnderSeveralNamesIsOne(t *testing.T) {
	for _, c := range []struct {
		name, want string
		devices    []string
	}{
		{"as nvidia-ctk lists whole GPUs", "0 1", []string{"0=/dev/nvidia0", "1=/dev/nvidia1", "GPU-1d=/dev/nvidia1", "GPU-0d=/dev/nvidia0", "all=/dev/nvidia0+/dev/nvidia1"}},
		{"parts of a GPU", "0:0 0:1", []string{"0:0=/dev/nvidia0+/dev/cap1", "0:1=/dev/nvidia0+/dev/cap2", "all=/dev/nvidia0+/dev/cap1+/dev/cap2"}},
		{"one GPU", "0", []string{"0=/dev/nvidia0", "all=/dev/nvidia0"}},
		{"all under another name", "a b", []string{"a=/dev/a", "b=/dev/b", "both=/dev/a+/dev/b"}},
		{"stand-ins for the same file", "0 1", []string{"0=/dev/gpu0</dev/null", "1=/dev/gpu1</dev/null"}},
		{"no device files", "x y", []string{"x", "y", "all"}},
		{"ten and two", "2 10", []string{"10", "2"}},
	} {
		b := newBench(t, "nvidia.com/gpu")
		b.write(0, "s.yaml", specOf("nvidia.com/gpu", c.devices...))
		if got := strings.ReplaceAll(b.shown(), "!", ""); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
