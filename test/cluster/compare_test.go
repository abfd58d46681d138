package cluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/differences"
	controlplane "nodal/test/plane"
	"nodal/test/process"
	"nodal/test/rig"
)

// side is one of the two kubelets, which run at the same time on runtimes of their own.
type side struct {
	*plane
	rt        *rig.Runtime
	node      string // the name of its Node object
	namespace string // of its pods
	port      int
	own       bool // it is this kubelet
	facts     differences.Facts
}

// settings are the fields of the configuration that both kubelets get.
func settings(rt *rig.Runtime) map[string]any {
	none := map[string]string{}
	for _, signal := range []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"} {
		none[signal] = "0%"
	}
	return map[string]any{
		"containerRuntimeEndpoint": rt.Endpoint, "cgroupRoot": rt.CgroupParent, "podLogsDir": filepath.Join(rt.Dir, "pods"),
		"address": "127.0.0.1", "authorization": map[string]any{"mode": "AlwaysAllow"},
		"authentication": map[string]any{"anonymous": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false}},
		"cgroupDriver":   "cgroupfs", "evictionHard": none, "imageGCHighThresholdPercent": 100,
		"failCgroupV1": false, "failSwapOn": false, "makeIPTablesUtilChains": false, "nodeStatusUpdateFrequency": "1s", "syncFrequency": "5s",
	}
}

// newSides starts both kubelets under one control plane.
func newSides(t *testing.T) [2]*side {
	t.Helper()
	keepTunables(t)
	p := startPlane(t)
	upstream := &side{plane: p, rt: rig.Containerd(t), node: string(controlplane.Local), namespace: "upstream", facts: differences.Facts{}}
	here := &side{plane: p, rt: rig.Containerd(t), node: string(controlplane.Node), namespace: "here", own: true, facts: differences.Facts{}}
	for _, s := range []*side{upstream, here} {
		sweepLinks(t, s.rt.Dir)
		s.populate()
	}
	upstream.start()
	c := agent.Config{Dir: filepath.Join(here.rt.Dir, "node"), Endpoint: here.rt.Endpoint, CgroupParent: here.rt.CgroupParent, Settings: settings(here.rt)}
	c.Flags = []string{"--kubeconfig", p.kubeconfig(controlplane.Node)}
	var err error
	c.Binary, err = agent.Build(t.TempDir())
	must(t, err)
	here.port = daemon.StartWith(t, c).Port
	return [2]*side{upstream, here}
}

// start runs upstream's kubelet.
func (s *side) start() {
	s.t.Helper()
	root := filepath.Join(s.rt.Dir, "upstream")
	share(s.t, root)
	makeCgroup(s.t, s.rt.CgroupParent)
	ports, claimed, err := agent.ClaimPorts()
	must(s.t, err)
	s.t.Cleanup(func() { claimed.Close() })
	s.port = ports.Secure
	config := settings(s.rt)
	config["apiVersion"], config["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	config["port"], config["healthzPort"] = ports.Secure, ports.Healthz
	text, err := yaml.Marshal(config)
	must(s.t, err)
	file := filepath.Join(s.rt.Dir, "upstream.yaml")
	must(s.t, os.WriteFile(file, text, 0o600))
	k := &process.Process{Path: s.Program("kubelet"), Log: filepath.Join(s.rt.Dir, "upstream.log"), Args: []string{
		"--config", file, "--root-dir", root, "--cert-dir", filepath.Join(s.rt.Dir, "upstream-pki"),
		"--hostname-override", s.node, "--kubeconfig", s.kubeconfig(controlplane.Local),
	}}
	s.t.Cleanup(func() {
		k.Kill()
		if s.t.Failed() {
			s.t.Logf("upstream's kubelet has logged\n%s", k.LogTail())
		}
	})
	must(s.t, k.Start())
}

// makeCgroup makes a cgroup in each hierarchy, as upstream's kubelet wants its root to be.
func makeCgroup(t *testing.T, name string) {
	t.Helper()
	const mounts = "/sys/fs/cgroup"
	tops := []string{mounts}
	if _, err := os.Stat(filepath.Join(mounts, "cgroup.controllers")); err != nil { // version 1
		found, err := os.ReadDir(mounts)
		must(t, err)
		tops = nil
		for _, f := range found {
			if f.Type()&fs.ModeSymlink == 0 {
				tops = append(tops, filepath.Join(mounts, f.Name()))
			}
		}
	}
	for _, top := range tops {
		dir := filepath.Join(top, name)
		must(t, os.MkdirAll(dir, 0o755))
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if all, err := os.ReadFile(filepath.Join(top, file)); err == nil {
				must(t, os.WriteFile(filepath.Join(dir, file), all, 0))
			}
		}
	}
}

// askKubelet sends a request to the kubelet itself.
func (s *side) askKubelet(path string) *http.Response {
	s.t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d%s", s.port, path))
	must(s.t, err)
	return answer
}

// read reads a path of the kubelet.
func (s *side) read(path string) []byte {
	s.t.Helper()
	answer := s.askKubelet(path)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(s.t, err)
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s of the kubelet of %s: %d %s", path, s.node, answer.StatusCode, text)
	}
	return text
}

func TestWhatDiffersFromUpstreamsKubeletIsWritten(t *testing.T) {
	claim.Shows(t, "In a cluster",
		"the Node object is upstream's, but for what is written",
		"conditions, states of containers and all else in the status of pods are upstream's, but for what is written",
		"events of pods and of the node are upstream's, but for what is written",
	)
	sides := newSides(t)
	for _, s := range sides {
		s.begin()
	}
	for _, s := range sides {
		s.readNode()
		s.readPods()
		s.expire()
		s.readKubelet()
		s.facts.Drop(varying...)
		maps.DeleteFunc(s.facts, func(_, text string) bool { return text == boundless })
	}
	dropListedMetrics(t, sides[0].facts, sides[1].facts)
	for _, s := range sides {
		s.resize()
		s.end()
	}
	for _, fault := range compareEvents(t, sides[0].readEvents(), sides[1].readEvents(), sides[0].facts, sides[1].facts) {
		t.Error(fault)
	}
	rows, err := differences.Read("../..", "What others see")
	must(t, err)
	found := differences.Compare(sides[0].facts, sides[1].facts)
	unlisted, stale := differences.Check(found, rows)
	for _, d := range unlisted {
		t.Errorf("this differs, and docs/DIFFERENCES.md has no line for it: %s", d)
	}
	for _, row := range stale {
		t.Errorf("docs/DIFFERENCES.md has a line for %s, which does not differ: %s", row.Names[0], row.Cells[3])
	}
}

// varying are facts that differ from run to run, or since the test gives the kubelets other ports and names.
var varying = []string{
	"*.metadata.managedFields*", "*.metadata.resourceVersion", "*.metadata.generation", "*.Port", "*Port", "configz.kubeletconfig.port", "configz.kubeletflags.*",
	"configz.kubeletconfig.logging.verbosity", "*.hostIPs[1].ip", "*.podIPs[1].ip", // of a machine with addresses of both families
	// A pod that ends at once: upstream may not have read its limits, and containerd may hear of the end before it hears why.
	"Pod swollen.*resources.limits.memory", "Pod swollen.*.terminated.reason",
	"Pod unwell.*", "Pod crash.*.restartCount", "Pod unstarted.*.restartCount", "Pod unmounted.podIP*", "Pod misnamed.podIP*", "*[PodReadyToStartContainers].status",
	"/stats/summary.*usageNanoCores", "/stats/summary.pods*.network.*", "/stats/summary.pods*.volume*", "/stats/summary.pods*.process_stats.*",
}

// boundless holds the kernel's word for memory without a limit, in cgroups of version 1.
const boundless = "9007199254740988Ki"

// readNode reads what the cluster knows of the node.
func (s *side) readNode() {
	s.t.Helper()
	for name, path := range map[string]string{
		"Node": "/api/v1/nodes/" + s.node, "CSINode": "/apis/storage.k8s.io/v1/csinodes/" + s.node,
		"Lease": "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + s.node,
	} {
		if name == "Lease" {
			s.eventually("the lease of "+s.node, func() bool { code, _ := s.try("GET", path, "", nil); return code == http.StatusOK })
		}
		code, text := s.try("GET", path, "", nil)
		if code == http.StatusOK {
			must(s.t, s.facts.Add(name, s.plain(text)))
		}
	}
	s.facts.Drop("Node.status.images*")
}
