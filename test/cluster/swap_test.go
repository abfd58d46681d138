package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"

	"nodal/host/tunable"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/process"
	"nodal/test/rig"
)

// SwapsEnv sets how often the kubelets take turns.
const SwapsEnv = "NODAL_SWAPS"

// swap is a node on which upstream's kubelet and this one take turns.
type swap struct {
	*world
	rt    *rig.Runtime
	files string // the directory of static pods
	host  string // a directory of the machine that pods use
	peer  *process.Process

	gadgets  string // the directory of the plugin of devices
	disks    string // that of the CSI driver
	policies static
}

// newSwap makes a node on which this kubelet runs.
func newSwap(t *testing.T) *swap {
	t.Helper()
	keepTunables(t)
	p, rt, files := startPlane(t), rig.Containerd(t), t.TempDir()
	sweepLinks(t, rt.Dir)
	share(t, filepath.Join(rt.Dir, "node", "root"))
	s := &swap{rt: rt, files: files, host: t.TempDir(), gadgets: t.TempDir(), disks: t.TempDir(), policies: staticPolicies()}
	plugIn(t, filepath.Join(rt.Dir, "node", "root"), s.gadgets)
	drive(t, filepath.Join(rt.Dir, "node", "root"), s.disks)
	// localhost always resolves: upstream's kubelet needs that.
	s.world = &world{plane: p, node: daemon.Start(t, rt, slices.Concat([]string{
		"--kubeconfig", p.kubeconfig(controlplane.Local), "--hostname-override", "localhost",
		"--pod-manifest-path", files, "--node-status-update-frequency", "1s",
	}, s.policies.flags())...)}
	ports, claimed, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claimed.Close() })
	config := filepath.Join(rt.Dir, "peer.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: %s
staticPodPath: %s
podLogsDir: %s
address: 127.0.0.1
port: %d
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: %s
evictionHard: {memory.available: 0%%, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%, imagefs.inodesFree: 0%%}
imageGCHighThresholdPercent: 100
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 1s
syncFrequency: 5s
%s`, rt.Endpoint, files, s.node.PodLogs, ports.Secure, rt.CgroupParent, s.policies.config()), 0o600))
	s.peer = &process.Process{Path: p.Program("kubelet"), Log: filepath.Join(rt.Dir, "peer.log"), Args: []string{
		"--config", config, "--root-dir", s.node.Dir, "--cert-dir", filepath.Join(rt.Dir, "peer-pki"),
		"--hostname-override", "localhost", "--kubeconfig", p.kubeconfig(controlplane.Local),
	}}
	t.Cleanup(func() {
		s.peer.Kill()
		if t.Failed() {
			t.Logf("upstream's kubelet has logged\n%s", s.peer.LogTail())
		}
	})
	return s
}

// share makes a directory a shared mount, as systemd makes all mounts. Otherwise upstream's kubelet mounts the directory
// over itself, and hides what is mounted below it.
func share(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, unix.Mount(dir, dir, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	must(t, unix.Mount("", dir, "", unix.MS_SHARED|unix.MS_REC, ""))
}

// keepTunables restores the kernel's settings at the end, since upstream's kubelet changes some.
func keepTunables(t *testing.T) {
	t.Helper()
	differ, err := tunable.Differ(tunable.Proc)
	must(t, err)
	t.Cleanup(func() {
		for _, s := range differ {
			must(t, tunable.Change(tunable.Proc, tunable.Setting{Name: s.Name, Is: s.Want, Want: s.Is}))
		}
	})
}

// sweepLinks removes links to logs at the end. Upstream's kubelet leaves some in a directory that no setting moves.
func sweepLinks(t *testing.T, dir string) {
	t.Cleanup(func() {
		links, err := filepath.Glob("/var/log/containers/*")
		must(t, err)
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, dir+"/") {
				must(t, os.Remove(link))
			}
		}
	})
}

// toUpstream ends this kubelet, starts upstream's, and waits until that has renewed its lease.
func (s *swap) toUpstream() {
	s.t.Helper()
	s.node.Kill()
	s.registered(func() { s.heard(func() { must(s.t, s.peer.Start()) }) })
}

// back ends upstream's kubelet, starts this one, and waits until that has renewed its lease.
func (s *swap) back() {
	s.t.Helper()
	must(s.t, s.peer.Stop(syscall.SIGTERM, patience))
	s.registered(func() { s.heard(s.node.Launch) })
}

// registered starts a kubelet, and waits until the plugin of devices has registered there.
func (s *swap) registered(begin func()) {
	s.t.Helper()
	before := s.registrations()
	begin()
	s.eventually("the plugin's registration", func() bool { return s.registrations() > before })
}

// heard starts a kubelet, and waits until it renews the node's lease.
func (s *swap) heard(begin func()) {
	s.t.Helper()
	begun := time.Now()
	begin()
	s.eventually("the node's lease", func() bool {
		lease, ok := get[coordinationv1.Lease](s.plane, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/localhost")
		return ok && lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(begun)
	})
}

func TestUpstreamsKubeletAndThisOneTakeTurns(t *testing.T) {
	claim.Shows(t, "In a cluster",
		"upstream's kubelet and this one take turns on the same files: no container or sandbox, restart count, address or volume changes, neither of pods that the one nor of those that the other has started",
		"a static pod without a UID in its manifest lives on when upstream's kubelet and this one take turns",
		"pods stay as ready as they were when upstream's kubelet and this one take turns, and so do the times of their conditions",
		"upstream's kubelet and this one know of each other which devices, CPUs and memory of NUMA nodes containers have, and give them to no other pod",
		"inline csi volumes, those of claims that a pod owns, and images stay when upstream's kubelet and this one take turns",
	)
	swaps, err := strconv.Atoi(os.Getenv(SwapsEnv))
	if err != nil {
		swaps = 3
	}
	s := newSwap(t)
	names := s.settle()
	s.toUpstream()
	for i := range swaps {
		if i == 0 {
			names = append(names, s.begin("b")...) // upstream's own pods
			names = append(names, s.drop("late"))
		}
		s.turns("flaky-a", "flaky-b")
		leaves := i%2 == 1 // this kubelet, for upstream's
		before, had, watched := s.state(leaves, names...), s.contents(names), s.watch(leaves)
		if leaves {
			s.toUpstream()
		} else {
			s.back()
		}
		s.rests(names)
		watched()
		if after := s.state(leaves, names...); !slices.Equal(after, before) {
			t.Errorf("swap %d: got\n%s\nwant\n%s", i, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		if has := s.contents(names); has != had {
			t.Errorf("swap %d: got\n%s\nwant\n%s", i, has, had)
		}
		if t.Failed() {
			return
		}
		s.change(i)
		s.finds("gadgeted-a", "gadgeted-b")
	}
}

// settle makes what pods use, and has the first of them run.
func (s *swap) settle() []string {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.host, "mine"), []byte("of the host\n"), 0o600))
	must(s.t, os.Mkdir(filepath.Join(s.host, "local"), 0o755))
	must(s.t, os.WriteFile(filepath.Join(s.files, "static.yaml"), []byte(staticPod), 0o600))
	s.create("/api/v1/namespaces/default/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n")
	s.create("/api/v1/namespaces/default/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
	s.claim("localhost", s.host+"/local")
	s.volume()
	names := append(s.begin("a"), s.drop("plain"), "static-localhost")
	s.eventually("the mirror", func() bool { p := s.pod("static-localhost"); return p != nil && ready(p) })
	return names
}

// rests waits until a kubelet has probed its pods several times after a swap.
func (s *swap) rests(names []string) {
	s.t.Helper()
	until := time.Now().Add(8 * time.Second)
	s.eventually("rest", func() bool { return time.Now().After(until) && len(names) > 0 })
}
