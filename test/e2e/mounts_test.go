package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/claim"
)

// shared is a pod whose containers share a volume through their group, and mounts of the host
// through propagation.
const shared = `apiVersion: v1
kind: Pod
metadata:
  name: shared
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 5000}
  volumes:
  - {name: data, emptyDir: {}}
  - {name: settings, configMap: {name: settings, defaultMode: 0400}}
  - {name: host, hostPath: {path: HOST, type: Directory}}
  containers:
  - name: one
    image: nodal.test/busybox:1
    command: [sh, -c, "umask 7 && echo one >/data/file && exec sleep 1000"]
    securityContext: {runAsUser: 1001, runAsGroup: 1001}
    env: [{name: ME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: data, mountPath: /mine, subPathExpr: "parts/$(ME)"}
    - {name: settings, mountPath: /settings}
    - {name: host, mountPath: /host}
  - name: two
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {runAsUser: 1002, runAsGroup: 1002}
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: host, mountPath: /host, mountPropagation: HostToContainer}
  - name: mounter
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    securityContext: {privileged: true}
    volumeMounts:
    - {name: host, mountPath: /host, mountPropagation: Bidirectional}
    - {name: host, mountPath: /shallow, readOnly: true, mountPropagation: HostToContainer}
    - {name: host, mountPath: /deep, readOnly: true, recursiveReadOnly: IfPossible}
`

// sharedMount makes a mount of the host with shared propagation.
func sharedMount(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The container's mounts below it go with it.
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("", dir, "", unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(dir, "before")
	if err := os.Mkdir(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", inner, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
}

// usualHandler returns the features of the runtime's default handler. Older runtimes do not report
// them.
func (n *node) usualHandler() *runtimev1.RuntimeHandlerFeatures {
	n.t.Helper()
	reply, err := n.rt.CRI().Status(n.t.Context(), &runtimev1.StatusRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, h := range reply.GetRuntimeHandlers() {
		if h.GetName() == "" {
			return h.GetFeatures()
		}
	}
	return nil
}

func TestMountOptionsAreHonoured(t *testing.T) {
	claim.Shows(t, "Volumes",
		"an fsGroup lets containers of different users share a volume and read its files",
		"a subPathExpr mounts the path that the container's variables name",
		"a mount that a container makes reaches the host and other containers by mountPropagation, and no others",
		"recursiveReadOnly covers mounts inside a volume if the runtime can, and is refused if it cannot",
	)
	n := start(t)
	host := filepath.Join(n.Root(), "on-the-host")
	sharedMount(t, host)
	n.apply(settingsMap("fast") + "---\n" + strings.Replace(shared, "HOST", host, 1))
	n.waitRunning("shared")
	deep := "0\n"
	if n.usualHandler().GetRecursiveReadOnlyMounts() {
		deep = "1\n"
	}
	for _, c := range []struct{ container, script, want string }{
		{"one", "id -G; stat -c '%a %g' /data; cat /settings/mode", "1001 5000\n2777 5000\nfast"},
		{"two", "until [ -s /data/file ]; do sleep 0.1; done; cat /data/file && echo two >>/data/file && stat -c '%u:%g' /data/file", "one\n1001:5000\n"},
		{"one", "touch /mine/x; ls /data/parts/shared", "x\n"},
		{"mounter", "mkdir /host/new && mount -t tmpfs tmpfs /host/new && touch /host/new/here; ls /host/new", "here\n"},
		{"two", "ls /host/new", "here\n"},
		{"one", "ls /host/new", ""},
		{"mounter", "touch /shallow/x 2>/dev/null; echo $?; touch /shallow/before/x 2>/dev/null; echo $?", "1\n0\n"},
		{"mounter", "touch /deep/x 2>/dev/null; echo $?; touch /deep/before/x 2>/dev/null; echo $?", "1\n" + deep},
	} {
		if got := n.inside("shared", c.container, c.script); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.script, c.container, got, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(host, "new/here")); err != nil {
		t.Errorf("on the host: %v", err)
	}

	n.apply(strings.NewReplacer("name: shared", "name: deep", "IfPossible", "Enabled", "HOST", host).Replace(shared))
	if deep == "1\n" {
		n.waitRunning("deep")
	} else {
		n.wait("deep", "it is refused", func(p *corev1.Pod) bool {
			w := containerStatus(p, "mounter").State.Waiting
			return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, "requested recursive read-only mode, but it is not supported by the runtime")
		})
	}
	n.deletePod("shared", "")
	n.deletePod("deep", "")
}

func TestAnImageIsAVolume(t *testing.T) {
	claim.Shows(t, "Volumes",
		"an image is mounted read-only as a volume, or a part of it by subPath, if the runtime can; otherwise the pod says that it cannot",
		"a pod whose image volume cannot be pulled waits with ErrImagePull",
		"an image to mount may be named without a tag, or by tag and digest",
		"an image that a pod mounts is not removed; if it is lost, a restart pulls it again",
	)
	n := start(t)
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: tools, image: {reference: "IMAGE"}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "COMMAND"]
    volumeMounts: [{name: tools, mountPath: /tools}, {name: tools, mountPath: /bin2, subPath: DIR}]
`
	manifest := func(name, image, dir string) string {
		return strings.NewReplacer("NAME", name, "IMAGE", image, "COMMAND", obedient, "DIR", dir).Replace(pod)
	}
	n.apply(manifest("missing", "nodal.test/nothing:1", "bin"))
	n.wait("missing", "it says what cannot be pulled", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff") && strings.Contains(w.Message, "nodal.test/nothing:1")
	})
	n.deletePod("missing", "")
	n.apply(manifest("tools", "nodal.test/busybox:1", "bin"))
	var refused string
	n.wait("tools", "it runs, or says why it does not", func(p *corev1.Pod) bool {
		c := containerStatus(p, "main")
		if w := c.State.Waiting; w != nil && w.Reason == "CreateContainerError" {
			refused = w.Message
		}
		return c.State.Running != nil || refused != ""
	})
	if refused == "" {
		if got := n.inside("tools", "main", "/tools/bin/busybox echo here; /bin2/busybox echo too; touch /tools/x 2>/dev/null; echo $?"); got != "here\ntoo\n1\n" {
			t.Errorf("got %q", got)
		}
		n.mountImage(manifest)
	} else if t.Logf("the runtime says %s", refused); !strings.Contains(refused, "with an image as a volume, which not every runtime can mount") {
		t.Errorf("it is refused with %q", refused)
	}
	n.deletePod("tools", "")
}

// mountImage runs pods that mount an image none of their containers uses.
func (n *node) mountImage(manifest func(name, image, dir string) string) {
	n.t.Helper()
	image, err := probeImage(1000)
	if err != nil {
		n.t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.rt.Push("nodal.test/data:latest", image); err != nil {
		n.t.Fatal(err)
	}
	const untagged = "nodal.test/data"
	for name, reference := range map[string]string{"untagged": untagged, "both": untagged + ":latest@" + digest.String()} {
		n.apply(manifest(name, reference, "tmp"))
		n.again(name, 0)
		n.inside(name, "main", "test -x /tools/probe")
	}

	if got := n.curl("/v1/images?image="+untagged+":latest", "-X", "DELETE"); got.code != 409 || !strings.Contains(got.body, "default/untagged") {
		n.t.Errorf("removed while it is mounted: got %s, want 409 and which pod", got)
	}
	gone := &runtimev1.RemoveImageRequest{Image: &runtimev1.ImageSpec{Image: untagged}}
	if _, err := n.rt.Images().RemoveImage(n.t.Context(), gone); err != nil {
		n.t.Fatal(err)
	}
	n.end("untagged", 0)
	n.again("untagged", 1)
	n.inside("untagged", "main", "test -x /tools/probe")
	n.deletePod("untagged", "")
	n.deletePod("both", "")
}
