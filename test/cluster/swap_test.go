package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

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
	peer  *process.Process
}

// swapPods use each kind of volume, a sidecar and each kind of probe.
var swapPods = []string{
	manifest("volumes", `  initContainers:
  - {name: side, image: "nodal.test/busybox:1", command: [sh, -c, "exec sleep 1000"], restartPolicy: Always}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    volumeMounts:
    - {name: disk, mountPath: /disk}
    - {name: disk, mountPath: /part, subPath: part}
    - {name: memory, mountPath: /memory}
    - {name: settings, mountPath: /settings}
    - {name: settings, mountPath: /one, subPath: mode}
    - {name: login, mountPath: /login}
    - {name: mixed, mountPath: /mixed}
    - {name: down, mountPath: /down}
    - {name: host, mountPath: /host}
  volumes:
  - {name: disk, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: settings, configMap: {name: settings}}
  - {name: login, secret: {secretName: login}}
  - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: host, hostPath: {path: HOST, type: Directory}}
  - name: mixed
    projected:
      sources:
      - serviceAccountToken: {path: token, expirationSeconds: 7200}
      - configMap: {name: settings}
      - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
`),
	manifest("probed", `  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    startupProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 30}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 3}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 3}
`),
	manifest("crashed", mortal),
}

const staticPod = `apiVersion: v1
kind: Pod
metadata: {name: static, namespace: default, uid: 5b1d0f54-0a7b-4f5f-9d0a-2f2f4a3f1a11}
spec:
  terminationGracePeriodSeconds: 1
` + sleeper

// newSwap makes a node on which this kubelet runs.
func newSwap(t *testing.T) *swap {
	t.Helper()
	keepTunables(t)
	p, rt, files := startPlane(t), rig.Containerd(t), t.TempDir()
	sweepLinks(t, rt.Dir)
	s := &swap{rt: rt, files: files}
	// localhost always resolves: upstream's kubelet needs that.
	s.world = &world{plane: p, node: daemon.Start(t, rt, "--kubeconfig", p.kubeconfig(controlplane.Local), "--hostname-override", "localhost",
		"--pod-manifest-path", files, "--node-status-update-frequency", "1s")}
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
`, rt.Endpoint, files, s.node.PodLogs, ports.Secure, rt.CgroupParent), 0o600))
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
	s.heard(func() { must(s.t, s.peer.Start()) })
}

// back ends upstream's kubelet, starts this one, and waits until that has renewed its lease.
func (s *swap) back() {
	s.t.Helper()
	must(s.t, s.peer.Stop(syscall.SIGTERM, patience))
	s.heard(s.node.Launch)
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

// state returns what has to stay as it is, a line for each thing.
func (s *swap) state(names ...string) []string {
	s.t.Helper()
	var lines []string
	for _, name := range names {
		p := s.pod(name)
		if p == nil {
			lines = append(lines, name+" is gone")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s ip=%s phase=%s ready=%t", name, p.UID, p.Status.PodIP, p.Status.Phase, ready(p)))
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			lines = append(lines, fmt.Sprintf("%s/%s %s restarts=%d ready=%t", name, c.Name, c.ContainerID, c.RestartCount, c.Ready))
		}
	}
	return append(lines, s.running()...)
}

// running returns the sandboxes and containers that run, by the runtime.
func (s *swap) running() []string {
	s.t.Helper()
	sandboxes, err := s.rt.CRI().ListPodSandbox(s.t.Context(), &runtimev1.ListPodSandboxRequest{})
	must(s.t, err)
	containers, err := s.rt.CRI().ListContainers(s.t.Context(), &runtimev1.ListContainersRequest{})
	must(s.t, err)
	found := map[string]bool{}
	for _, b := range sandboxes.GetItems() {
		if b.GetState() == runtimev1.PodSandboxState_SANDBOX_READY {
			found[fmt.Sprintf("sandbox %s %s", b.GetMetadata().GetName(), b.GetId())] = true
		}
	}
	for _, c := range containers.GetContainers() {
		if c.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING {
			found[fmt.Sprintf("container %s %s", c.GetMetadata().GetName(), c.GetId())] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// read runs a script in a container, past every kubelet.
func (s *swap) read(pod, script string) string {
	s.t.Helper()
	id := strings.TrimPrefix(s.pod(pod).Status.ContainerStatuses[0].ContainerID, "containerd://")
	reply, err := s.rt.CRI().ExecSync(s.t.Context(), &runtimev1.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", script}})
	must(s.t, err)
	return string(reply.GetStdout()) + string(reply.GetStderr())
}

// seenInside shows the files that a pod sees. Of the token it shows only that there is one, since a kubelet renews it.
const seenInside = `cat /disk/mine /part/mine /memory/mine /settings/mode /one /login/password /mixed/mode /mixed/name /down/labels /host/mine; wc -l < /mixed/token; cat /etc/hosts`

func TestUpstreamsKubeletAndThisOneTakeTurns(t *testing.T) {
	claim.Shows(t, "In a cluster",
		"upstream's kubelet and this one take turns on the same files: no container or sandbox, restart count, address or volume changes, neither of pods that the one nor of those that the other has started",
	)
	swaps, err := strconv.Atoi(os.Getenv(SwapsEnv))
	if err != nil {
		swaps = 3
	}
	s := newSwap(t)
	host := t.TempDir()
	must(t, os.WriteFile(filepath.Join(host, "mine"), []byte("of the host\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(s.files, "static.yaml"), []byte(staticPod), 0o600))
	s.create("/api/v1/namespaces/default/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n")
	s.create("/api/v1/namespaces/default/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
	names := s.begin("a", host)
	s.eventually("the mirror", func() bool { p := s.pod("static-localhost"); return p != nil && ready(p) })
	names = append(names, "static-localhost")
	s.toUpstream()
	for i := range swaps {
		if i == 0 {
			names = append(names, s.begin("b", host)...) // upstream's own pods
		}
		before, had := s.state(names...), s.contents(names)
		if i%2 == 0 {
			s.back()
		} else {
			s.toUpstream()
		}
		s.rests(names)
		if after := s.state(names...); !slices.Equal(after, before) {
			t.Errorf("swap %d: got\n%s\nwant\n%s", i, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		if has := s.contents(names); has != had {
			t.Errorf("swap %d: got\n%s\nwant\n%s", i, has, had)
		}
		if t.Failed() {
			return
		}
	}
}

// begin has pods run, with a suffix to their names, writes into their volumes, and restarts the one that crashes.
func (s *swap) begin(suffix, host string) (names []string) {
	s.t.Helper()
	for _, text := range swapPods {
		name := strings.Fields(strings.SplitN(text, "{name: ", 2)[1])[0]
		name = strings.TrimSuffix(name, ",")
		text = strings.ReplaceAll(text, name+",", name+"-"+suffix+",")
		text = strings.NewReplacer("nodeName: node-a", "nodeName: localhost", "HOST", host).Replace(text)
		s.create(podsPath, text)
		names = append(names, name+"-"+suffix)
	}
	for _, name := range names {
		s.eventually(name+" ready", func() bool { p := s.pod(name); return p != nil && ready(p) })
	}
	s.read("volumes-"+suffix, "for d in disk part memory; do echo "+suffix+" > /$d/mine; done")
	s.read("crashed-"+suffix, "touch /die")
	s.eventually("a restart", func() bool {
		p := s.pod("crashed-" + suffix)
		return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	return names
}

// contents returns what the pods with volumes see.
func (s *swap) contents(names []string) (text string) {
	for _, name := range names {
		if strings.HasPrefix(name, "volumes") {
			text += name + ": " + s.read(name, seenInside) + "\n"
		}
	}
	return text
}

// rests waits until a kubelet has probed its pods several times after a swap.
func (s *swap) rests(names []string) {
	s.t.Helper()
	until := time.Now().Add(8 * time.Second)
	s.eventually("rest", func() bool { return time.Now().After(until) && len(names) > 0 })
}
