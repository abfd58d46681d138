package admit

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/manifest"
)

func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = "default", name
	p.Spec.Containers = []corev1.Container{{Name: "app"}}
	for _, change := range changes {
		change(p)
	}
	return p
}

func asks(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

func port(ip string, port int32, protocol corev1.Protocol) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Ports = append(c.Ports, corev1.ContainerPort{HostIP: ip, HostPort: port, ContainerPort: 1, Protocol: protocol})
	}
}

func onDisk(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": kind} }
}

func placed(p *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, node.AnnotationPlaced, "true")
}

// zone requires the node's zone to be, or not to be, one.
func zone(operator corev1.NodeSelectorOperator, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: operator, Values: []string{name}}},
			}}},
		}}
	}
}

// initPort gives the port of the pod's container to a new init container.
func initPort(policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Ports: p.Spec.Containers[0].Ports, RestartPolicy: policy}}
		p.Spec.Containers[0].Ports = nil
	}
}

func tolerates(t corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{t} }
}

func TestTaints(t *testing.T) {
	n := Node{Taints: []corev1.Taint{
		{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}, {Key: "closed", Effect: corev1.TaintEffectNoSchedule},
		{Key: "level", Value: "7", Effect: corev1.TaintEffectNoExecute},
	}}
	static := pod("a")
	manifest.Static(manifest.Doc{Pod: static}, manifest.Place{Node: "n1", Source: manifest.FromFile, Origin: "/a.yaml"}, time.Time{})
	const evicts = corev1.TaintEffectNoExecute
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		taken bool
	}{
		{"nothing is tolerated", pod("a"), false},
		{"the value is", pod("a", tolerates(corev1.Toleration{Key: "level", Value: "7"})), true},
		{"another value is", pod("a", tolerates(corev1.Toleration{Key: "level", Value: "8", Effect: evicts})), false},
		{"any value is", pod("a", tolerates(corev1.Toleration{Key: "level", Operator: corev1.TolerationOpExists})), true},
		{"any value is, for a while", pod("a", tolerates(corev1.Toleration{Key: "level", Operator: corev1.TolerationOpExists, Effect: evicts, TolerationSeconds: new(int64(1))})), true},
		{"greater values than another are", pod("a", tolerates(corev1.Toleration{Key: "level", Operator: corev1.TolerationOpGt, Value: "6"})), true},
		{"greater values than that are", pod("a", tolerates(corev1.Toleration{Key: "level", Operator: corev1.TolerationOpGt, Value: "7"})), false},
		{"greater values than what is no number are", pod("a", tolerates(corev1.Toleration{Key: "level", Operator: corev1.TolerationOpGt, Value: "few"})), false},
		{"not to be scheduled is", pod("a", tolerates(corev1.Toleration{Key: "level", Value: "7", Effect: corev1.TaintEffectNoSchedule})), false},
		{"everything is", pod("a", tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists})), true},
		{"the pod is static", static, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.Check(c.pod, nil)
			switch {
			case c.taken && got != nil:
				t.Errorf("got %v, want it taken", *got)
			case !c.taken && (got == nil || got.Reason != "TaintToleration" ||
				got.Message != "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"):
				t.Errorf("got %v, want Kubernetes' words", got)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	always := corev1.ContainerRestartPolicyAlways
	n := Node{
		Name: "n1", Labels: map[string]string{"disk": "ssd", "zone": "a"},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse("3"),
			"hugepages-2Mi": resource.MustParse("8Mi"), "example.com/gpu": resource.MustParse("2"),
		},
	}
	others := func(pods ...*corev1.Pod) []*corev1.Pod { return pods }
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		others  []*corev1.Pod
		reason  string // empty: taken
		message string // a part of it
	}{
		{"a pod that asks for nothing is taken", pod("a"), nil, "", ""},
		{"what just fits is taken", pod("a", asks("cpu", "500m")), others(pod("b", asks("cpu", "1500m"))), "", ""},
		{"a processor is not given twice", pod("a", asks("cpu", "501m")), others(pod("b", asks("cpu", "1500m"))),
			"OutOfcpu", "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"},
		{"memory is not given twice", pod("a", asks("memory", "600Mi")), others(pod("b", asks("memory", "600Mi"))), "OutOfmemory", "used: 629145600"},
		{"nor is the disk", pod("a", asks("ephemeral-storage", "11Gi")), nil, "OutOfephemeral-storage", "used: 0"},
		{"a pod that asks for nothing fits a full node", pod("a"), others(pod("b", asks("cpu", "2"))), "", ""},
		{"more pods than the node may have are not taken", pod("a"), others(pod("b"), pod("c"), pod("d")),
			"OutOfpods", "requested: 1, used: 3, capacity: 3"},
		{"huge pages are not given twice", pod("a", asks("hugepages-2Mi", "4Mi")), others(pod("b", asks("hugepages-2Mi", "6Mi"))),
			"OutOfhugepages-2Mi", "requested: 4194304, used: 6291456, capacity: 8388608"},
		{"huge pages of a size that the machine does not have are none", pod("a", asks("hugepages-1Gi", "1Gi")), nil, "OutOfhugepages-1Gi", "capacity: 0"},
		{"more processors than can be counted are not taken", pod("a", asks("cpu", "9E")), nil, "OutOfcpu", "capacity: 2000"},
		{"nor more memory", pod("a", asks("memory", "8Ei"), func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		}), others(pod("b", asks("memory", "600Mi"))), "OutOfmemory", "used: 629145600"},
		{"a device is not given twice", pod("a", asks("example.com/gpu", "1")), others(pod("b", asks("example.com/gpu", "2"))),
			"OutOfexample.com/gpu", "requested: 1, used: 2, capacity: 2"},
		{"a device that is free is taken", pod("a", asks("example.com/gpu", "1")), others(pod("b", asks("example.com/gpu", "1"))), "", ""},
		{"what the node does not count is not refused", pod("a", asks("example.com/thing", "5")), nil, "", ""},

		{"a pod for another system", pod("a", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }), nil,
			"PodOSNotSupported", "the OS field doesn't match node OS"},
		{"one for this system", pod("a", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Linux} }), nil, "", ""},
		{"one that is labelled as another system's", pod("a", func(p *corev1.Pod) { p.Labels = map[string]string{corev1.LabelOSStable: "windows"} }), nil,
			"PodOSSelectorNodeLabelDoesNotMatch", "doesn't match node label"},

		{"the selector matches", pod("a", onDisk("ssd")), nil, "", ""},
		{"the selector does not match", pod("a", onDisk("hdd")), nil, "NodeAffinity", "Predicate NodeAffinity failed"},
		{"the affinity matches", pod("a", zone(corev1.NodeSelectorOpIn, "a")), nil, "", ""},
		{"the affinity does not match", pod("a", zone(corev1.NodeSelectorOpNotIn, "a")), nil, "NodeAffinity", "node affinity/selector"},
		{"an affinity that cannot be read matches nothing", pod("a", zone("Near", "a")), nil, "NodeAffinity", ""},
		{"whoever brought it knows of other labels", pod("a", onDisk("hdd"), placed), nil, "", ""},

		{"a port of the host is given once", pod("a", port("", 80, tcp)), others(pod("b", port("", 80, tcp))), "NodePorts", "pod default/b has host port 80/TCP"},
		{"a port on all addresses is one on each", pod("a", port("0.0.0.0", 80, tcp)), others(pod("b", port("10.0.0.1", 80, tcp))), "NodePorts", "10.0.0.1:80/TCP"},
		{"another address is another port", pod("a", port("10.0.0.2", 80, tcp)), others(pod("b", port("10.0.0.1", 80, tcp))), "", ""},
		{"another protocol is another port", pod("a", port("", 80, udp)), others(pod("b", port("", 80, tcp))), "", ""},
		{"an init container gives its port back", pod("a", port("", 80, tcp), initPort(nil)), others(pod("b", port("", 80, tcp))), "", ""},
		{"a sidecar keeps its port", pod("a", port("", 80, tcp), initPort(&always)), others(pod("b", port("", 80, tcp))), "NodePorts", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.Check(c.pod, c.others)
			switch {
			case c.reason == "" && got != nil:
				t.Errorf("got %v, want it taken", *got)
			case c.reason != "" && (got == nil || got.Reason != c.reason || !strings.HasPrefix(got.Message, "Pod was rejected: ") || !strings.Contains(got.Message, c.message)):
				t.Errorf("got %v, want %s with %q", got, c.reason, c.message)
			}
		})
	}
}
