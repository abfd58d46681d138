package agent

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/agent/config"
	"nodal/node/assign"
)

func TestConfiguredLabelsWin(t *testing.T) {
	got := labels(config.Node{Name: "n1", Labels: map[string]string{corev1.LabelArchStable: "odd", "disk": "ssd"}})
	want := map[string]string{
		corev1.LabelHostname: "n1", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "odd", "disk": "ssd",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNodeHeedsItsOwnTaintsOutsideOfAClusterOnly(t *testing.T) {
	own := []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
	if got := taints(config.Cluster{Taints: own}); len(got) != 1 {
		t.Errorf("alone: got %v, want its own", got)
	}
	if got := taints(config.Cluster{Taints: own, Kubeconfig: "/etc/kubeconfig"}); len(got) != 0 {
		t.Errorf("in a cluster: got %v, want none", got)
	}
}

// sysOf returns the /sys of a machine with so many CPUs and one NUMA node.
func sysOf(cpus int) map[string]string {
	sys := map[string]string{
		"devices/system/cpu/online":          fmt.Sprintf("0-%d\n", cpus-1),
		"devices/system/node/online":         "0\n",
		"devices/system/node/node0/cpulist":  fmt.Sprintf("0-%d\n", cpus-1),
		"devices/system/node/node0/meminfo":  "Node 0 MemTotal:  1048576 kB\n",
		"devices/system/node/node0/distance": "10\n",
	}
	for id := range cpus {
		dir := fmt.Sprintf("devices/system/cpu/cpu%d/topology/", id)
		sys[dir+"thread_siblings_list"], sys[dir+"physical_package_id"] = fmt.Sprintf("%d\n", id), "0\n"
	}
	return sys
}

func TestRulesOfAssignmentFollowSettingsAndMachine(t *testing.T) {
	half := config.Reserved{
		Kube:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")},
		System: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("800m")},
	}
	quarter := assign.Memory{0: assign.Amounts{corev1.ResourceMemory: 256 << 20}}
	for _, c := range []struct {
		name     string
		settings config.Assign
		reserved config.Reserved
		without  string // file of /sys
		fault    string // the error says this; empty if the rules are sound
		want     string // the reserved CPUs
	}{
		{name: "a part of a CPU takes the whole one", reserved: half, want: "0-1"},
		{name: "chosen CPUs replace the amounts", reserved: config.Reserved{Kube: half.Kube, CPUs: cpuset.New(3)}, want: "3"},
		{name: "a machine without /sys hands out none", without: "devices/system/cpu/online", want: ""},
		{name: "exclusive CPUs need /sys", settings: config.Assign{CPUs: true}, reserved: half,
			without: "devices/system/cpu/online", fault: "cpuManagerPolicy=static: "},
		{name: "exclusive CPUs need a reserved one", settings: config.Assign{CPUs: true}, fault: "kubeReserved"},
		{name: "memory of NUMA nodes needs them", settings: config.Assign{Memory: true},
			without: "devices/system/node/online", fault: "memoryManagerPolicy=Static: "},
		{name: "memory has to add up", settings: config.Assign{Memory: true}, fault: "reservedMemory"},
		{name: "memory that adds up", settings: config.Assign{Memory: true, Kept: quarter}},
		{name: "distances need a node that has them", settings: config.Assign{Closest: true},
			without: "devices/system/node/node0/distance", fault: "prefer-closest-numa-nodes"},
		{name: "CPUs that the machine does not have", reserved: config.Reserved{CPUs: cpuset.New(9)}, fault: "reservedSystemCPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sys := sysOf(4)
			delete(sys, c.without)
			rules, err := assignRules(textFiles(sys), c.settings, c.reserved, 256<<20)
			switch {
			case c.fault != "":
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v, want an error about %s", err, c.fault)
				}
			case err != nil:
				t.Errorf("refused: %v", err)
			case rules.Reserved.String() != c.want:
				t.Errorf("reserved are %q, want %q", rules.Reserved, c.want)
			}
		})
	}
}

func TestOwnPortsAreThoseThatAreOpened(t *testing.T) {
	got := fmt.Sprint(ownPorts(config.Listen{
		Address: "0.0.0.0", Port: 10250, ReadOnlyAddress: "127.0.0.1", HealthzAddress: "127.0.0.1", HealthzPort: 10248,
	}))
	if want := "[{0.0.0.0 10250 its API} {127.0.0.1 10248 its health}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := ownPorts(config.Listen{}); len(got) > 0 {
		t.Errorf("got %v of an agent that serves nothing", got)
	}
}
