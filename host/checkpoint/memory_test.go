package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
)

const huge = corev1.ResourceName("hugepages-2Mi")

// kept holds the memory that pods do not get of the machine on which upstream has written its file.
var kept = assign.Memory{0: {corev1.ResourceMemory: 512 << 20}}

// fourNodes returns what pods get: of each of four NUMA nodes 4 GiB, and 128 MiB of that in huge pages.
func fourNodes() assign.Memory {
	memory := assign.Memory{}
	for id := range 4 {
		memory[id] = assign.Amounts{corev1.ResourceMemory: 4<<30 - 128<<20 - kept[id][corev1.ResourceMemory], huge: 128 << 20}
	}
	return memory
}

func piece(id int, name corev1.ResourceName, amount int64) node.Piece {
	return node.Piece{Node: id, Resource: name, Amount: amount}
}

func asks(name, memory string, more ...string) corev1.Container {
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse(memory)}
	for _, amount := range more {
		limits[huge] = resource.MustParse(amount)
	}
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: limits, Requests: limits}}
}

// started is a pod with init containers: as the node has it, and as upstream's file says it.
var started = struct {
	pod  *node.Pod
	read node.Held
}{
	pod: &node.Pod{
		Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-b"}, Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{asks("first", "1Gi"), asks("second", "2Gi")},
			Containers:     []corev1.Container{asks("app", "1Gi", "4Mi")},
		}},
		Shares: node.Shares{
			"first":  {Mems: "0", Memory: []node.Piece{piece(0, "memory", 1<<30)}, Start: true},
			"second": {Mems: "0", Memory: []node.Piece{piece(0, "memory", 1<<30)}, Start: true},
			"app":    {Mems: "0", Memory: []node.Piece{piece(0, huge, 4<<20)}},
		},
	},
	read: node.Held{Grants: node.Grants{}, Shares: node.Shares{
		"first":  {Mems: "0", Memory: []node.Piece{piece(0, "memory", 0)}},
		"second": {Mems: "0", Memory: []node.Piece{piece(0, "memory", 1<<30)}},
		"app":    {Mems: "0", Memory: []node.Piece{piece(0, huge, 4<<20), piece(0, "memory", 1<<30)}},
	}},
}

// spread is a pod with more memory than one NUMA node has.
var spread = &node.Pod{
	Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-c"}},
	Shares: node.Shares{"main": {Mems: "1-2", Memory: []node.Piece{piece(1, "memory", 4<<30-128<<20), piece(2, "memory", 2<<30+128<<20)}}},
}

// A NUMA node may be offline.
func TestTheFileOfMemoryNamesOnlyWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	w := Writer{Root: dir, Memory: assign.Memory{0: {corev1.ResourceMemory: 1 << 30}}}
	if err := w.Write([]*node.Pod{spread}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, memoryFile))
	if err != nil || strings.Contains(string(text), "uid-c") || !strings.Contains(string(text), `"free":1073741824`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// An init container may have memory of other NUMA nodes than the application, and upstream does not know such groups.
func TestTheFileOfMemoryHasNoGroupsThatOverlap(t *testing.T) {
	pod := &node.Pod{
		Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-d"}, Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{asks("first", "1Gi"), asks("second", "1Gi")}, Containers: []corev1.Container{asks("app", "6Gi")},
		}},
		Shares: node.Shares{"first": {Mems: "0", Start: true}, "second": {Mems: "3", Start: true}, "app": {Mems: "0-1"}},
	}
	w := Writer{Memory: fourNodes(), Kept: kept}
	c := w.memory([]*node.Pod{pod})
	if has := c.Entries["uid-d"]; len(has) != 2 || has["app"] == nil || has["second"] == nil {
		t.Errorf("got %v", has)
	}
	if cells := c.MachineState[0].Cells; len(cells) != 2 {
		t.Errorf("NUMA node 0 is handed out with %v", cells)
	}
}

// Upstream's kubelet refuses to start with a file of another policy than its own.
func TestNoFileOfAnotherPolicyIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		stays      bool
	}{
		"of CPUs":                     {cpuFile, `{"policyName":"static","defaultCpuSet":"0-3","checksum":1}`, false},
		"of memory":                   {memoryFile, `{"policyName":"Static","machineState":{},"checksum":1}`, false},
		"damaged":                     {memoryFile, `{"policyName":"No`, false},
		"of CPUs, of the same policy": {cpuFile, `{"policyName":"none","defaultCpuSet":"","checksum":1}`, true},
		"of memory, of the same one":  {memoryFile, `{"policyName":"None","machineState":{},"checksum":1}`, true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		none, some := Writer{Root: dir}, Writer{Root: dir, CPUs: cpuset.New(0), Memory: fourNodes()}
		if err := none.Write(nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != c.stays {
			t.Errorf("%s: the file is there: %t, want %t", name, err == nil, c.stays)
		}
		if err := some.Write(nil, nil); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(strings.ToLower(string(text)), `"policyname":"static"`) {
			t.Errorf("%s: with the static policy the file says %s, %v", name, text, err)
		}
	}
}
