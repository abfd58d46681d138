package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/pace"
)

// stored is a pod with a volume of each kind. Its init container writes what its application reads.
const stored = `apiVersion: v1
kind: Pod
metadata:
  name: stored
  labels: {app: shop}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: data, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 4Mi}}
  - {name: host, hostPath: {path: HOST, type: DirectoryOrCreate}}
  - {name: settings, configMap: {name: settings}}
  - {name: chosen, configMap: {name: settings, items: [{key: mode, path: deep/mode.txt, mode: 0400}]}}
  - {name: maybe, configMap: {name: nothing, optional: true}}
  - {name: login, secret: {secretName: login, defaultMode: 0440}}
  - name: info
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: limit, resourceFieldRef: {containerName: main, resource: limits.memory, divisor: 1Mi}}
  - name: all
    projected:
      sources:
      - configMap: {name: settings}
      - secret: {name: login}
      - downwardAPI: {items: [{path: me/name, fieldRef: {fieldPath: metadata.name}}]}
  initContainers:
  - name: setup
    image: nodal.test/busybox:1
    command: [sh, -c, "echo made >/data/file && echo kept >/memory/file && echo host >/host/file"]
    volumeMounts: [{name: data, mountPath: /data}, {name: memory, mountPath: /memory}, {name: host, mountPath: /host}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {limits: {memory: 64Mi}}
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: data, mountPath: /part, subPath: new/part}
    - {name: memory, mountPath: /memory, readOnly: true}
    - {name: host, mountPath: /host}
    - {name: settings, mountPath: /settings}
    - {name: settings, mountPath: /etc/mode, subPath: mode}
    - {name: chosen, mountPath: /chosen}
    - {name: maybe, mountPath: /maybe}
    - {name: login, mountPath: /login}
    - {name: info, mountPath: /info}
    - {name: all, mountPath: /all}
    - {name: memory, mountPath: /all/nested}
  - name: other
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsUser: 1000}
    volumeMounts: [{name: data, mountPath: /shared}]
`

const loginSecret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n"

func settingsMap(mode string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: " + mode + "}\n"
}

func TestVolumes(t *testing.T) {
	claim.Shows(t, "Volumes",
		"an emptyDir is shared by the containers of a pod, of any user, and kept over the agent's restart",
		"an emptyDir in memory has its size limit",
		"a hostPath is made as its type says and outlives the pod",
		"ConfigMap volumes hold keys as files, with items, paths and modes",
		"a missing optional ConfigMap is an empty volume",
		"Secret volumes lie in memory only, with their modes",
		"downwardAPI volumes hold labels and resource limits",
		"projected volumes join ConfigMaps, Secrets and the downward API",
		"a subPath mounts a part of a volume, and creates it if it is missing",
		"read-only mounts cannot be written",
		"a change of a ConfigMap or label shows in running pods within two seconds, all at once and without a restart",
		"a file mounted by subPath keeps its content",
		"a pod waits for a missing ConfigMap with FailedMount",
		"deletion unmounts all volumes, removes the pod's directory and leaves the host's files",
	)
	n := start(t)
	host := filepath.Join(n.Root(), "on-the-host")
	n.apply(strings.Replace(stored, "HOST", host, 1))
	n.wait("stored", "it waits and says for what", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && p.Status.Reason == "FailedMount" && strings.HasPrefix(w.Message, `MountVolume.SetUp failed for volume "settings" : configmap "settings" not found`)
	})
	n.apply(settingsMap("fast") + loginSecret)
	uid := string(n.waitRunning("stored").UID)
	n.wantVolumes(host)
	n.wantSecretOffDisk()
	dir := filepath.Join(n.Root(), "pods", uid)

	// A change shows in the volumes of a running pod, all at once. One try in five may find the
	// machine too busy.
	limit := pace.Of(2 * time.Second)
	var took time.Duration
	for i := range 5 {
		mode, app := fmt.Sprint("slow", i), fmt.Sprint("store", i)
		n.apply(settingsMap(mode) + "---\n" + strings.Replace(strings.Replace(stored, "HOST", host, 1), "app: shop", "app: "+app, 1))
		begin := time.Now()
		n.inside("stored", "main", fmt.Sprintf(
			`until [ "$(cat /settings/mode /chosen/deep/mode.txt /all/mode /info/labels)" = "%[1]s%[1]s%[1]sapp=\"%[2]s\"" ]; do usleep 10000; done`, mode, app))
		if took = time.Since(begin); took <= limit {
			break
		}
	}
	if took > limit {
		t.Errorf("it took %s until the change showed", took)
	}
	// A file that is mounted alone keeps its content.
	if got := n.inside("stored", "main", "cat /etc/mode"); got != "fast" {
		t.Errorf("the file of a subPath holds %q, want fast", got)
	}

	// The next agent adopts the volumes, and keeps them up to date.
	n.Kill()
	before := mountsUnder(t, dir)
	n.up()
	n.waitRunning("stored")
	n.apply(settingsMap("steady"))
	n.inside("stored", "main", `until [ "$(cat /settings/mode)" = steady ]; do usleep 10000; done; cat /data/file /memory/file /login/password`)
	if after := mountsUnder(t, dir); after != before {
		t.Errorf("mounted are %s, before the restart %s", after, before)
	}
	p := n.waitRunning("stored")
	for _, name := range []string{"setup", "main", "other"} {
		if got := containerStatus(p, name).RestartCount; got != 0 {
			t.Errorf("container %s was restarted %d times", name, got)
		}
	}

	n.deletePod("stored", "")
	if got := mountsUnder(t, dir); got != "" {
		t.Errorf("left are the mounts %s", got)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the pod's directory is left: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(host, "file")); err != nil || string(text) != "host\n" {
		t.Errorf("the host's file holds %q, %v; it is not the pod's to remove", text, err)
	}
}

// wantVolumes reads each volume from inside.
func (n *node) wantVolumes(host string) {
	n.t.Helper()
	for _, c := range []struct{ container, script, want string }{
		{"main", "cat /data/file /memory/file /host/file", "made\nkept\nhost\n"},
		{"main", "stat -c %a /data /memory", "777\n1777\n"},
		{"main", "df -k /memory | tail -1 | awk '{print $2}'", "4096\n"},
		{"main", "touch /memory/x 2>/dev/null; echo $?", "1\n"},
		{"main", "cat /settings/mode; stat -Lc ' %a %u:%g' /settings/mode; touch /settings/x 2>/dev/null; echo $?", "fast 644 0:0\n1\n"},
		{"main", "cat /etc/mode; ls /maybe; stat -Lc ' %a' /chosen/deep/mode.txt", "fast 400\n"},
		{"main", "cat /login/password; stat -Lc ' %a' /login/password", "tr0ub4dor 440\n"},
		{"main", "cat /info/labels /info/limit", `app="shop"64`},
		{"main", "cat /all/mode /all/password /all/me/name; ls /all/nested", "fasttr0ub4dorstoredfile\n"},
		{"other", "cat /shared/file; touch /shared/mine; id -u", "made\n1000\n"},
		{"main", "stat -c %u /data/mine; touch /part/file; ls /data/new/part", "1000\nfile\n"},
	} {
		if got := n.inside("stored", c.container, c.script); got != c.want {
			n.t.Errorf("%s in %s: got %q, want %q", c.script, c.container, got, c.want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(host, "file")); err != nil || string(text) != "host\n" {
		n.t.Errorf("on the host the file holds %q, %v", text, err)
	}
}

// wantSecretOffDisk checks that the secret is not on the disk below the volumes.
func (n *node) wantSecretOffDisk() {
	n.t.Helper()
	out, _, _ := n.command("", "find", filepath.Join(n.Root(), "pods"), "-mount", "-type", "f", "-exec", "grep", "-l", "tr0ub4dor", "{}", "+")
	if out != "" {
		n.t.Errorf("the secret lies on the disk in %s", out)
	}
}

// mountsUnder returns the mount points below a directory, one a line.
func mountsUnder(t *testing.T, dir string) string {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fmt.Sprint(fields[0], " ", fields[4]))
		}
	}
	return strings.Join(points, "\n")
}

// TestABusyUnmountIsWaitedFor lets a process of the host keep a volume busy while its pod is
// deleted.
func TestABusyUnmountIsWaitedFor(t *testing.T) {
	claim.Shows(t, "Volumes", "a pod whose volume is busy ends; its deletion says what it waits for, removes nothing below the mount, and goes on once the volume is free")
	n := start(t)
	n.apply(shell("busy", "echo kept >/memory/file && exec sleep 1000").yaml() +
		"    volumeMounts: [{name: memory, mountPath: /memory}]\n  volumes: [{name: memory, emptyDir: {medium: Memory}}]\n")
	uid := n.waitRunning("busy").UID
	n.apply(web("neighbour").yaml())
	n.waitRunning("neighbour")
	file := filepath.Join(n.Root(), "pods", string(uid), "volumes/kubernetes.io~empty-dir/memory/file")
	var open *os.File
	n.eventually("the pod has written", func() (ok bool) {
		f, err := os.Open(file)
		open = f
		return err == nil
	})
	defer open.Close()
	events := n.follow("/v1/events:watch")
	n.curl("/v1/namespaces/default/pods/busy", "-X", "DELETE")
	if told := events.until("FailedUnMount"); !strings.Contains(told, "memory") || !strings.Contains(told, "device or resource busy") {
		t.Errorf("the message is %s, want the busy volume in it", told)
	}
	if got := n.sandboxes("busy"); got != 0 {
		t.Errorf("%d sandboxes are left, want that the pod has ended", got)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("read below the busy mount: %v", err)
	}
	open.Close()
	n.waitGone("busy")
	if _, err := os.Stat(filepath.Join(n.Root(), "pods", string(uid))); !os.IsNotExist(err) {
		t.Errorf("left is the directory of the pod: %v", err)
	}
	if got := n.waitRunning("neighbour"); containerStatus(got, "main").RestartCount != 0 {
		t.Error("the neighbour restarted")
	}
}
