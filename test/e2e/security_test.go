package e2e

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// guarded is a pod whose containers are confined in different ways.
const guarded = `apiVersion: v1
kind: Pod
metadata:
  name: guarded
spec:
  terminationGracePeriodSeconds: 1
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 3000
    fsGroup: 5000
    supplementalGroups: [4000]
    sysctls:
    - {name: net.ipv4.ip_unprivileged_port_start, value: "81"}
    - {name: net/ipv4/tcp_syncookies, value: "0"}
    - {name: kernel.msgmax, value: "65000"}
  containers:
  - name: strict
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
      seccompProfile: {type: RuntimeDefault}
  - name: own
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsUser: 1001, runAsGroup: 0, seccompProfile: {type: Localhost, localhostProfile: profiles/no-mkdir.json}}
  - name: root
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsNonRoot: false, runAsUser: 0, capabilities: {add: [SYS_TIME], drop: [MKNOD, CHOWN]}}
  - name: loose
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsNonRoot: false, runAsUser: 0, seccompProfile: {type: Unconfined}}
  - name: privileged
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsNonRoot: false, runAsUser: 0, privileged: true}
`

const noMkdir = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]}`

// proc reads /proc/PID/status of the container's process.
func (n *node) proc(pod, container string) map[string]string {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pidOf(pod, container)))
	if err != nil {
		n.t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

// usual is containerd's set for a container that asks for no other capabilities.
const usual = "00000000a80425fb"

// confinement is the expected content of each container's /proc/PID/status. Seccomp 2 means a
// filter of system calls.
var confinement = map[string]map[string]string{
	"strict": {
		"Uid": "1000 1000 1000 1000", "Gid": "3000 3000 3000 3000", "Groups": "3000 4000 5000",
		"NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0000000000000400", "CapEff": "0000000000000000",
	},
	"own":  {"Uid": "1001 1001 1001 1001", "Gid": "0 0 0 0", "Groups": "0 4000 5000", "NoNewPrivs": "0", "Seccomp": "2", "CapBnd": usual},
	"root": {"Uid": "0 0 0 0", "Gid": "3000 3000 3000 3000", "NoNewPrivs": "0", "Seccomp": "2", "CapEff": "00000000a20425fa"},
	"loose": {
		"Uid": "0 0 0 0", "NoNewPrivs": "0", "Seccomp": "0", "CapEff": usual,
	},
	"privileged": {"Uid": "0 0 0 0", "NoNewPrivs": "0", "Seccomp": "0"},
}

func TestContainersAreConfined(t *testing.T) {
	claim.Shows(t, "Security",
		"runAsUser, runAsGroup, supplementalGroups and fsGroup hold, the container's before the pod's",
		"capabilities are added and dropped, ALL too",
		"allowPrivilegeEscalation false sets no_new_privs",
		"seccomp profiles RuntimeDefault, Localhost and Unconfined hold, and RuntimeDefault where none is named",
		"readOnlyRootFilesystem holds",
		"paths of /proc are masked and read-only, except in privileged containers",
		"safe sysctls are set, unsafe ones where the owner allows them",
		"defaultPodSysctls apply if a pod asks for no other value, but not in the host's namespaces",
		"a privileged container has every capability",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Settings["allowedUnsafeSysctls"] = []string{"kernel.msg*"}
		c.Settings["defaultPodSysctls"] = map[string]string{"kernel.msgmnb": "60000", "net.core.somaxconn": "1234", "net.ipv4.tcp_syncookies": "2"}
	})
	n.file("node/root/seccomp/profiles/no-mkdir.json", noMkdir)
	n.up()
	n.apply(guarded)
	n.waitRunning("guarded")
	for container, want := range confinement {
		got := n.proc("guarded", container)
		maps.DeleteFunc(got, func(field, _ string) bool { return want[field] == "" })
		if !maps.Equal(got, want) {
			t.Errorf("container %s is %v, want %v", container, got, want)
		}
	}
	if got, own := n.proc("guarded", "privileged")["CapEff"], n.proc("guarded", "loose")["CapEff"]; got <= own {
		t.Errorf("a privileged container has capabilities %s, want more than %s", got, own)
	}
	for _, c := range []struct{ name, container, script, want string }{
		{"the pod's sysctls", "strict",
			"cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/ipv4/tcp_syncookies /proc/sys/kernel/msgmax", "81\n0\n65000\n"},
		{"the node's sysctls", "strict", "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmnb", "1234\n60000\n"},
		{"a root that is read only", "strict", "touch /file 2>/dev/null || echo no", "no\n"},
		{"a root that is not", "root", "touch /file && echo yes", "yes\n"},
		{"the profile of the machine", "own", "mkdir /tmp/dir 2>/dev/null || echo no", "no\n"},
		{"no such profile", "root", "mkdir /tmp/dir && echo yes", "yes\n"},
		{"masked paths", "root", "cat /proc/keys /proc/timer_list; ls /sys/firmware", ""},
		{"paths that cannot be written", "root", "echo 1 2>/dev/null >/proc/sys/kernel/msgmax || echo no", "no\n"},
		{"unmasked paths where privileged", "privileged", "grep ' /proc/' /proc/mounts || echo none", "none\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := n.inside("guarded", c.container, c.script); got != c.want {
				t.Errorf("in container %s, %q says %q, want %q", c.container, c.script, got, c.want)
			}
		})
	}
	n.apply(shell("open", "exec sleep 1000").yaml() + "  hostNetwork: true\n")
	n.waitRunning("open")
	of, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		t.Fatal(err)
	}
	if got := n.inside("open", "main", "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmnb"); got != string(of)+"60000\n" {
		t.Errorf("on the host's network the sysctls are %q, want %q of it", got, of)
	}
}

// TestGroupsOfTheImageAreJoinedUnlessThePodIsStrict runs as the image's member of the
// group 6000.
func TestGroupsOfTheImageAreJoinedUnlessThePodIsStrict(t *testing.T) {
	claim.Shows(t, "Security",
		"the groups of the user in the image are joined",
		"a container's status shows its user and groups, if the runtime reports them",
	)
	n := start(t)
	member := func(name, policy string) string {
		return unfit(name, "  securityContext: {runAsUser: 1002, runAsGroup: 1002, supplementalGroups: [4000]"+policy+"}\n  containers:\n")
	}
	cases := []struct{ name, policy, groups string }{
		{"usual", "", "1002 4000 6000"},
		{"merged", ", supplementalGroupsPolicy: Merge", "1002 4000 6000"},
	}
	if n.knowsGroupsPolicies() {
		claim.Shows(t, "Security", "supplementalGroupsPolicy Strict omits the groups of the user in the image")
		cases = append(cases, struct{ name, policy, groups string }{"strict", ", supplementalGroupsPolicy: Strict", "1002 4000"})
	}
	for _, c := range cases {
		n.apply(member(c.name, c.policy))
	}
	for _, c := range cases {
		p := n.waitRunning(c.name)
		if got := n.proc(c.name, "main")["Groups"]; got != c.groups {
			t.Errorf("pod %s is in groups %s, want %s", c.name, got, c.groups)
		}
		user := containerStatus(p, "main").User
		if user == nil {
			continue // this runtime does not report it
		}
		if got := strings.Trim(fmt.Sprint(user.Linux.SupplementalGroups), "[]"); user.Linux.UID != 1002 || got != c.groups {
			t.Errorf("the status of pod %s has user %d in groups %s, want 1002 in %s", c.name, user.Linux.UID, got, c.groups)
		}
	}
}

// unfit returns a pod that must fail in a certain way.
func unfit(name, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  terminationGracePeriodSeconds: 1\n" + spec +
		"  - name: main\n    image: nodal.test/busybox:1\n    command: [sh, -c, exec sleep 1000]\n"
}

func (n *node) knowsGroupsPolicies() bool {
	n.t.Helper()
	reply, err := n.rt.CRI().Status(n.t.Context(), &runtimev1.StatusRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	return reply.GetFeatures().GetSupplementalGroupsPolicy()
}

func TestPodsThatCannotBeConfinedAsTheyAskDoNotRun(t *testing.T) {
	claim.Shows(t, "Security",
		"runAsNonRoot refuses root by image and by number with CreateContainerConfigError",
		"a missing seccomp profile prevents the creation of the container",
		"a sysctl that is not allowed fails the pod with SysctlForbidden",
		"an AppArmor profile fails the pod where the kernel enforces none",
		"supplementalGroupsPolicy Strict fails the pod with SupplementalGroupsPolicyNotSupported where the runtime lacks it",
	)
	n := start(t)
	for _, c := range []struct {
		name, manifest, reason, message string
		refused                         bool
	}{
		{"root", unfit("root", "  securityContext: {runAsNonRoot: true}\n  containers:\n"),
			"CreateContainerConfigError", "container has runAsNonRoot and image will run as root", false},
		{"zero", unfit("zero", "  securityContext: {runAsNonRoot: true, runAsUser: 0}\n  containers:\n"),
			"CreateContainerConfigError", "container's runAsUser breaks non-root policy", false},
		{"profile", unfit("profile", "  securityContext: {seccompProfile: {type: Localhost, localhostProfile: none.json}}\n  containers:\n"),
			"CreateContainerError", "none.json", false},
		{"sysctl", unfit("sysctl", "  securityContext: {sysctls: [{name: kernel.msgmax, value: \"65000\"}]}\n  containers:\n"),
			"SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`, true},
		{"groups", unfit("groups", "  securityContext: {supplementalGroupsPolicy: Strict}\n  containers:\n"),
			"SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node", true},
		{"apparmor", unfit("apparmor", "  securityContext: {appArmorProfile: {type: RuntimeDefault}}\n  containers:\n"),
			"AppArmor", "AppArmor is not enabled on the host", true},
	} {
		if c.name == "groups" && n.knowsGroupsPolicies() || c.name == "apparmor" && enforcesAppArmor() {
			continue // such a pod runs on this machine
		}
		if c.name == "groups" {
			n.eventually("the node knows what its runtime can do", func() bool {
				return strings.Contains(n.curl("/v1/node").body, `"name":"containerd"`)
			})
		}
		t.Run(c.name, func(t *testing.T) {
			n.apply(c.manifest)
			p := n.wait(c.name, c.reason, func(p *corev1.Pod) bool {
				waiting := containerStatus(p, "main").State.Waiting
				return p.Status.Reason == c.reason || waiting != nil && waiting.Reason == c.reason
			})
			message := p.Status.Message
			if waiting := containerStatus(p, "main").State.Waiting; waiting != nil && waiting.Reason == c.reason {
				message = waiting.Message
			}
			if !strings.Contains(message, c.message) {
				t.Errorf("the message is %q, want %q in it", message, c.message)
			}
			if refused := p.Status.Phase == corev1.PodFailed; refused != c.refused {
				t.Errorf("the phase is %s, with reason %s", p.Status.Phase, c.reason)
			}
		})
	}
	for _, c := range n.containers("") {
		if c.running {
			t.Errorf("container %+v runs, want none", c)
		}
	}
}

func enforcesAppArmor() bool {
	answer, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	return err == nil && strings.HasPrefix(string(answer), "Y")
}

func TestUnsafeConfinementIsRefused(t *testing.T) {
	claim.Shows(t, "Security",
		"a seccomp profile outside of the root directory or without a name is refused",
		"procMount Unmasked is refused in the user namespace of the machine",
	)
	n := start(t)
	for _, c := range []struct{ name, manifest, field string }{
		{"a profile outside of the root directory",
			unfit("bad", "  securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../../etc/passwd}}\n  containers:\n"), "localhostProfile"},
		{"a profile without a name",
			unfit("bad", "  securityContext: {seccompProfile: {type: Localhost, localhostProfile: ''}}\n  containers:\n"), "localhostProfile"},
		{"all of /proc in the user namespace of the machine",
			unfit("bad", "  containers:\n") + "    securityContext: {procMount: Unmasked}\n", "procMount"},
		{"users of its own among the processes of the machine", unfit("bad", "  hostUsers: false\n  hostPID: true\n  containers:\n"), "hostPID"},
		{"more privileges and no more privileges",
			unfit("bad", "  containers:\n") + "    securityContext: {privileged: true, allowPrivilegeEscalation: false}\n", "allowPrivilegeEscalation"},
		{"a policy for groups that there is not",
			unfit("bad", "  securityContext: {supplementalGroupsPolicy: Some}\n  containers:\n"), "supplementalGroupsPolicy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := n.curl("/v1/manifests", "--data-binary", c.manifest); got.code != 400 || !strings.Contains(got.body, c.field) {
				t.Errorf("got %s, want 400 with %s in it", got, c.field)
			}
		})
	}
}
