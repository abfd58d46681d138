package topology

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/assign"
)

// sys returns a made-up /sys: two sockets of two cores with two threads each, with one CPU
// offline.
func sys() fstest.MapFS {
	files := fstest.MapFS{}
	put := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: fs.ModePerm} }
	put("devices/system/cpu/online", "0-6")
	put("devices/system/node/online", "0-1")
	put("devices/system/node/node0/cpulist", "0-1,4-5")
	put("devices/system/node/node1/cpulist", "2-3,6-7")
	for id := range 2 {
		put(fmt.Sprintf("devices/system/node/node%d/meminfo", id), fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        1 kB", id, 1<<20, id))
		put(fmt.Sprintf("devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages", id), fmt.Sprint(id*10))
	}
	for id := range 8 {
		cpu := fmt.Sprintf("devices/system/cpu/cpu%d/", id)
		put(cpu+"topology/thread_siblings_list", fmt.Sprintf("%d,%d", id%4, id%4+4))
		put(cpu+"topology/physical_package_id", fmt.Sprint(id%4/2))
		put(cpu+"cache/index3/shared_cpu_list", []string{"0-1,4-5", "2-3,6-7"}[id%4/2])
	}
	return files
}

func TestRead(t *testing.T) {
	got, err := Read(sys())
	if err != nil {
		t.Fatal(err)
	}
	want := assign.Topology{
		{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2, Socket: 1, Node: 1, Cache: 2}, {ID: 3, Core: 3, Socket: 1, Node: 1, Cache: 2},
		{ID: 4, Core: 0}, {ID: 5, Core: 1}, {ID: 6, Core: 2, Socket: 1, Node: 1, Cache: 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDistances(t *testing.T) {
	files := sys()
	files["devices/system/node/online"] = &fstest.MapFile{Data: []byte("0,2\n")}
	for id, text := range map[int]string{0: "10 21\n", 2: "21 10\n"} {
		files[fmt.Sprintf("devices/system/node/node%d/distance", id)] = &fstest.MapFile{Data: []byte(text)}
	}
	want := assign.Distances{0: {0: 10, 2: 21}, 2: {0: 21, 2: 10}}
	if got, err := Distances(files); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"10", "10 far"} {
		files["devices/system/node/node0/distance"] = &fstest.MapFile{Data: []byte(text)}
		if got, err := Distances(files); err == nil || !strings.Contains(err.Error(), "node0/distance") {
			t.Errorf("%q: got %v, %v; want an error that names the file", text, got, err)
		}
	}
}

func TestReadAMachineWithAFewFilesOnly(t *testing.T) {
	files := sys()
	for name := range files {
		if strings.Contains(name, "/node/") || strings.Contains(name, "/cache/") {
			delete(files, name)
		}
	}
	files["devices/system/cpu/cpu0/topology/physical_package_id"] = &fstest.MapFile{Data: []byte("-1\n")}
	got, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != (assign.CPU{}) || got[6] != (assign.CPU{ID: 6, Core: 2, Socket: 1}) {
		t.Errorf("got %v, want all of them in one NUMA node around one cache", got)
	}
}

func TestReadRefusesMalformedFiles(t *testing.T) {
	for name, text := range map[string]string{
		"devices/system/cpu/online":                             "a-b",
		"devices/system/cpu/cpu3/topology/physical_package_id":  "none",
		"devices/system/node/node1/cpulist":                     "2-",
		"devices/system/cpu/cpu5/topology/thread_siblings_list": "?",
	} {
		files := sys()
		files[name] = &fstest.MapFile{Data: []byte(text)}
		if _, err := Read(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %q: got %v, want an error that names it", name, text, err)
		}
		delete(files, name)
		if _, err := Read(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: got %v, want an error that names it", name, err)
		}
	}
}

func TestMemory(t *testing.T) {
	got, err := Memory(sys())
	if err != nil {
		t.Fatal(err)
	}
	want := assign.Memory{
		0: {corev1.ResourceMemory: 1 << 30, "hugepages-2Mi": 0},
		1: {corev1.ResourceMemory: 1<<30 - 20<<20, "hugepages-2Mi": 20 << 20},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for name, text := range map[string]string{
		"devices/system/node/node1/meminfo":                                 "Node 1 MemFree: 1 kB",
		"devices/system/node/node0/meminfo":                                 "Node 0 MemTotal: much kB",
		"devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages": "some",
	} {
		files := sys()
		files[name] = &fstest.MapFile{Data: []byte(text)}
		if _, err := Memory(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %q: got %v, want an error that names it", name, text, err)
		}
	}
}
