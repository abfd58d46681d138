package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/process"
)

const diskDriver = "disk.nodal.test"

// disks is the CSI driver, a process of its own.
type disks struct {
	process.Process
	n     *node
	state string
}

// mountDisks starts the driver, with more arguments.
func (n *node) mountDisks(args ...string) *disks {
	n.t.Helper()
	path, err := agent.CSIDriver(n.rt.Dir) // which goes with the test
	if err != nil {
		n.t.Fatal(err)
	}
	state := filepath.Join(n.rt.Dir, "disks")
	if err := os.MkdirAll(state, 0o755); err != nil {
		n.t.Fatal(err)
	}
	d := &disks{n: n, state: state, Process: process.Process{
		Path: path, Log: filepath.Join(state, "log"), Args: append([]string{
			"--registry", filepath.Join(n.Root(), "plugins_registry"), "--state", state, "--socket", filepath.Join(state, "csi.sock"),
		}, args...),
	}}
	n.t.Cleanup(d.Kill)
	d.begin()
	return d
}

func (d *disks) begin() {
	d.n.t.Helper()
	if err := d.Start(); err != nil {
		d.n.t.Fatal(err)
	}
}

// tell writes a file of the driver's directory of state.
func (d *disks) tell(file string, lines ...string) {
	d.n.t.Helper()
	if err := os.WriteFile(filepath.Join(d.state, file), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		d.n.t.Fatal(err)
	}
}

// heard returns the lines of what the driver was asked that begin with some words.
func (d *disks) heard(words string) (lines []string) {
	d.n.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.state, "calls"))
	if err != nil && !os.IsNotExist(err) {
		d.n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, words) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// shownDriver is a CSI driver as the API shows it.
type shownDriver struct {
	Version, NodeID, MaxVolumes string
	Topology                    map[string]string
	Capabilities                []string
}

// waitDriver waits until the API shows the driver as one that is registered, and returns what it can do.
func (d *disks) waitDriver() (shown shownDriver) {
	d.n.t.Helper()
	var answer struct {
		Plugins []struct {
			Name, Message         string
			Connected, Registered bool
			CSI                   shownDriver
		}
	}
	d.n.eventually("the driver to be registered", func() bool {
		answer.Plugins = nil
		d.n.curl("/v1/node/plugins").into(d.n, &answer)
		if len(answer.Plugins) != 1 {
			return false
		}
		p := answer.Plugins[0]
		shown = p.CSI
		return p.Name == diskDriver && p.Connected && p.Registered && p.Message == ""
	})
	return shown
}

func TestCSIDriversAreKnown(t *testing.T) {
	claim.Shows(t, "CSI",
		"a CSI driver that registers is asked for its name, what it can do and how it knows the node, and the API shows it",
		"a driver whose own socket does not answer is not registered, says the API, and is asked again",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,SINGLE_NODE_MULTI_WRITER")
	want := shownDriver{
		Version: "0.1", NodeID: "this-node", MaxVolumes: "7", Topology: map[string]string{"nodal.test/rack": "r1"},
		Capabilities: []string{"SINGLE_NODE_MULTI_WRITER", "STAGE_UNSTAGE_VOLUME"},
	}
	if got := d.waitDriver(); !reflect.DeepEqual(got, want) {
		t.Errorf("the node shows %+v, want %+v", got, want)
	}
	if got := d.heard("Registered"); len(got) != 1 || got[0] != "Registered true" {
		t.Errorf("the driver has heard %q, want that it is registered", got)
	}
	d.Kill()
	d.tell("fail", "NodeGetInfo")
	d.begin()
	n.waitPlugin("refused", func(p shownPlugin) bool {
		return !p.Registered && strings.Contains(p.Message, "NodeGetInfo: rpc error: code = Internal desc = NodeGetInfo fails as it shall")
	})
	d.tell("fail")
	d.waitDriver()
}

// diskOf is a volume of the driver, with its claim.
func diskOf(name, more string) string {
	return "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-" + name + "}\nspec:\n  storageClassName: " + name +
		"\n  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  mountOptions: [noatime]\n  csi:\n    driver: " + diskDriver +
		"\n    volumeHandle: vol-" + name + "\n    fsType: ext4\n" + more + claimOf(name, name, "")
}

// holder is a pod that has the claim of a disk at /disk. Its source is {claimName: NAME} with more.
func holder(name, source string) string {
	return keeper(name, "  - {name: disk, persistentVolumeClaim: {"+source+"}}\n", "disk")
}

// left returns what there is of volumes of the driver on the node, and their mounts.
func (d *disks) left() string {
	d.n.t.Helper()
	dir := filepath.Join(d.n.Root(), "plugins", "kubernetes.io", "csi")
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		d.n.t.Fatal(err)
	}
	return strings.Join(found, " ") + mountsUnder(d.n.t, dir) + mountsUnder(d.n.t, filepath.Join(d.n.Root(), "pods"))
}

// wantHeard checks how often the driver was asked for something.
func (d *disks) wantHeard(call string, want int) {
	d.n.t.Helper()
	if got := d.heard(call); len(got) != want {
		d.n.t.Errorf("the driver has heard %q, want %d times %s", d.heard(strings.Fields(call)[0]), want, call)
	}
}

func TestPodsShareAVolumeOfACSIDriver(t *testing.T) {
	claim.Shows(t, "CSI",
		"a claim binds to a posted PersistentVolume with a csi source; it is staged once, published for each pod, and unstaged after the last one",
		"a driver gets the access mode, the type of file system, mount options, attributes and Secrets of a volume",
		"a read-only claim is published read-only, and fsGroup applies to a volume that one node writes",
		"a pod keeps its volume over the end of the agent and of the driver, and neither stages nor publishes it again",
		"a volume that a driver cannot stage keeps its own pods waiting, with Kubernetes' words",
		"a driver that hangs over one volume holds up no other",
		"a driver that can say how full its volumes are is asked, and /stats/summary and kubelet_volume_stats_* show what it says",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,SINGLE_NODE_MULTI_WRITER,GET_VOLUME_STATS")
	d.tell("fail", "NodeStageVolume:vol-bad")
	d.tell("hang", "NodeStageVolume:vol-slow")
	d.waitDriver()
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: open}\n" + diskOf("good",
		"    volumeAttributes: {color: red}\n    nodeStageSecretRef: {name: disk, namespace: default}\n    nodePublishSecretRef: {name: disk, namespace: default}\n") +
		diskOf("bad", "") + diskOf("slow", "") + "---\n" + holder("slow", "claimName: slow") + "---\n" + holder("a", "claimName: good") + "---\n" + holder("b", "claimName: good, readOnly: true") + "---\n" + holder("bad", "claimName: bad"))
	n.waitRunning("a")
	n.waitRunning("b")
	n.wait("bad", "it waits and says why", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && strings.Contains(p.Status.Message,
			`MountVolume.MountDevice failed for volume "pv-bad" : rpc error: code = Internal desc = NodeStageVolume fails as it shall`)
	})
	if got := n.inside("a", "main", "echo hello >/disk/file && stat -c %g /disk/file"); got != "5000\n" {
		t.Errorf("a writes for group %q, want 5000", got)
	}
	if got := n.inside("b", "main", "cat /disk/file; echo x 2>&1 >/disk/file || true"); !strings.HasPrefix(got, "hello\n") || !strings.Contains(got, "Read-only") {
		t.Errorf("b reads %q, want what a wrote, and that it may write nothing", got)
	}
	const how = " vol-good mode=SINGLE_NODE_MULTI_WRITER fs=ext4 flags=noatime group= color=red secret:password=open"
	d.wantHeard("NodeStageVolume"+how, 1)
	d.wantHeard("NodePublishVolume"+how, 2)
	d.wantHeard("NodePublishVolume"+how+" readonly", 1)

	var summary statsapi.Summary
	n.curlTLS("viewer", "/stats/summary").into(n, &summary)
	for _, pod := range summary.Pods {
		full := pod.VolumeStats
		has := len(full) == 1 && full[0].Name == "disk" && full[0].PVCRef.Name == "good" && *full[0].CapacityBytes == 1<<30 &&
			*full[0].AvailableBytes == 1<<30-5000 && *full[0].UsedBytes == 5000 && *full[0].InodesUsed > 0
		if wanted := pod.PodRef.Name == "a" || pod.PodRef.Name == "b"; has != wanted {
			t.Errorf("pod %s has volumes %+v, want those of the driver: %t", pod.PodRef.Name, full, wanted)
		}
	}
	if page := n.curlTLS("viewer", "/metrics").body; !strings.Contains(page, `kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="good"} 5000`) {
		t.Error("/metrics does not show how full the volume is")
	}

	n.eventually("the driver to hang over the slow one", func() bool { return len(d.heard("NodeStageVolume vol-slow")) > 0 })

	n.Kill()
	d.Kill()
	d.tell("hang")
	d.begin()
	n.up()
	d.tell("fail")
	n.waitRunning("bad")
	n.waitRunning("slow")
	n.unmoved("a", "b")
	if got := n.inside("b", "main", "cat /disk/file"); got != "hello\n" {
		t.Errorf("then b reads %q", got)
	}
	d.wantHeard("NodeStageVolume vol-good", 1)
	d.wantHeard("NodePublishVolume vol-good", 2)

	n.deletePod("a", "")
	d.wantHeard("NodeUnpublishVolume vol-good", 1)
	d.wantHeard("NodeUnstageVolume", 0)
	if got := n.inside("b", "main", "cat /disk/file"); got != "hello\n" {
		t.Errorf("without a b reads %q", got)
	}
	n.deletePod("b", "")
	n.eventually("the volume to be unstaged", func() bool { return len(d.heard("NodeUnstageVolume vol-good")) == 1 })
	n.deletePod("bad", "")
	n.deletePod("slow", "")
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}

// driverObject is the CSIDriver object of the driver.
func driverObject(spec string) string {
	return "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " + diskDriver + "}\nspec: {" + spec + "}\n"
}

// inlineHandle is the handle of a pod's volume disk, as every kubelet makes it.
func inlineHandle(pod *corev1.Pod) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(pod.UID)+"disk")))
}

func TestPodsHaveInlineVolumesOfACSIDriver(t *testing.T) {
	claim.Shows(t, "CSI",
		"an inline csi volume of a pod is published without a stage, with the handle that every kubelet makes, its attributes and its Secret, and goes with the pod",
		"an inline csi volume waits, in Kubernetes' words, until the CSIDriver object of its driver lists Ephemeral",
		"podInfoOnMount and fsGroupPolicy of a CSIDriver object that is posted to the node hold for its volumes",
		"an inline csi volume stays over the end of the agent, and one whose publication had no answer is published again or taken away",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,GET_VOLUME_STATS")
	d.waitDriver()
	inline := func(name, more string) string {
		return "---\n" + keeper(name, "  - {name: disk, csi: {driver: "+diskDriver+", volumeAttributes: {color: red}"+more+"}}\n", "disk")
	}
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: open}\n" +
		inline("a", ", fsType: ext4, nodePublishSecretRef: {name: disk}") + inline("b", ", readOnly: true"))
	const begin = `MountVolume.SetUp failed for volume "disk" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver `
	says := func(words string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return p.Status.Reason == "FailedMount" && p.Status.Message == begin+words }
	}
	n.wait("a", "waits for a CSIDriver object", says(diskDriver+" (no CSIDriver object)"))
	n.apply(driverObject(""))
	n.wait("a", "waits for its mode", says(diskDriver+` (only supports ["Persistent"])`))
	n.apply(driverObject("volumeLifecycleModes: [Ephemeral], podInfoOnMount: true, fsGroupPolicy: File"))
	a, b := n.waitRunning("a"), n.waitRunning("b")
	if got := n.inside("a", "main", "echo hello >/disk/file && stat -c %g /disk/file"); got != "5000\n" {
		t.Errorf("a writes for group %q, want 5000", got)
	}
	if got := n.inside("b", "main", "echo x 2>&1 >/disk/file || true"); !strings.Contains(got, "Read-only") {
		t.Errorf("b writes: %q, want that it may not", got)
	}
	d.wantHeard("NodeStageVolume", 0)
	d.wantHeard("NodePublishVolume "+inlineHandle(a)+" mode=SINGLE_NODE_WRITER fs=ext4 flags= group= color=red csi.storage.k8s.io/ephemeral=true csi.storage.k8s.io/pod.name=a "+
		"csi.storage.k8s.io/pod.namespace=default csi.storage.k8s.io/pod.uid="+string(a.UID)+" csi.storage.k8s.io/serviceAccount.name= secret:password=open", 1)
	d.wantHeard("NodePublishVolume "+inlineHandle(b), 1)
	var summary statsapi.Summary
	n.curlTLS("viewer", "/stats/summary").into(n, &summary)
	for _, pod := range summary.Pods {
		if pod.PodRef.Name == "a" && (len(pod.VolumeStats) != 1 || pod.VolumeStats[0].PVCRef != nil || *pod.VolumeStats[0].UsedBytes != 5000) {
			t.Errorf("pod a has volumes %+v, want what the driver says", pod.VolumeStats)
		}
	}

	d.tell("late", "NodePublishVolume")
	n.apply(inline("c", "") + inline("gone", ""))
	c := n.wait("c", "has no answer", func(p *corev1.Pod) bool { return strings.Contains(p.Status.Message, "fails late") })
	gone := n.wait("gone", "has no answer", func(p *corev1.Pod) bool { return strings.Contains(p.Status.Message, "fails late") })
	n.Kill()
	d.Kill()
	d.tell("late")
	d.begin()
	n.up()
	n.waitRunning("c")
	n.deletePod("gone", "")
	d.wantHeard("NodeUnpublishVolume "+inlineHandle(gone), 1)
	if len(d.heard("NodePublishVolume "+inlineHandle(c))) < 2 {
		t.Error("the volume of c was not published again")
	}
	n.unmoved("a", "b")
	d.wantHeard("NodePublishVolume "+inlineHandle(a), 1)
	for _, name := range []string{"a", "b", "c"} {
		n.deletePod(name, "")
	}
	d.wantHeard("NodeUnpublishVolume "+inlineHandle(a), 1)
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}

func TestAVolumeIsForOnePodAloneIfItsModeSaysSo(t *testing.T) {
	claim.Shows(t, "CSI",
		"a second pod waits, in Kubernetes' words, until the first has given back its volume with ReadWriteOncePod; the driver hears of a single writer",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,SINGLE_NODE_MULTI_WRITER")
	d.waitDriver()
	n.apply(strings.ReplaceAll(diskOf("one", ""), "ReadWriteOnce]", "ReadWriteOncePod]") + "---\n" + holder("a", "claimName: one"))
	n.waitRunning("a")
	n.apply(holder("b", "claimName: one"))
	n.wait("b", "waits for a", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && p.Status.Message ==
			`MountVolume.SetUp failed for volume "disk" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`
	})
	d.wantHeard("NodePublishVolume vol-one mode=SINGLE_NODE_SINGLE_WRITER", 1)
	n.Kill()
	n.up()
	n.unmoved("a")
	n.deletePod("a", "")
	n.waitRunning("b")
	d.wantHeard("NodePublishVolume vol-one", 2)
	d.wantHeard("NodeStageVolume vol-one mode=SINGLE_NODE_SINGLE_WRITER", 1)
	n.deletePod("b", "")
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}

func TestAContainerHasADeviceOfACSIDriver(t *testing.T) {
	claim.Shows(t, "CSI",
		"a claim of volumeMode Block gives a container the device that a driver publishes, read-only if the pod says so, and over the end of the agent",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME")
	d.waitDriver()
	file := filepath.Join(n.rt.Dir, "disk")
	device := loopDevice(t, file)
	raw := strings.Replace(blockPods, "local: {path: LINK}", "csi: {driver: "+diskDriver+", volumeHandle: vol-raw, volumeAttributes: {device: "+device+"}}", 1)
	n.apply(raw)
	n.waitDevice(file)
	d.wantHeard("NodePublishVolume vol-raw mode=SINGLE_NODE_WRITER block", 1)
	n.Kill()
	n.up()
	n.unmoved("raw")
	d.wantHeard("NodePublishVolume", 1)
	n.deletePod("mounts", "")
	n.deletePod("raw", "")
	d.wantHeard("NodeUnpublishVolume vol-raw", 1)
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}
