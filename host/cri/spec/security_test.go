package spec

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// secured builds the security context of a container.
func secured(t *testing.T, here Node, user *ImageUser, change func(*corev1.PodSecurityContext, *corev1.SecurityContext)) *runtimeapi.LinuxContainerSecurityContext {
	t.Helper()
	got, err := here.containerSecurity(securityInput(user, change))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func securityInput(user *ImageUser, change func(*corev1.PodSecurityContext, *corev1.SecurityContext)) Run {
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{}
		change(p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext)
	})
	run := runOf(pod)
	run.ImageUser = user
	return run
}

func TestContainerGoesBeforePod(t *testing.T) {
	got := secured(t, Node{}, nil, func(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
		pod.RunAsUser, pod.RunAsGroup = new(int64(1)), new(int64(2))
		pod.FSGroup, pod.SupplementalGroups = new(int64(30)), []int64{10, 20}
		pod.SupplementalGroupsPolicy = new(corev1.SupplementalGroupsPolicyStrict)
		pod.SELinuxOptions = &corev1.SELinuxOptions{Level: "s0"}
		own.RunAsUser = new(int64(7))
		own.SELinuxOptions = &corev1.SELinuxOptions{Level: "s1"}
	})
	if got.RunAsUser.GetValue() != 7 || got.RunAsGroup.GetValue() != 2 || got.SelinuxOptions.GetLevel() != "s1" {
		t.Errorf("got %s, want the container's user and label, and the pod's group", got)
	}
	if !slices.Equal(got.SupplementalGroups, []int64{10, 20, 30}) ||
		got.SupplementalGroupsPolicy != runtimeapi.SupplementalGroupsPolicy_Strict {
		t.Errorf("got groups %v, policy %s", got.SupplementalGroups, got.SupplementalGroupsPolicy)
	}
}

func TestContainerIsConfined(t *testing.T) {
	const throttle = "/sys/devices/system/cpu/cpu0/thermal_throttle"
	here := Node{Machine: Machine{Throttles: []string{throttle}}}
	got := secured(t, here, nil, func(_ *corev1.PodSecurityContext, own *corev1.SecurityContext) {
		own.AllowPrivilegeEscalation, own.ReadOnlyRootFilesystem = new(false), new(true)
		own.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}, Drop: []corev1.Capability{"ALL"}}
	})
	if !got.NoNewPrivs || !got.ReadonlyRootfs || got.Privileged {
		t.Errorf("got %s, want no new privileges and a read-only root", got)
	}
	if !slices.Equal(got.Capabilities.AddCapabilities, []string{"NET_ADMIN"}) ||
		!slices.Equal(got.Capabilities.DropCapabilities, []string{"ALL"}) {
		t.Errorf("capabilities are %s", got.Capabilities)
	}
	if !slices.Contains(got.MaskedPaths, "/proc/kcore") || !slices.Contains(got.MaskedPaths, throttle) || !slices.Contains(got.ReadonlyPaths, "/proc/sys") {
		t.Errorf("masked %q, read-only %q", got.MaskedPaths, got.ReadonlyPaths)
	}
}

func TestPathsAreOpenWhenAskedFor(t *testing.T) {
	for name, open := range map[string]func(*corev1.SecurityContext){
		"an unmasked /proc": func(own *corev1.SecurityContext) { own.ProcMount = new(corev1.UnmaskedProcMount) },
		"privileged":        func(own *corev1.SecurityContext) { own.Privileged = new(true) },
	} {
		got := secured(t, Node{}, nil, func(_ *corev1.PodSecurityContext, own *corev1.SecurityContext) { open(own) })
		if len(got.MaskedPaths)+len(got.ReadonlyPaths) != 0 {
			t.Errorf("%s: masked %q, read-only %q, want none", name, got.MaskedPaths, got.ReadonlyPaths)
		}
	}
}

func TestRunAsNonRoot(t *testing.T) {
	for _, test := range []struct {
		name string
		user *int64
		from *ImageUser
		ok   bool
	}{
		{"a user of the spec", new(int64(5)), nil, true},
		{"root of the spec", new(int64(0)), &ImageUser{UID: 5}, false},
		{"a number of the image", nil, &ImageUser{UID: 5}, true},
		{"root of the image", nil, &ImageUser{}, false},
		{"a name of the image, which may be root's", nil, &ImageUser{Name: "app"}, false},
		{"an image that says nothing", nil, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Node{}.containerSecurity(securityInput(test.from,
				func(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
					pod.RunAsNonRoot, own.RunAsUser = new(true), test.user
				}))
			if (err == nil) != test.ok {
				t.Errorf("got %v, want success: %t", err, test.ok)
			}
		})
	}
}

func TestGroupAloneNamesTheImagesUser(t *testing.T) {
	group := func(_ *corev1.PodSecurityContext, own *corev1.SecurityContext) { own.RunAsGroup = new(int64(9)) }
	if !securityInput(nil, group).NeedsImageUser() {
		t.Error("the image's user is not asked for, want it: runtimes refuse a group without a user")
	}
	if got := secured(t, Node{}, &ImageUser{UID: 5}, group); got.RunAsUser.GetValue() != 5 || got.RunAsGroup.GetValue() != 9 {
		t.Errorf("got %s, want user 5, group 9", got)
	}
	if got := secured(t, Node{}, &ImageUser{Name: "app"}, group); got.RunAsUsername != "app" || got.RunAsUser != nil {
		t.Errorf("got %s, want the user by name", got)
	}
}

func TestSeccomp(t *testing.T) {
	local := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("p/one.json")}
	unconfined := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	runtimeDefault := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for _, test := range []struct {
		name     string
		byConfig bool
		pod, own *corev1.SeccompProfile
		want     runtimeapi.SecurityProfile_ProfileType
		ref      string
	}{
		{"nothing asked for", false, nil, nil, runtimeapi.SecurityProfile_Unconfined, ""},
		{"nothing asked for where the default is on", true, nil, nil, runtimeapi.SecurityProfile_RuntimeDefault, ""},
		{"the pod's wish against the default", true, unconfined, nil, runtimeapi.SecurityProfile_Unconfined, ""},
		{"the container's wish against the pod's", false, unconfined, runtimeDefault, runtimeapi.SecurityProfile_RuntimeDefault, ""},
		{"a profile of the machine", false, nil, local, runtimeapi.SecurityProfile_Localhost, "/etc/seccomp/p/one.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := secured(t, Node{SeccompDefault: test.byConfig, SeccompDir: "/etc/seccomp"}, nil,
				func(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
					pod.SeccompProfile, own.SeccompProfile = test.pod, test.own
				}).Seccomp
			if got.ProfileType != test.want || got.LocalhostRef != test.ref {
				t.Errorf("got %s, want %s %q", got, test.want, test.ref)
			}
		})
	}
	outside := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("../shadow")}
	if got, err := (Node{SeccompDir: "/etc/seccomp"}).seccompProfile(outside); err == nil {
		t.Errorf("a profile outside of the directory gives %s, want an error", got)
	}
}

func TestAppArmor(t *testing.T) {
	const annotation = "container.apparmor.security.beta.kubernetes.io/main"
	local := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("mine")}
	for _, test := range []struct {
		name  string
		field *corev1.AppArmorProfile
		older string
		want  *runtimeapi.SecurityProfile
	}{
		{"nothing asked for", nil, "", nil},
		{"a profile of the machine", local, "", localApparmor("mine")},
		{"the older annotation", nil, "localhost/old", localApparmor("old")},
		{"the field before the annotation", local, "unconfined", localApparmor("mine")},
		{"unconfined", &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}, "",
			&runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}},
		{"the runtime's own", nil, "runtime/default", &runtimeapi.SecurityProfile{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := securityInput(nil, func(_ *corev1.PodSecurityContext, own *corev1.SecurityContext) { own.AppArmorProfile = test.field })
			run.Allocated.Annotations = map[string]string{annotation: test.older}
			if got := apparmor(run); got.String() != test.want.String() || (got == nil) != (test.want == nil) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	const (
		pod       = runtimeapi.NamespaceMode_POD
		container = runtimeapi.NamespaceMode_CONTAINER
		host      = runtimeapi.NamespaceMode_NODE
	)
	for _, test := range []struct {
		name              string
		change            func(*corev1.Pod)
		network, pid, ipc runtimeapi.NamespaceMode
	}{
		{"by default", nil, pod, container, pod},
		{"the host's network", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, host, container, pod},
		{"the host's processes", func(p *corev1.Pod) { p.Spec.HostPID = true }, pod, host, pod},
		{"the host's IPC", func(p *corev1.Pod) { p.Spec.HostIPC = true }, pod, container, host},
		{"shared processes", func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = new(true) }, pod, pod, pod},
	} {
		got := namespaces(specPod(test.change), nil)
		if got.Network != test.network || got.Pid != test.pid || got.Ipc != test.ipc {
			t.Errorf("%s: got %s", test.name, got)
		}
	}
}

func TestSandboxSecurity(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsGroup: new(int64(2)), FSGroup: new(int64(3))}
		p.Spec.InitContainers = []corev1.Container{{SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
	})
	got := sandboxSecurity(&node.Pod{Object: pod})
	if !got.Privileged {
		t.Error("the sandbox is not privileged, want it: one of its containers is")
	}
	if got.RunAsGroup != nil || !slices.Equal(got.SupplementalGroups, []int64{3}) {
		t.Errorf("got %s, want no group without a user", got)
	}
}
