package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"nodal/node"
)

func pod(namespace string, change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func hardened(s *corev1.PodSpec) {
	s.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	s.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func privilegedContainer(s *corev1.PodSpec) {
	s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
}

func TestCheck(t *testing.T) {
	operators := Policy{Posters: map[Poster]Level{Operator: Baseline}}
	everyone := Policy{NoPrivileged: true, HostNetwork: From{File}, HostPID: From{}, HostIPC: From{Admin, File}}
	spaces := Policy{Posters: map[Poster]Level{Operator: Baseline}, Namespaces: map[string]Level{"prod": Restricted, "lab": Baseline}}
	hostAll := func(s *corev1.PodSpec) { s.HostNetwork, s.HostPID, s.HostIPC = true, true, true }
	for _, c := range []struct {
		name   string
		policy Policy
		pod    *corev1.Pod
		by     Poster
		fields []string
	}{
		{"the zero policy allows everything", Policy{}, pod("default", hostAll), Operator, nil},
		{"an ordinary pod keeps to the baseline", operators, pod("default", nil), Operator, nil},
		{"an operator's privileged container is refused", operators, pod("default", privilegedContainer), Operator,
			[]string{"spec.containers[*].securityContext.privileged"}},
		{"an admin's is not", operators, pod("default", privilegedContainer), Admin, nil},
		{"every rule that is broken is named", operators, pod("default", func(s *corev1.PodSpec) {
			hostAll(s)
			s.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}), Operator, []string{"spec", "spec.containers[*].ports[*].hostPort", "spec.volumes[*].hostPath"}},
		{"a namespace may be stricter than its poster", spaces, pod("prod", nil), Admin, []string{
			"spec.containers[*].securityContext.allowPrivilegeEscalation", "spec.containers[*].securityContext.capabilities",
			"spec.securityContext.runAsNonRoot", "spec.securityContext.seccompProfile"}},
		{"a hardened pod is fine there", spaces, pod("prod", hardened), Admin, nil},
		{"a poster may be stricter than its namespace", Policy{Posters: map[Poster]Level{Operator: Restricted},
			Namespaces: map[string]Level{"lab": Privileged}}, pod("lab", func(s *corev1.PodSpec) { hardened(s); s.HostPID = true }), Operator, []string{"spec"}},
		{"no privileged containers from a file either", everyone, pod("default", privilegedContainer), File,
			[]string{"spec.containers[web].securityContext.privileged"}},
		{"the machine's namespaces by where a pod comes from", everyone, pod("default", hostAll), Admin,
			[]string{"spec.hostNetwork", "spec.hostPID"}},
		{"no poster may have what nothing may", everyone, pod("default", hostAll), File, []string{"spec.hostPID"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range c.policy.Check(c.pod, c.by) {
				got = append(got, v.Field)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.fields) {
				t.Errorf("broken: %q, want %q", got, c.fields)
			}
		})
	}
}

func TestRefusalsNameLevelOwnerAndRemedy(t *testing.T) {
	p := Policy{Posters: map[Poster]Level{Operator: Baseline}}
	got := p.Check(pod("default", func(s *corev1.PodSpec) { s.HostPID = true }), Operator)
	want := `host namespaces (hostPID=true), which the level "baseline" of pods from "operator" forbids; ` +
		`an admin may post it, or the node's --pod-security may allow it`
	if len(got) != 1 || got[0].Rule != want {
		t.Errorf("got %v\nwant the rule %s", got, want)
	}
}

func TestCommandsRunOnlyInPodsThatTheCallerCouldPost(t *testing.T) {
	p := Policy{Posters: map[Poster]Level{Operator: Baseline}}
	if err := p.Enter(pod("default", privilegedContainer), Operator); !errors.Is(err, node.ErrDenied) ||
		!strings.Contains(err.Error(), "pod default/web") {
		t.Errorf("an operator's command in a privileged pod: %v, want a refusal that names the pod", err)
	}
	for _, allowed := range []error{p.Enter(pod("default", nil), Operator), p.Enter(pod("default", privilegedContainer), Admin)} {
		if allowed != nil {
			t.Errorf("refused: %v", allowed)
		}
	}
}

func TestObjectsThatGiveOfTheMachineNeedThePrivilegedLevel(t *testing.T) {
	p := Policy{Posters: map[Poster]Level{Operator: Baseline, Admin: Privileged}}
	host := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	local := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		Local: &corev1.LocalVolumeSource{Path: "/"}}}}
	nfs := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		NFS: &corev1.NFSVolumeSource{Server: "files", Path: "/"}}}}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	driver.SetGroupVersionKind(storagev1.SchemeGroupVersion.WithKind("CSIDriver"))
	inside := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}
	onNode := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
	balanced := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	slice.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"))
	for _, c := range []struct {
		name  string
		value node.Value
		by    Poster
		field string
	}{
		{"an operator's ClusterIP", inside, Operator, ""}, {"an operator's NodePort", onNode, Operator, "spec.type"},
		{"an operator's LoadBalancer", balanced, Operator, "spec.type"}, {"an admin's NodePort", onNode, Admin, ""},
		{"an operator's EndpointSlice", slice, Operator, "endpoints"}, {"a workload's EndpointSlice", slice, Workload, ""},
		{"an operator's hostPath", host, Operator, "spec.hostPath"}, {"an operator's local", local, Operator, "spec.local"},
		{"an operator's nfs", nfs, Operator, ""}, {"an admin's hostPath", host, Admin, ""}, {"a cluster's local", local, Cluster, ""},
		{"an operator's CSIDriver", driver, Operator, "spec"}, {"a cluster's CSIDriver", driver, Cluster, ""},
	} {
		got := ""
		for _, v := range p.CheckObject(node.NewObject(c.value), c.by) {
			got += v.Field
		}
		if got != c.field {
			t.Errorf("%s: refused by %q, want %q", c.name, got, c.field)
		}
	}
}

func TestEveryCheckOfTheLibraryHasItsField(t *testing.T) {
	known := map[policy.CheckID]bool{}
	for _, c := range policy.DefaultChecks() {
		known[c.ID] = true
		if fields[c.ID] == "" {
			t.Errorf("check %q has no field in the table", c.ID)
		}
	}
	for id := range fields {
		if !known[id] {
			t.Errorf("the table has %q, which the library does not check", id)
		}
	}
}

// The library's own evaluator is the judge of which checks make a level.
func TestLevelsAreThoseOfTheLibrary(t *testing.T) {
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	worst := pod("default", func(s *corev1.PodSpec) {
		privilegedContainer(s)
		s.HostNetwork = true
		s.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		s.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0), Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
	})
	for _, p := range []*corev1.Pod{worst, pod("default", nil), pod("default", hardened)} {
		for _, level := range []Level{Privileged, Baseline, Restricted} {
			want := 0
			for _, r := range judge.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &p.ObjectMeta, &p.Spec) {
				if !r.Allowed {
					want++
				}
			}
			if got := len(broken(level, "", &p.ObjectMeta, &p.Spec)); got != want {
				t.Errorf("level %s: %d rules broken, the library says %d", level, got, want)
			}
		}
	}
}
