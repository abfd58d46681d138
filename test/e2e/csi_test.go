package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/process"
)

const diskDriver = "disk.nodal.test"

// disks is the CSI driver, a process of its own.
type disks struct {
	process.Process
	n     *node
	state string
}

// mountDisks starts the driver, with more arguments.
func (n *node) mountDisks(args ...string) *disks {
	n.t.Helper()
	path, err := agent.CSIDriver(n.rt.Dir) // which goes with the test
	if err != nil {
		n.t.Fatal(err)
	}
	state := filepath.Join(n.rt.Dir, "disks")
	if err := os.MkdirAll(state, 0o755); err != nil {
		n.t.Fatal(err)
	}
	d := &disks{n: n, state: state, Process: process.Process{
		Path: path, Log: filepath.Join(state, "log"), Args: append([]string{
			"--registry", filepath.Join(n.Root(), "plugins_registry"), "--state", state, "--socket", filepath.Join(state, "csi.sock"),
		}, args...),
	}}
	n.t.Cleanup(d.Kill)
	d.begin()
	return d
}

func (d *disks) begin() {
	d.n.t.Helper()
	if err := d.Start(); err != nil {
		d.n.t.Fatal(err)
	}
}

// tell writes a file of the driver's directory of state.
func (d *disks) tell(file string, lines ...string) {
	d.n.t.Helper()
	if err := os.WriteFile(filepath.Join(d.state, file), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		d.n.t.Fatal(err)
	}
}

// heard returns the lines of what the driver was asked that begin with some words.
func (d *disks) heard(words string) (lines []string) {
	d.n.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.state, "calls"))
	if err != nil && !os.IsNotExist(err) {
		d.n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, words) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// shownDriver is a CSI driver as the API shows it.
type shownDriver struct {
	Version, NodeID, MaxVolumes string
	Topology                    map[string]string
	Capabilities                []string
}

// waitDriver waits until the API shows the driver as one that is registered, and returns what it can do.
func (d *disks) waitDriver() (shown shownDriver) {
	d.n.t.Helper()
	var answer struct {
		Plugins []struct {
			Name, Message         string
			Connected, Registered bool
			CSI                   shownDriver
		}
	}
	d.n.eventually("the driver to be registered", func() bool {
		answer.Plugins = nil
		d.n.curl("/v1/node/plugins").into(d.n, &answer)
		if len(answer.Plugins) != 1 {
			return false
		}
		p := answer.Plugins[0]
		shown = p.CSI
		return p.Name == diskDriver && p.Connected && p.Registered && p.Message == ""
	})
	return shown
}

func TestCSIDriversAreKnown(t *testing.T) {
	claim.Shows(t, "CSI",
		"a CSI driver that registers is asked for its name, what it can do and how it knows the node, and the API shows it",
		"a driver whose own socket does not answer is not registered, says the API, and is asked again",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,SINGLE_NODE_MULTI_WRITER")
	want := shownDriver{
		Version: "0.1", NodeID: "this-node", MaxVolumes: "7", Topology: map[string]string{"nodal.test/rack": "r1"},
		Capabilities: []string{"SINGLE_NODE_MULTI_WRITER", "STAGE_UNSTAGE_VOLUME"},
	}
	if got := d.waitDriver(); !reflect.DeepEqual(got, want) {
		t.Errorf("the node shows %+v, want %+v", got, want)
	}
	if got := d.heard("Registered"); len(got) != 1 || got[0] != "Registered true" {
		t.Errorf("the driver has heard %q, want that it is registered", got)
	}
	d.Kill()
	d.tell("fail", "NodeGetInfo")
	d.begin()
	n.waitPlugin("refused", func(p shownPlugin) bool {
		return !p.Registered && strings.Contains(p.Message, "NodeGetInfo: rpc error: code = Internal desc = NodeGetInfo fails as it shall")
	})
	d.tell("fail")
	d.waitDriver()
}
