package capability

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/manifest"
)

func plainPod() *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name = "web"
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:1"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
	return pod
}

func TestCheckReportsWhatIsNotHonoured(t *testing.T) {
	yes, no, zero, always := true, false, int32(0), corev1.ContainerRestartPolicyAlways
	quantity := resource.MustParse("1")
	cases := []struct {
		name     string
		change   func(*corev1.Pod)
		refused  []string // fields
		warnings []string // beginnings
	}{
		{"a plain pod gives no reason to speak", func(*corev1.Pod) {}, nil, nil},
		{"a volume is named with its kind", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.org"}}},
				{Name: "b"},
				{Name: "c", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}},
				{Name: "d", VolumeSource: corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}},
			}
		}, []string{"spec.volumes[3].azureDisk"}, nil},
		{"only the sources that take a server are refused", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				},
			}}}}
		}, []string{"spec.volumes[0].projected.sources[1].serviceAccountToken"}, nil},
		{"an empty list or object asks for nothing", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{}
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{}
			p.Spec.Volumes = []corev1.Volume{}
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{}
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{}
		}, nil, nil},
		{"as many containers as there may be", func(p *corev1.Pod) {
			p.Spec.Containers = slices.Repeat(p.Spec.Containers, MostContainers-1)
		}, nil, nil},
		{"one container more", func(p *corev1.Pod) {
			p.Spec.Containers = slices.Repeat(p.Spec.Containers, MostContainers)
		}, []string{"spec.containers"}, nil},
		{"a sidecar gives no reason to speak", func(p *corev1.Pod) {
			p.Spec.InitContainers[0].RestartPolicy = &always
		}, nil, nil},
		{"the environment may come from anywhere", func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{
				{Name: "A", Value: "1"},
				{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k", Optional: &yes}}},
				{Name: "D", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Key: "k"}}},
			}
		}, nil, nil},
		{"a resource of Kubernetes' own is refused by its name, and others are not", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
				"cpu": quantity, "memory": quantity, "nvidia.com/gpu": quantity, "ephemeral-storage": quantity, "kubernetes.io/gpu": quantity,
			}
		}, []string{
			"spec.containers[0].resources.limits[kubernetes.io/gpu]",
			"spec.containers[0].resources.requests[kubernetes.io/gpu]",
		}, nil},
		{"the pod as a whole may ask for CPU and memory", func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{"memory": quantity}
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": quantity, "memory": quantity, "hugepages-2Mi": quantity}}
		}, []string{"spec.resources.limits[hugepages-2Mi]", "spec.resources.requests[hugepages-2Mi]"}, nil},
		{"probes are asked", func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 1}
		}, nil, nil},
		{"hooks are run, but for those that Kubernetes has given up", func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
				PostStart: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}},
				PreStop:   &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{}},
			}
		}, nil, []string{"spec.containers[0].lifecycle.preStop.tcpSocket has no effect"}},
		{"what an API server fills in is no reason to speak", func(p *corev1.Pod) {
			p.Spec.HostUsers, p.Spec.SetHostnameAsFQDN = &yes, &no
			p.Spec.Priority = &zero
			p.Spec.ServiceAccountName = "default"
			p.Spec.OS = &corev1.PodOS{Name: corev1.Linux}
			p.Spec.NodeName = "n1"
			p.ResourceVersion = "7"
		}, nil, nil},
		{"a priority ranks no pod, but for what the node itself cannot do without", func(p *corev1.Pod) {
			p.Spec.Priority, p.Spec.PriorityClassName = new(int32(7)), "system-node-critical"
		}, nil, []string{"spec.priority has no effect on this node: the only effect is that of a critical pod (2000000000 and above): it preempts others, is admitted under pressure, uses no swap, and ends last when the machine shuts down"}},
		{"scheduling is taken without effect", func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
			p.Spec.ServiceAccountName = "robot"
		}, nil, []string{
			"spec.schedulingGates has no effect",
			"spec.serviceAccountName has no effect",
		}},
		{"nobody counts the seconds for which a taint is tolerated", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{
				{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				{Key: "b", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(9))},
			}
		}, nil, []string{"spec.tolerations[1].tolerationSeconds has no effect"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pod := plainPod()
			c.change(pod)
			manifest.Default(pod)
			warnings, violations := Check(pod)
			var fields []string
			for _, v := range violations {
				fields = append(fields, v.Field)
				if !strings.HasPrefix(v.Rule, "not supported by this node: ") {
					t.Errorf("rule of %s = %q", v.Field, v.Rule)
				}
			}
			slices.Sort(fields)
			if !slices.Equal(fields, c.refused) {
				t.Errorf("refused = %q, want %q", fields, c.refused)
			}
			slices.Sort(warnings)
			if !slices.EqualFunc(warnings, c.warnings, strings.HasPrefix) {
				t.Errorf("warnings = %q, want %q", warnings, c.warnings)
			}
		})
	}
}

func TestTableOfStaticPodIsSilent(t *testing.T) {
	pod := plainPod()
	manifest.Default(pod)
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	pod.Spec.NodeName = "n1"
	if warnings, refused := Check(pod); len(warnings)+len(refused) > 0 {
		t.Errorf("a static pod gives %q, %q", warnings, refused)
	}
}

// Where the table speaks of one field of a struct, it speaks of all: a field that
// a new version of Kubernetes brings fails here until the table has an answer for it.
func TestTableForgetsNoField(t *testing.T) {
	answered := map[string]bool{}
	inside := map[string]bool{} // fields below which the table has an entry
	for _, e := range Table() {
		if answered[e.Field] {
			t.Errorf("the table has %s twice", e.Field)
		}
		answered[e.Field] = true
		for i := range e.Field {
			if e.Field[i] == '.' {
				inside[e.Field[:i]] = true
			}
		}
	}
	found := map[string]bool{}
	var walk func(path string, goType reflect.Type)
	walk = func(path string, goType reflect.Type) {
		goType = bare(goType)
		if path != "" {
			found[path] = true
			if !inside[path] {
				if !answered[path] {
					t.Errorf("the table has no answer for %s", path)
				}
				return
			}
		}
		if goType.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(goType) {
			if name := jsonName(f); name != "" && inlined(goType, f) {
				walk(strings.TrimPrefix(path+"."+name, "."), f.Type)
			}
		}
	}
	walk("", reflect.TypeFor[corev1.Pod]())
	for _, e := range Table() {
		if !found[e.Field] && !strings.Contains(e.Field, ".limits.") && !strings.Contains(e.Field, ".requests.") {
			t.Errorf("the table answers for %s, which no pod has", e.Field)
		}
	}
}

func TestTableIsSortedAndExplainsItself(t *testing.T) {
	table := Table()
	if !slices.IsSortedFunc(table, func(a, b Entry) int { return strings.Compare(a.Field, b.Field) }) {
		t.Error("the table is not sorted by field")
	}
	for _, e := range table {
		if e.Support != Honoured && e.Note == "" {
			t.Errorf("%s is %s without a reason", e.Field, e.Support)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	pod := plainPod()
	manifest.Default(pod)
	for b.Loop() {
		Check(pod)
	}
}
