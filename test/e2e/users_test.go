package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// apart is a pod with a user namespace and files of every kind.
const apart = `apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  hostUsers: false
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 5000}
  volumes:
  - {name: secret, secret: {secretName: password, defaultMode: 0440}}
  - {name: settings, configMap: {name: settings}}
  - {name: disk, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: host, hostPath: {path: HOST, type: Directory}}
  initContainers:
  - name: last-words
    image: nodal.test/busybox:1
    command: [sh, -c, "echo -n done >/dev/termination-log"]
    securityContext: {runAsUser: 1000}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {procMount: Unmasked}
    volumeMounts:
    - {name: secret, mountPath: /secret}
    - {name: settings, mountPath: /settings}
    - {name: disk, mountPath: /disk}
    - {name: disk, mountPath: /part, subPath: part}
    - {name: memory, mountPath: /memory}
    - {name: host, mountPath: /host}
  - name: member
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsUser: 1000, runAsGroup: 1000}
    volumeMounts:
    - {name: secret, mountPath: /secret}
    - {name: disk, mountPath: /disk}
`

const password = "apiVersion: v1\nkind: Secret\nmetadata: {name: password}\nstringData: {word: hidden}\n"

// mapsOwners reports whether the kernel supports ID-mapped mounts of tmpfs, which takes Linux 6.3.
func mapsOwners(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 3
}

// firstUser returns the host's user ID for a pod's root.
func (n *node) firstUser(pod string) int {
	n.t.Helper()
	fields := strings.Fields(n.inside(pod, "main", "cat /proc/self/uid_map"))
	if len(fields) != 3 || fields[0] != "0" || fields[2] != "65536" {
		n.t.Fatalf("the users of pod %s are %q, want 65536 from 0 on", pod, fields)
	}
	first, err := strconv.Atoi(fields[1])
	if err != nil || first < 65536 {
		n.t.Fatalf("root of pod %s is user %d of the host (%v), want an unused one", pod, first, err)
	}
	return first
}

func TestPodsWithTheirOwnUserNamespaces(t *testing.T) {
	claim.Shows(t, "Security",
		"hostUsers false gives each pod its own user IDs if runtime and kernel can; otherwise the pod does not run, and says why",
	)
	n := start(t)
	host := filepath.Join(n.Root(), "on-the-host")
	if err := os.MkdirAll(host, 0o755); err != nil {
		t.Fatal(err)
	}
	manifest := func(name string) string { return strings.NewReplacer("NAME", name, "HOST", host).Replace(apart) }
	n.apply(settingsMap("fast") + "---\n" + password + "---\n" + manifest("one") + "---\n" + manifest("two"))
	if !n.usualHandler().GetUserNamespaces() || !mapsOwners(t) {
		said := ""
		n.wait("one", "it says why it does not run", func(p *corev1.Pod) bool {
			said = p.Status.Message
			for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
				if s.State.Waiting != nil {
					said += s.State.Waiting.Message
				}
			}
			return strings.Contains(said, "user namespaces (hostUsers: false) are not supported") || strings.Contains(said, "idmap")
		})
		t.Logf("no users of its own here: %s", said)
		return
	}
	claim.Shows(t, "Security",
		"in volumes of every kind, in /etc/hosts and in termination messages a pod with hostUsers false sees the same owners and modes",
		"procMount Unmasked shows all of /proc to a pod with hostUsers false",
		"a pod keeps its user IDs when the agent is killed",
	)
	p := n.waitRunning("one")
	n.waitRunning("two")
	first := n.firstUser("one")
	if second := n.firstUser("two"); second-first < 65536 && first-second < 65536 {
		t.Errorf("the pods begin at users %d and %d of the host, want no user in both", first, second)
	}
	if got := n.proc("one", "member")["Uid"]; !strings.HasPrefix(got, fmt.Sprint(first+1000, " ")) {
		t.Errorf("on the host the member's users are %s, want %d", got, first+1000)
	}
	if got := containerStatus(p, "last-words").State.Terminated; got == nil || got.Message != "done" {
		t.Errorf("the init container ended as %+v, want its last words", got)
	}
	for _, c := range []struct{ container, script, want string }{
		{"member", "cat /secret/word; stat -L -c '%u:%g %a' /secret/word", "hidden0:5000 440\n"},
		{"main", "stat -L -c '%u:%g' /settings/mode; cat /settings/mode", "0:5000\nfast"},
		{"member", "touch /disk/file; stat -c '%u:%g' /disk/file /disk", "1000:5000\n0:5000\n"},
		{"main", "touch /part/x; stat -c '%u' /disk/part/x", "0\n"},
		{"main", "touch /memory/file; chown 65535 /memory/file; stat -c '%u' /memory/file", "65535\n"},
		{"main", "touch /host/one; stat -c '%u' /host", "0\n"},
		{"main", "stat -c '%u' /etc/hosts /etc/resolv.conf; grep -c one /etc/hosts; cat /etc/resolv.conf >/dev/null && echo ok", "0\n0\n1\nok\n"},
		{"main", "cat /proc/keys >/dev/null && grep -c ' /proc/' /proc/mounts", "0\n"},
	} {
		if c.want == "0\n" {
			c.script += "; true" // grep fails if it counts nothing
		}
		if got := n.inside("one", c.container, c.script); got != c.want {
			t.Errorf("in container %s, %q says %q, want %q", c.container, c.script, got, c.want)
		}
	}
	n.wantOwner(filepath.Join(n.Root(), "pods", string(p.UID), "volumes/kubernetes.io~empty-dir/disk/file"), 1000)
	n.wantOwner(filepath.Join(host, "one"), 0)

	before := n.healthy()
	n.Kill()
	n.up()
	n.killContainer("one", "main")
	n.wait("one", "main again", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 1 && ready(p) })
	if got := n.firstUser("one"); got != first {
		t.Errorf("after a restart of both the pod begins at user %d, want %d as before", got, first)
	}
	n.deletePod("one", "")
	n.apply(manifest("three"))
	n.waitRunning("three")
	if third, second := n.firstUser("three"), n.firstUser("two"); third-second < 65536 && second-third < 65536 {
		t.Errorf("a new pod begins at user %d of the host beside one at %d; before there were %s", third, second, before)
	}
	n.deletePod("two", "")
	n.deletePod("three", "")
}

// wantOwner checks that a file on the host belongs to a user.
func (n *node) wantOwner(path string, uid uint32) {
	n.t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		n.t.Error(err)
	} else if stat.Uid != uid {
		n.t.Errorf("%s belongs to user %d of the host, want %d", path, stat.Uid, uid)
	}
}
