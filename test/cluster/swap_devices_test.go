package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/test/agent"
	"nodal/test/process"
)

// gadgeted has one of the three devices of a plugin.
var gadgeted = manifest("gadgeted", `  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {limits: {nodal.test/gadget: 1}}
`)

// plugIn starts a plugin of devices at a node, where upstream's kubelet finds it too: in the one directory that it knows.
func plugIn(t *testing.T, root, state string) {
	t.Helper()
	dir := filepath.Join(root, "device-plugins")
	for _, d := range []string{dir, deviceapi.DevicePluginPath} {
		must(t, os.MkdirAll(d, 0o755))
	}
	at := filepath.Clean(deviceapi.DevicePluginPath)
	must(t, unix.Mount(dir, at, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(at, unix.MNT_DETACH)) })
	path, err := agent.DevicePlugin(state)
	must(t, err)
	p := &process.Process{Path: path, Log: filepath.Join(state, "log"), Args: []string{"--dir", dir, "--state", state, "--devices", "g0,g1,g2"}}
	t.Cleanup(p.Kill)
	must(t, p.Start())
}

// registrations counts how often kubelets have asked the plugin what it wants, as they do when it registers.
func (s *swap) registrations() int {
	calls, err := os.ReadFile(filepath.Join(s.gadgets, "calls"))
	if !os.IsNotExist(err) {
		must(s.t, err)
	}
	return strings.Count(string(calls), "options")
}

// gadget returns the device that a pod has.
func (s *swap) gadget(pod string) string {
	s.t.Helper()
	return strings.TrimSpace(s.read(pod, "ls /dev | grep gadget"))
}

// finds checks that the kubelet that runs now gives a new pod the one device that no other has.
func (s *swap) finds(others ...string) {
	s.t.Helper()
	has := map[string]string{}
	for _, name := range others {
		has[s.gadget(name)] = name
	}
	var p *corev1.Pod
	for p == nil || !ready(p) { // upstream refuses pods until it has heard the plugin's list
		s.create(podsPath, strings.NewReplacer("gadgeted", "gadgeted-new", "nodeName: node-a", "nodeName: localhost").Replace(gadgeted))
		s.eventually("an answer to a pod with a device", func() bool {
			p = s.pod("gadgeted-new")
			return p != nil && (ready(p) || p.Status.Phase == corev1.PodFailed)
		})
		if !ready(p) {
			s.remove("gadgeted-new")
		}
	}
	if got := s.gadget("gadgeted-new"); has[got] != "" {
		s.t.Errorf("a new pod has %q, which is the device of %s", got, has[got])
	}
	s.remove("gadgeted-new")
}

func (s *swap) remove(pod string) {
	s.t.Helper()
	s.ask("DELETE", podsPath+"/"+pod, "", "")
	s.eventually(pod+" is gone", func() bool { return s.pod(pod) == nil })
}
