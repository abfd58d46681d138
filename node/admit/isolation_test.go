package admit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func sets(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		for _, name := range names {
			p.Spec.SecurityContext.Sysctls = append(p.Spec.SecurityContext.Sysctls, corev1.Sysctl{Name: name, Value: "1"})
		}
	}
}

func TestSysctls(t *testing.T) {
	hostNetwork := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	hostIPC := func(p *corev1.Pod) { p.Spec.HostIPC = true }
	n := Node{UnsafeSysctls: []string{"kernel.msg*", "net.core.somaxconn", "net/ipv4/conf/*"}}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"none", pod("a"), ""},
		{"safe ones", pod("a", sets("net.ipv4.tcp_syncookies", "kernel.shm_rmid_forced")), ""},
		{"in the other spelling", pod("a", sets("net/ipv4/tcp_syncookies")), ""},
		{"one that is not allowed", pod("a", sets("net.ipv4.tcp_syncookies", "net.ipv4.tcp_mem")), `"net.ipv4.tcp_mem" not allowlisted`},
		{"one that is allowed by name", pod("a", sets("net.core.somaxconn")), ""},
		{"one that is allowed by its beginning", pod("a", sets("kernel.msgmax")), ""},
		{"a pattern in the other spelling", pod("a", sets("net/ipv4/conf/eth0.1/forwarding")), ""},
		{"what only begins like an allowed name", pod("a", sets("net.core.somaxconn_more")), `"net.core.somaxconn_more" not allowlisted`},
		{"of the host's network", pod("a", sets("net.core.somaxconn"), hostNetwork), `"net.core.somaxconn" not allowed with host Net enabled`},
		{"of the host's IPC", pod("a", sets("kernel.msgmax"), hostIPC), `"kernel.msgmax" not allowed with host IPC enabled`},
		{"of the pod's own network beside the host's IPC", pod("a", sets("net.core.somaxconn"), hostIPC), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.Check(c.pod, nil)
			switch {
			case c.want == "" && got != nil:
				t.Errorf("got %v, want it taken", *got)
			case c.want != "" && (got == nil || got.Reason != "SysctlForbidden" || got.Message != "Pod was rejected: forbidden sysctl: "+c.want):
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestAppArmorHasToBeThere(t *testing.T) {
	local := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("mine")}
	annotated := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/app": value}
		}
	}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		wants bool
	}{
		{"nothing asked for", pod("a"), false},
		{"by the pod", pod("a", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{AppArmorProfile: local}
		}), true},
		{"by a container", pod("a", func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{AppArmorProfile: local}
		}), true},
		{"by an init container", pod("a", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{SecurityContext: &corev1.SecurityContext{AppArmorProfile: local}}}
		}), true},
		{"to be unconfined", pod("a", func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
				AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}}
		}), false},
		{"in the older way", pod("a", annotated("localhost/mine")), true},
		{"to be unconfined in the older way", pod("a", annotated("unconfined")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (Node{AppArmor: true}).Check(c.pod, nil); got != nil {
				t.Errorf("where it is there: got %v, want it taken", *got)
			}
			got := Node{}.Check(c.pod, nil)
			if (got != nil) != c.wants {
				t.Errorf("where it is not there: got %v, want it refused: %t", got, c.wants)
			}
			if got != nil && (got.Reason != "AppArmor" || got.Message != "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host") {
				t.Errorf("got %v, want Kubernetes' words", *got)
			}
		})
	}
}
