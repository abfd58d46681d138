package assign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// machine makes up NUMA nodes with so many cores of so many threads each, on so many
// sockets. As on most machines, the kernel numbers the cores' first threads first.
func machine(sockets, nodes, cores, threads int) Topology {
	var t Topology
	all := nodes * cores
	for thread := range threads {
		for c := range all {
			n := c / cores
			t = append(t, CPU{ID: thread*all + c, Core: c, Node: n, Socket: n * sockets / nodes, Cache: c / 2})
		}
	}
	return t
}

func set(t *testing.T, list string) cpuset.CPUSet {
	t.Helper()
	cpus, err := cpuset.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return cpus
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// wants is a container that asks for CPUs; "init:2" begins before the application, and
// "sidecar:1" stays beside it.
func podOf(wants ...string) *corev1.Pod {
	pod, always := &corev1.Pod{}, corev1.ContainerRestartPolicyAlways
	for i, want := range wants {
		kind, cpu, ok := strings.Cut(want, ":")
		if !ok {
			kind, cpu = "app", want
		}
		c := corev1.Container{Name: fmt.Sprintf("%s%d", kind, i), Resources: corev1.ResourceRequirements{Limits: amounts(cpu, "1Gi")}}
		switch kind {
		case "sidecar":
			c.RestartPolicy = &always
			fallthrough
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}

func text(shares node.Shares) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		parts = append(parts, name+"="+shares[name].CPUs)
	}
	return strings.Join(parts, " ")
}

func TestPodsGetCPUsThatLieTogether(t *testing.T) {
	small, threaded := machine(1, 1, 2, 1), machine(1, 1, 4, 2)
	two, eight := machine(2, 2, 4, 2), machine(8, 8, 4, 2)
	for _, c := range []struct {
		name     string
		machine  Topology
		reserved string
		held     string
		options  Options
		pod      *corev1.Pod
		want     string
	}{
		{"the one that is not reserved", small, "0", "", Options{}, podOf("1"), "app0=1"},
		{"none for a part of one", small, "0", "", Options{}, podOf("500m"), ""},
		{"none for a pod of another class", small, "0", "", Options{}, podBurstable(), ""},
		{"none for what the pod asks for as a whole", small, "0", "", Options{}, podAsAWhole(), ""},
		{"one beside a part of one", threaded, "0", "", Options{}, podOf("1", "500m"), "app0=4"},
		{"both threads of a core", threaded, "0,4", "", Options{}, podOf("2"), "app0=1,5"},
		{"a core that is begun, for one", threaded, "0,4", "1", Options{}, podOf("1"), "app0=5"},
		{"whole cores first", threaded, "0,4", "1", Options{}, podOf("3"), "app0=2,5-6"},
		{"each container its own", threaded, "0,4", "", Options{}, podOf("2", "2"), "app0=1,5 app1=2,6"},
		{"what was for the start is used again", threaded, "0,4", "", Options{}, podOf("init:2", "init:1", "2"), "app2=1,5 init0=1,5 init1=1"},
		{"and more with it", threaded, "0,4", "", Options{}, podOf("init:2", "4"), "app1=1-2,5-6 init0=1,5"},
		{"a sidecar keeps its own", threaded, "0,4", "", Options{}, podOf("sidecar:2", "2"), "app1=2,6 sidecar0=1,5"},
		{"one may take over from those for the start", threaded, "0,4", "", Options{}, podOf("init:2", "sidecar:2", "2"), "app2=2,6 init0=1,5 sidecar1=1,5"},
		{"one NUMA node, though another has some", two, "0,8", "", Options{}, podOf("8"), "app0=4-7,12-15"},
		{"the one with less room", two, "0,8", "", Options{}, podOf("6"), "app0=1-3,9-11"},
		{"as few NUMA nodes as can be", two, "0,8", "", Options{}, podOf("10"), "app0=1,4-7,9,12-15"},
		{"one of eight", eight, "0", "", Options{}, podOf("8"), "app0=4-7,36-39"},
		{"three of eight", eight, "0", "", Options{}, podOf("24"), "app0=4-15,36-47"},
		{"in equal parts", two, "0,8", "", Options{AcrossNUMA: true}, podOf("10"), "app0=1-6,9-10,12-13"},
		{"of one NUMA node where that does", two, "0,8", "", Options{AcrossNUMA: true}, podOf("6"), "app0=1-3,9-11"},
		{"whole cores in equal parts", two, "0,8", "", Options{AcrossNUMA: true, FullCores: true}, podOf("12"), "app0=1-6,9-14"},
		{"no core of another", threaded, "0", "5", Options{FullCores: true}, podOf("2"), "app0=2,6"},
		{"around one cache", machine(1, 1, 8, 1), "0", "", Options{AlignCaches: true}, podOf("2"), "app0=2-3"},
		{"one of each core", threaded, "0,4", "", Options{AcrossCores: true}, podOf("3"), "app0=1-3"},
		{"and then a second", threaded, "0,4", "", Options{AcrossCores: true}, podOf("4"), "app0=1-3,5"},
		{"first of cores of which none is taken", threaded, "0,4", "1,2", Options{AcrossCores: true}, podOf("2"), "app0=3,5"},
		{"of one NUMA node all the same", two, "0,8", "", Options{AcrossCores: true}, podOf("3"), "app0=1-3"},
		{"all of one, and apart in another", two, "0,8", "", Options{AcrossCores: true}, podOf("10"), "app0=1-2,4-7,12-15"},
		{"around any", machine(1, 1, 8, 1), "0", "", Options{}, podOf("2"), "app0=1-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Rules{Topology: c.machine, Static: true, Reserved: set(t, c.reserved), Options: c.options}
			got, refusal := r.Pod(c.pod, []node.Shares{{"other": {CPUs: c.held}}})
			if refusal != nil || text(got) != c.want {
				t.Errorf("got %q, %v; want %q", text(got), refusal, c.want)
			}
		})
	}
}

func podBurstable() *corev1.Pod {
	pod := podOf("1")
	pod.Spec.Containers[0].Resources.Requests = amounts("1", "1Mi")
	return pod
}

func podAsAWhole() *corev1.Pod {
	pod := podOf("1")
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("1", "1Gi"), Limits: amounts("1", "1Gi")}
	return pod
}

func TestPodsAreRefusedInKubernetesWords(t *testing.T) {
	for _, c := range []struct {
		name, held      string
		options         Options
		pod             *corev1.Pod
		reason, message string
	}{
		{"all are held", "1,5", Options{}, podOf("1"), "UnexpectedAdmissionError",
			"Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected"},
		{"the first container has the last", "5", Options{}, podOf("1", "1"), "UnexpectedAdmissionError",
			"Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected"},
		{"half a core", "", Options{FullCores: true}, podOf("1"), "SMTAlignmentError",
			"SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2"},
		{"no core is whole", "5", Options{FullCores: true}, podOf("2"), "SMTAlignmentError",
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 0, requested CPUs = 2, CPUs per core = 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Rules{Topology: machine(1, 1, 4, 2), Static: true, Reserved: cpuset.New(0, 2, 3, 4, 6, 7), Options: c.options}
			shares, got := r.Pod(c.pod, []node.Shares{{"other": {CPUs: c.held}}})
			if got == nil || shares != nil || got.Reason != c.reason || got.Message != "Pod was rejected: "+c.message {
				t.Errorf("got %v, %v; want %s: %s", shares, got, c.reason, c.message)
			}
		})
	}
}

func TestARefusalSaysWhatWasLacking(t *testing.T) {
	static := Rules{Topology: machine(2, 2, 4, 2), Static: true, Reserved: set(t, "0")}
	full, placed := static, static
	full.Options.FullCores = true
	placed.Align = AlignSingleNode
	for _, c := range []struct {
		name  string
		rules Rules
		pod   string
		want  node.Refusal
	}{
		{"more CPUs than there are", static, "99", node.Refusal{
			Reason: "UnexpectedAdmissionError", Lack: node.LackCPUs,
			Message: "Allocate failed due to not enough cpus available to satisfy request: requested=99, available=15, which is unexpected",
		}},
		{"half a core", full, "1", node.Refusal{
			Reason: "SMTAlignmentError", Lack: node.LackCPUs,
			Message: "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2",
		}},
		{"more whole cores than there are", full, "16", node.Refusal{
			Reason: "SMTAlignmentError", Lack: node.LackCPUs,
			Message: "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 14, requested CPUs = 16, CPUs per core = 2",
		}},
		{"no NUMA node with so many", placed, "12", node.Refusal{
			Reason: "TopologyAffinityError", Lack: node.LackPlace,
			Message: "Resources cannot be allocated with Topology locality",
		}},
		{"more memory than there is", Rules{Topology: machine(1, 1, 2, 1), Memory: Memory{0: {"memory": 1}}}, "500m", node.Refusal{
			Reason: "UnexpectedAdmissionError", Lack: node.LackMemory,
			Message: "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, " +
				"no NUMA nodes with enough memory is available, which is unexpected",
		}},
	} {
		c.want.Message = "Pod was rejected: " + c.want.Message
		if _, got := c.rules.Pod(podOf(c.pod), nil); got == nil || *got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestCPUsAreExclusiveOnlyUnderTheStaticPolicy(t *testing.T) {
	r := &Rules{Topology: machine(1, 1, 4, 2)}
	if shares, refusal := r.Pod(podOf("1"), nil); shares != nil || refusal != nil || r.Resize(podOf("1")) != nil {
		t.Errorf("got %v, %v", shares, refusal)
	}
}

func TestClassesThatArePromisedCPUsAreNotResized(t *testing.T) {
	r := &Rules{Topology: machine(1, 1, 4, 2), Static: true, Reserved: cpuset.New(0)}
	if got := r.Resize(podOf("500m")); got == nil || got.Reason != "Infeasible" {
		t.Errorf("got %v, want Infeasible", got)
	}
	if got := r.Resize(podBurstable()); got != nil {
		t.Errorf("a burstable pod is refused: %v", got)
	}
}

func TestReserveTakesWholeCores(t *testing.T) {
	for count, want := range map[int]string{1: "0", 2: "0,8", 3: "0-1,8", 8: "0-3,8-11"} {
		if got := machine(2, 2, 4, 2).Reserve(count).String(); got != want {
			t.Errorf("%d CPUs: got %s, want %s", count, got, want)
		}
	}
}

func TestRulesHaveToFitTheMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
		want  string // a part of the error, or empty
	}{
		{"nothing is handed out", Rules{}, ""},
		{"one is reserved of a machine of which nothing is known", Rules{Reserved: cpuset.New(0)}, ""},
		{"nothing is handed out, and one that is not there is reserved", Rules{Topology: machine(1, 1, 2, 1), Reserved: cpuset.New(99)}, "99 are not all among"},
		{"one is reserved", Rules{Topology: machine(1, 1, 2, 1), Static: true, Reserved: cpuset.New(1)}, ""},
		{"none is reserved", Rules{Topology: machine(1, 1, 2, 1), Static: true}, "set some CPU aside"},
		{"a machine of which nothing is known", Rules{Static: true, Reserved: cpuset.New(0)}, "does not say"},
		{"one that is not there is reserved", Rules{Topology: machine(1, 1, 2, 1), Static: true, Reserved: cpuset.New(1, 7)}, "1,7 are not all among this machine's CPUs, 0-1"},
		{"no pod may run anywhere", Rules{Topology: machine(1, 1, 2, 1), Static: true, Reserved: cpuset.New(0, 1), Options: Options{KeepReserved: true}}, "none is left"},
	} {
		err := c.rules.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
