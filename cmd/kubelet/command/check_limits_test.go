package command

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nodal/agent/config"
	"nodal/node/admit"
	"nodal/node/health"
)

func TestCheckNamesWhatIsKeptFromPodsWithoutBeingThere(t *testing.T) {
	has := admit.Machine{CPUs: 2, Memory: 8 << 30, PIDs: 1000}
	capacities := health.Reading{Signals: []health.Signal{
		{Name: health.MemoryAvailable, Capacity: 8 << 30}, {Name: health.PIDAvailable, Capacity: 1000},
		{Name: health.NodeFsAvailable, Capacity: 100 << 30}, {Name: health.NodeFsInodesFree, Capacity: 5000},
	}}
	for _, c := range []struct {
		name, fields string
		want         []string
		required     bool
	}{
		{"the defaults", "", nil, false},
		{"enough is there", "evictionHard: {memory.available: 7Gi, pid.available: 10%}\n", nil, false},
		{"a hard threshold of memory above the machine", "evictionHard: {memory.available: 1Ti}\n", []string{
			"reservations: evictionHard[memory]: 1Ti of memory exceeds the 8Gi of this machine",
		}, true},
		{"together with what is reserved", "evictionHard: {memory.available: 5Gi}\nkubeReserved: {memory: 4Gi}\n", []string{
			"reservations: kubeReserved[memory] + evictionHard[memory]: 9Gi of memory exceeds the 8Gi of this machine",
		}, true},
		{"CPUs", "systemReserved: {cpu: \"3\"}\n", []string{"reservations: systemReserved[cpu]: 3 of cpu exceeds the 2 of this machine"}, true},
		{"a soft one", "evictionSoft: {memory.available: 1Ti}\nevictionSoftGracePeriod: {memory.available: 1m}\n", []string{
			"evictionSoft[memory.available]: has no effect: 1Ti would have to be left, and the node has 8Gi",
		}, false},
		{"processes and inodes", "evictionHard: {pid.available: 5k, nodefs.inodesFree: 1M}\n", []string{
			"evictionHard[nodefs.inodesFree]: has no effect: 1M would have to be left, and the node has 5k",
			"evictionHard[pid.available]: has no effect: 5k would have to be left, and the node has 1k",
		}, false},
		{"a minimum reclaim", "evictionMinimumReclaim: {nodefs.available: 99Gi}\n", []string{
			"evictionMinimumReclaim[nodefs.available]: has no effect: 109Gi would have to be left, and the node has 100Gi",
		}, false},
	} {
		file := filepath.Join(t.TempDir(), "kubelet.yaml")
		text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + c.fields
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load([]string{"--config", file})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		required := false
		for _, f := range limits(cfg.Reserved, has, capacities) {
			got, required = append(got, f.Name+": "+f.Problem), required || f.Required
		}
		if !slices.Equal(got, c.want) || required != c.required {
			t.Errorf("%s: got %q, and that it hinders a start: %v; want %q, %v", c.name, got, required, c.want, c.required)
		}
	}
}
