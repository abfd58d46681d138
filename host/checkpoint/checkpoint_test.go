package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

const gadget = corev1.ResourceName("nodal.test/gadget")

// upstreams holds what the files in testdata say. The code of upstream's kubelet 1.36.3 has written them.
var upstreams = node.Held{
	Shares: node.Shares{"main": {CPUs: "1-2", Mems: "0", Memory: []node.Piece{{Node: 0, Resource: "memory", Amount: 1 << 30}}, Devices: map[corev1.ResourceName][]string{gadget: {"g1", "g2"}}}},
	Grants: node.Grants{"main": {
		Env:    map[string]string{"GADGET": "g1"},
		Mounts: []node.GrantedMount{{Host: "/run", Container: "/gadget", ReadOnly: true}},
		Nodes:  []node.GrantedNode{{Host: "/dev/null", Container: "/dev/g1", Permissions: "rw"}},
	}},
}

func gadgets() []node.DeviceResource {
	return []node.DeviceResource{
		{Name: gadget, Devices: []node.Device{{ID: "g1", Healthy: true}, {ID: "g2", Healthy: true, Nodes: []int{0}}, {ID: "g3", Healthy: true}, {ID: "g4"}}},
		{Name: "nodal.test/own", CDI: node.CDIOffer{Kind: "nodal.test/own"}, Devices: []node.Device{{ID: "o1", Healthy: true}}},
	}
}

func holder(held node.Held) *node.Pod {
	return &node.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-a"}}, Shares: held.Shares, Grants: held.Grants}
}

func TestUpstreamsFilesAreRead(t *testing.T) {
	got, err := Read("testdata")
	if want := map[types.UID]node.Held{"uid-a": upstreams, "uid-b": started.read, "uid-c": {Shares: spread.Shares, Grants: node.Grants{}}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestNothingIsReadWhereThereIsNothing(t *testing.T) {
	if got, err := Read(t.TempDir()); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestOneDamagedFileLeavesTheOther(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/cpu_manager_state")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cpu_manager_state"), text, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "device-plugins"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, deviceFile), []byte(`{"Data":`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err == nil || !strings.Contains(err.Error(), deviceFile) || got["uid-a"].Shares["main"].CPUs != "1-2" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Upstream's kubelet refuses to start with another checksum.
func TestTheFilesAreUpstreamsToTheByte(t *testing.T) {
	dir := t.TempDir()
	w := Writer{Root: dir, CPUs: cpuset.New(0, 1, 2, 3), Memory: fourNodes(), Kept: kept}
	if err := w.Write([]*node.Pod{holder(upstreams), started.pod, spread}, gadgets()); err != nil {
		t.Fatal(err)
	}
	for _, name := range Files() {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestFilesSayNoMoreThanPodsHave(t *testing.T) {
	dir := t.TempDir()
	w := Writer{Root: dir}
	write := func(held node.Held, resources []node.DeviceResource) (cpus, devices string) {
		t.Helper()
		if err := w.Write([]*node.Pod{holder(held)}, resources); err != nil {
			t.Fatal(err)
		}
		text := func(name string) string { data, _ := os.ReadFile(filepath.Join(dir, name)); return string(data) }
		return text(cpuFile), text(deviceFile)
	}
	if cpus, devices := write(node.Held{}, nil); cpus != "" || devices != "" {
		t.Errorf("of a node without CPUs and devices to hand out the files are %q and %q", cpus, devices)
	}
	if cpus, devices := write(node.Held{Shares: upstreams.Shares}, gadgets()); cpus != "" || strings.Contains(devices, "uid-a") {
		t.Errorf("before a plugin has answered the files are %q and %q: upstream would not ask it", cpus, devices)
	}
	if _, devices := write(upstreams, gadgets()); !strings.Contains(devices, "uid-a") || strings.Contains(devices, "nodal.test/own") {
		t.Errorf("the file of devices is %q", devices)
	}
	if _, devices := write(node.Held{}, nil); devices == "" || strings.Contains(devices, "uid-a") {
		t.Errorf("after the pod's end the file of devices is %q", devices)
	}
}

func TestAPolicyThatComesBackHasItsFileAgain(t *testing.T) {
	dir := t.TempDir()
	w := Writer{Root: dir}
	cpus, memory := cpuset.New(0, 1, 2, 3), fourNodes()
	for i, on := range []bool{true, false, true} {
		w.CPUs, w.Memory, w.Kept = cpuset.New(), nil, nil
		if on {
			w.CPUs, w.Memory, w.Kept = cpus, memory, kept
		}
		if err := w.Write(nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{cpuFile, memoryFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != on {
				t.Errorf("step %d, with the policy on: %t, %s: %v", i+1, on, name, err)
			}
		}
	}
}
