package spec

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/users"
)

func specPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app"}}},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// runOf is a run of a pod's first container.
func runOf(pod *corev1.Pod) Run {
	return Run{Pod: &node.Pod{Object: pod}, Allocated: pod, Container: &pod.Spec.Containers[0]}
}

func TestPortMappings(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{
			{Name: "once", Ports: []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}}},
			{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
				Ports: []corev1.ContainerPort{{ContainerPort: 53, HostPort: 5353, Protocol: corev1.ProtocolUDP}}},
		}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{
			{ContainerPort: 80, HostPort: 8080, HostIP: "127.0.0.1", Protocol: corev1.ProtocolTCP},
			{ContainerPort: 443},
		}
	})
	var got []string
	for _, m := range portMappings(pod) {
		got = append(got, m.String())
	}
	want := []string{
		(&runtimeapi.PortMapping{Protocol: runtimeapi.Protocol_UDP, ContainerPort: 53, HostPort: 5353}).String(),
		(&runtimeapi.PortMapping{ContainerPort: 80, HostPort: 8080, HostIp: "127.0.0.1"}).String(),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q: what has a host port and runs for as long as the pod", got, want)
	}
	pod.Spec.HostNetwork = true
	if got := portMappings(pod); got != nil {
		t.Errorf("on the host's network got %v, want nothing", got)
	}
}

func TestSandboxConfigCarriesThePodsIdentity(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web", "io.kubernetes.pod.name": "another"}
		p.Annotations = map[string]string{"note": "kept"}
		p.Spec.SecurityContext = &corev1.PodSecurityContext{
			Sysctls: []corev1.Sysctl{{Name: "net/core/somaxconn", Value: "9"}},
		}
	})
	got, _, err := Node{}.Sandbox(Sandbox{Pod: &node.Pod{Object: pod}, Attempt: 4, Logs: "/logs", CgroupParent: "/pods"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Metadata.Name != "web" || got.Metadata.Uid != "uid-1" || got.Metadata.Attempt != 4 {
		t.Errorf("metadata is %v", got.Metadata)
	}
	if got.LogDirectory != "/logs/default_web_uid-1" || got.Linux.CgroupParent != "/pods" {
		t.Errorf("log directory %s, cgroup parent %s", got.LogDirectory, got.Linux.CgroupParent)
	}
	if got.Labels["app"] != "web" || got.Labels["io.kubernetes.pod.name"] != "web" {
		t.Errorf("labels are %v, want the user's, which do not hide the pod's own", got.Labels)
	}
	if got.Annotations["note"] != "kept" || got.Linux.Sysctls["net.core.somaxconn"] != "9" {
		t.Errorf("annotations are %v, sysctls %v", got.Annotations, got.Linux.Sysctls)
	}
}

func TestUsersOfAPodsOwn(t *testing.T) {
	pod := &node.Pod{Object: specPod(func(p *corev1.Pod) { p.Spec.HostUsers = new(false) })}
	if _, _, err := (Node{}).Sandbox(Sandbox{Pod: pod}); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("where none were set aside: got %v, want unsupported", err)
	}
	pod.Users = &users.Range{First: 131072, Count: 65536}
	sandbox, _, err := Node{}.Sandbox(Sandbox{Pod: pod})
	if err != nil {
		t.Fatal(err)
	}
	mounts := []*runtimeapi.Mount{{ContainerPath: "/etc/hosts"}, {ContainerPath: "/data"}}
	run := runOf(pod.Object)
	run.Pod = pod
	container, err := Node{}.Container(run, &Variables{}, Extras{Mounts: mounts})
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []*runtimeapi.NamespaceOption{sandbox.Linux.SecurityContext.NamespaceOptions, container.Linux.SecurityContext.NamespaceOptions} {
		got := options.GetUsernsOptions()
		if got.GetMode() != runtimeapi.NamespaceMode_POD || !isMapping(got.GetUids()) || !isMapping(got.GetGids()) {
			t.Errorf("the user namespace is %s, want the pod's users for its sandbox and its containers", got)
		}
	}
	for _, m := range container.Mounts {
		if !isMapping(m.UidMappings) || !isMapping(m.GidMappings) {
			t.Errorf("%s is mounted with %v, %v", m.ContainerPath, m.UidMappings, m.GidMappings)
		}
	}
}

func isMapping(m []*runtimeapi.IDMapping) bool {
	return len(m) == 1 && m[0].HostId == 131072 && m[0].ContainerId == 0 && m[0].Length == 65536
}
