package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

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
    - {name: claimed, mountPath: /claimed}
  volumes:
  - {name: disk, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: settings, configMap: {name: settings}}
  - {name: login, secret: {secretName: login}}
  - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: host, hostPath: {path: HOST, type: Directory}}
  - {name: claimed, persistentVolumeClaim: {claimName: data}}
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
    startupProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 30, timeoutSeconds: 60}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 3, timeoutSeconds: 60}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 3, timeoutSeconds: 60}
`),
	manifest("crashed", mortal),
	// It is ready as long as a file says so.
	manifest("flaky", `  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "touch /ok; exec sleep 1000"]
    readinessProbe: {exec: {command: [test, -e, /ok]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 60}
`),
	gadgeted,
	driven,
	inlined,
	owning,
}

// exclusive has a processor of its own, if the kubelets assign any.
var exclusive = manifest("exclusive-a", `  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {limits: {cpu: 1, memory: 32Mi}}
`)

const staticPod = `apiVersion: v1
kind: Pod
metadata: {name: static, namespace: default, uid: 5b1d0f54-0a7b-4f5f-9d0a-2f2f4a3f1a11}
spec:
  terminationGracePeriodSeconds: 1
` + sleeper

// nameless is like kubeadm's static pods: it has no UID, and its data is on the machine. It notes each of its starts there.
const nameless = `apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default, labels: {tier: control-plane}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  priorityClassName: system-node-critical
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "echo begun >> /data/NAME; exec sleep 1000"]
    resources: {requests: {memory: 8Mi}}
    readinessProbe: {exec: {command: [test, -e, /data/NAME]}, periodSeconds: 1}
    livenessProbe: {exec: {command: ["true"]}, initialDelaySeconds: 1, periodSeconds: 10, timeoutSeconds: 15, failureThreshold: 8}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - {name: data, hostPath: {path: HOST, type: DirectoryOrCreate}}
`

// begin has pods run, with a suffix to their names, writes into their volumes, and restarts the one that crashes.
func (s *swap) begin(suffix string) (names []string) {
	s.t.Helper()
	pods := swapPods
	if os.Getenv(rig.BundleEnv) != "" { // Debian's containerd mounts no images
		pods = append(slices.Clone(pods), imaged)
	}
	for _, text := range pods {
		name := strings.Fields(strings.SplitN(text, "{name: ", 2)[1])[0]
		name = strings.TrimSuffix(name, ",")
		text = strings.ReplaceAll(text, name+",", name+"-"+suffix+",")
		text = strings.NewReplacer("nodeName: node-a", "nodeName: localhost", "HOST", s.host).Replace(text)
		s.create(podsPath, text)
		names = append(names, name+"-"+suffix)
	}
	s.own("owning-" + suffix)
	if suffix == "a" {
		s.create(podsPath, strings.ReplaceAll(exclusive, "nodeName: node-a", "nodeName: localhost"))
		names = append(names, "exclusive-a")
	}
	for _, name := range names {
		s.eventually(name+" ready", func() bool { p := s.pod(name); return p != nil && ready(p) })
	}
	s.read("volumes-"+suffix, "for d in disk part memory claimed; do echo "+suffix+" > /$d/mine; done")
	if calls, err := os.ReadFile(filepath.Join(s.disks, "calls")); err != nil || !strings.Contains(string(calls), "NodePublishVolume vol-owning-"+suffix+"-disk") {
		s.t.Fatalf("the driver was not asked for the volume of pod owning-%s: %v\n%s", suffix, err, calls)
	}
	for _, name := range []string{"driven-", "inlined-", "owning-"} {
		s.read(name+suffix, "echo "+suffix+" >> /disk/mine")
	}
	s.read("crashed-"+suffix, "touch /die")
	s.eventually("a restart", func() bool {
		p := s.pod("crashed-" + suffix)
		return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	return names
}

// drop has a static pod without a UID run, and returns the name of its mirror.
func (s *swap) drop(name string) string {
	s.t.Helper()
	text := strings.NewReplacer("NAME", name, "HOST", s.host).Replace(nameless)
	must(s.t, os.WriteFile(filepath.Join(s.files, name+".yaml"), []byte(text), 0o600))
	name += "-localhost"
	s.eventually(name+" ready", func() bool { p := s.pod(name); return p != nil && ready(p) })
	return name
}

// change changes what volumes are made of, and waits until the pods see it under the kubelet that runs now.
func (s *swap) change(turn int) {
	s.t.Helper()
	mode, password := fmt.Sprint("mode", turn), fmt.Sprint("password", turn)
	s.ask("PATCH", "/api/v1/namespaces/default/configmaps/settings", "application/merge-patch+json", fmt.Sprintf(`{"data": {"mode": %q}}`, mode))
	s.ask("PATCH", "/api/v1/namespaces/default/secrets/login", "application/merge-patch+json", fmt.Sprintf(`{"stringData": {"password": %q}}`, password))
	for _, pod := range []string{"volumes-a", "volumes-b"} {
		s.ask("PATCH", podsPath+"/"+pod, "application/merge-patch+json", fmt.Sprintf(`{"metadata": {"labels": {"turn": "%d"}}}`, turn))
		want := mode + password + mode + fmt.Sprintf("turn=\"%d\"", turn)
		s.eventually(want+" in "+pod, func() bool {
			return s.read(pod, "cat /settings/mode /login/password /mixed/mode; grep -o turn=.* /down/labels") == want+"\n"
		})
	}
}

// isStatic reports whether a name is that of a mirror. Upstream's kubelet takes static pods for new at each of its starts:
// it shows them with other times, and unready until their first probe.
func isStatic(name string) bool { return strings.HasSuffix(name, "-localhost") }

// state returns what has to stay as it is when this kubelet leaves or is back, a line for each thing.
func (s *swap) state(leaves bool, names ...string) []string {
	s.t.Helper()
	var lines []string
	for _, name := range names {
		p := s.pod(name)
		if p == nil {
			lines = append(lines, name+" is gone")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s ip=%s phase=%s", name, p.UID, p.Status.PodIP, p.Status.Phase))
		if !leaves || !isStatic(name) {
			lines = append(lines, fmt.Sprintf("%s begun %s", name, p.Status.StartTime))
		}
		for _, c := range p.Status.Conditions {
			line := fmt.Sprintf("%s %s=%s", name, c.Type, c.Status)
			if !leaves || !isStatic(name) {
				line += fmt.Sprintf(" since %s", c.LastTransitionTime)
			}
			lines = append(lines, line)
		}
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
const seenInside = `cat /disk/mine /part/mine /memory/mine /settings/mode /one /login/password /mixed/mode /mixed/name /down/labels /host/mine /claimed/mine; wc -l < /mixed/token; cat /etc/hosts`

// contents returns what the pods with volumes see, and how often the static pods have begun.
func (s *swap) contents(names []string) (text string) {
	for _, name := range names {
		if strings.HasPrefix(name, "volumes") {
			text += name + ": " + s.read(name, seenInside) + "\n"
		}
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "driven", "inlined", "owning":
			text += name + ": " + s.read(name, "cat /disk/mine") + "\n"
		case "imaged":
			text += name + ": " + s.read(name, "/disk/bin/busybox echo runs") + "\n"
		case "exclusive":
			text += name + ": " + s.read(name, "grep _allowed_list /proc/self/status") + "\n"
		}
		if strings.HasPrefix(name, "gadgeted") {
			text += name + ": " + s.gadget(name) + "\n"
		}
		if begun, err := os.ReadFile(filepath.Join(s.host, strings.TrimSuffix(name, "-localhost"))); err == nil {
			text += name + ": " + string(begun)
		}
	}
	return text + s.states()
}

// states returns what the files say from which upstream's kubelet would go on.
func (s *swap) states() (text string) {
	s.t.Helper()
	for _, name := range s.policies.files() {
		content, err := os.ReadFile(filepath.Join(s.node.Dir, name))
		must(s.t, err)
		text += name + ": " + string(content) + "\n"
	}
	return text
}

// static holds whether the kubelets assign processors that are a container's own. Memory of NUMA nodes they always do.
type static bool

// staticPolicies returns whether the machine has enough processors for that.
func staticPolicies() static { return static(runtime.NumCPU() > 1) }

func (on static) flags() []string {
	flags := []string{"--memory-manager-policy", "Static", "--kube-reserved", "memory=64Mi", "--reserved-memory", "0:memory=64Mi"}
	if on {
		flags = append(flags, "--cpu-manager-policy", "static", "--reserved-cpus", "0")
	}
	return flags
}

func (on static) config() string {
	config := "memoryManagerPolicy: Static\nkubeReserved: {memory: 64Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 64Mi}}]\n"
	if on {
		config += "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n"
	}
	return config
}

// files returns the names of the files in which the policies keep what they have assigned.
func (on static) files() []string {
	if on {
		return []string{"cpu_manager_state", "memory_manager_state"}
	}
	return []string{"memory_manager_state"}
}
