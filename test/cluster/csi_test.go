package cluster

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

const diskDriver = "disk.nodal.test"

// disks is the CSI driver of a node, a process of its own.
type disks struct {
	program
	state, socket string
}

// newDisks returns a world whose node has a CSI driver with these abilities, which has yet to start.
func newDisks(t *testing.T, able string) (*world, *disks) {
	t.Helper()
	p, rt := startPlane(t), rig.Containerd(t)
	w := &world{plane: p, node: daemon.Start(t, rt, "--kubeconfig", p.kubeconfig(controlplane.Node), "--node-status-update-frequency", "1s")}
	path, err := agent.CSIDriver(rt.Dir)
	must(t, err)
	d := &disks{state: filepath.Join(rt.Dir, "disks"), socket: filepath.Join(w.node.Dir, "plugins_registry", diskDriver+"-reg.sock")}
	must(t, os.MkdirAll(d.state, 0o755))
	d.program = program{t, controlplane.NewProgram(path, filepath.Join(d.state, "log"), "--registry", filepath.Dir(d.socket),
		"--state", d.state, "--socket", filepath.Join(d.state, "csi.sock"), "--able", able)}
	t.Cleanup(d.end)
	w.eventually("the node's directory of plugins", func() bool { _, err := os.Stat(filepath.Dir(d.socket)); return err == nil })
	return w, d
}

// leave ends the driver for good, as its pod does when it is deleted.
func (d *disks) leave() {
	d.t.Helper()
	d.end()
	must(d.t, os.Remove(d.socket))
}

// csiNode returns what the cluster lists of the node's drivers.
func (w *world) csiNode() []storagev1.CSINodeDriver {
	w.t.Helper()
	n, _ := get[storagev1.CSINode](w.plane, "/apis/storage.k8s.io/v1/csinodes/node-a")
	return n.Spec.Drivers
}

func (w *world) nodeObject() corev1.Node {
	w.t.Helper()
	n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
	return n
}

func TestTheClusterKnowsTheDriversOfTheNode(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "CSI",
		"in a cluster a driver that registers is listed in the CSINode object, with its name for the node, where it is and its limit, and no longer once it is gone; entries of other drivers stay",
		"in a cluster the Node object says by an annotation what a driver calls the node, and by labels where it is; a driver that contradicts a label is not listed",
	)
	w, d := newDisks(t, "STAGE_UNSTAGE_VOLUME")
	d.begin()
	w.eventually("the driver in the CSINode object", func() bool { return len(w.csiNode()) == 1 })
	want := storagev1.CSINodeDriver{
		Name: diskDriver, NodeID: "this-node", TopologyKeys: []string{"nodal.test/rack"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(7))},
	}
	if got := w.csiNode()[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("the cluster lists %+v, want %+v", got, want)
	}
	n := w.nodeObject()
	if n.Labels["nodal.test/rack"] != "r1" || n.Annotations["csi.volume.kubernetes.io/nodeid"] != `{"`+diskDriver+`":"this-node"}` {
		t.Errorf("the Node object has labels %q and annotations %q", n.Labels, n.Annotations)
	}
	if shown, _ := get[storagev1.CSINode](w.plane, "/apis/storage.k8s.io/v1/csinodes/node-a"); len(shown.OwnerReferences) != 1 || shown.OwnerReferences[0].UID != n.UID {
		t.Errorf("the CSINode object is owned by %+v, want the node", shown.OwnerReferences)
	}

	w.ask("PATCH", "/apis/storage.k8s.io/v1/csinodes/node-a", "application/strategic-merge-patch+json", `{"spec": {"drivers": [{"name": "other", "nodeID": "o"}]}}`)
	w.node.Kill()
	w.node.Launch()
	d.leave()
	// The new agent leaves an entry alone until it has seen the driver, so one that is listed again is one that it has seen.
	w.ask("PATCH", "/apis/storage.k8s.io/v1/csinodes/node-a", "application/strategic-merge-patch+json",
		`{"spec": {"drivers": [{"$patch": "delete", "name": "`+diskDriver+`"}]}}`)
	d.begin()
	w.eventually("the driver again", func() bool { return len(w.csiNode()) == 2 })
	w.ask("PATCH", "/api/v1/nodes/node-a", "application/merge-patch+json", `{"metadata": {"labels": {"nodal.test/rack": "r2"}}}`)
	d.leave()
	w.eventually("the other driver alone", func() bool { all := w.csiNode(); return len(all) == 1 && all[0].Name == "other" })
	w.eventually("no name of the driver for the node", func() bool { return w.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == "" })
	d.begin()
	w.eventually("word of the label", func() bool {
		return strings.Contains(w.node.LogOf("topology value collision"), `driver reported \"nodal.test/rack\":\"r1\" but existing label is`)
	})
	if all := w.csiNode(); len(all) != 1 {
		t.Errorf("the cluster lists %+v, want no driver that contradicts a label", all)
	}
	w.ask("PATCH", "/api/v1/nodes/node-a", "application/merge-patch+json", `{"metadata": {"labels": {"nodal.test/rack": "r1"}}}`)
	w.eventually("the driver, with the label that it says", func() bool { return len(w.csiNode()) == 2 })
}

// heard returns the lines of what the driver was asked that begin with some words.
func (d *disks) heard(words string) (lines []string) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.state, "calls"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, words) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func (d *disks) wantHeard(call string, want int) {
	d.t.Helper()
	if got := d.heard(call); len(got) != want {
		d.t.Errorf("the driver has heard %q, want %d times %s", got, want, call)
	}
}

// disk creates a volume of the driver in the cluster, with a claim of the same name. The cluster's controller binds them.
func (w *world) disk(name, source string) {
	w.t.Helper()
	w.create("/api/v1/persistentvolumes", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-"+name+"}\nspec:\n  storageClassName: \"\"\n"+
		"  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Retain\n"+
		"  claimRef: {namespace: default, name: "+name+"}\n  csi:\n    driver: "+diskDriver+"\n    volumeHandle: vol-"+name+"\n"+source)
	w.create("/api/v1/namespaces/default/persistentvolumeclaims", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: "+name+"}\n"+
		"spec: {storageClassName: \"\", volumeName: pv-"+name+", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
}

// holding returns a pod that has a claim at /disk.
func holding(name, claim string) string {
	return manifest(name, "  volumes: [{name: disk, persistentVolumeClaim: {claimName: "+claim+"}}]\n  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", "+
		"command: [sh, -c, \"exec sleep 1000\"], volumeMounts: [{name: disk, mountPath: /disk}]}\n")
}

const driversPath = "/apis/storage.k8s.io/v1/csidrivers"

// driverObject is the CSIDriver object of the driver.
func driverObject(spec string) string {
	return "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " + diskDriver + "}\nspec: {" + spec + "}\n"
}

// driverObjects counts the CSIDriver objects on the node.
func (w *world) driverObjects() int {
	w.t.Helper()
	reply, err := nodev1.NewObjectsServiceClient(w.node.Conn()).ListObjects(w.t.Context(), &nodev1.ListObjectsRequest{Kind: "CSIDriver"})
	must(w.t, err)
	return len(reply.GetObjects())
}

// attachment returns the path of the VolumeAttachment of a volume on the node.
func attachment(handle string) string {
	return fmt.Sprintf("/apis/storage.k8s.io/v1/volumeattachments/csi-%x", sha256.Sum256([]byte(handle+diskDriver+"node-a")))
}

// inUse reports whether the Node object lists a volume as in use.
func (w *world) inUse(handle string) bool {
	w.t.Helper()
	for _, name := range w.nodeObject().Status.VolumesInUse {
		if name == corev1.UniqueVolumeName("kubernetes.io/csi/"+diskDriver+"^"+handle) {
			return true
		}
	}
	return false
}

func TestPodsOfAClusterHaveVolumesThatItsControllerAttaches(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "CSI",
		"a pod of a cluster waits until the cluster's controller has attached its volume, and an event says so in Kubernetes' words",
		"a driver is told how a cluster's volume is attached when it stages and publishes it, with Secrets of other namespaces",
		"a cluster's volume is listed in volumesInUse before it is staged, over the end of the agent, and until it is unstaged, so that the controller does not detach it before",
		"volumes of a driver whose CSIDriver object says that they need not be attached are not waited for",
		"a driver whose CSIDriver object asks for it is told of the pod, and fsGroupPolicy says whether files go to the pod's group",
		"a pod that has finished but was not deleted does not keep its volume on the node",
		"a pod of a cluster has inline csi volumes of a driver whose CSIDriver object lists Ephemeral, and waits until it does",
	)
	w, d := newDisks(t, "STAGE_UNSTAGE_VOLUME")
	must(t, w.StartControllers("--controllers=persistentvolume-attach-detach-controller,persistentvolume-binder-controller"))
	d.begin()
	w.eventually("the driver in the CSINode object", func() bool { return len(w.csiNode()) == 1 })
	w.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: drivers}\n")
	w.create("/api/v1/namespaces/drivers/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: open}\n")
	w.disk("good", "    fsType: ext4\n    volumeAttributes: {color: red}\n    nodeStageSecretRef: {name: disk, namespace: drivers}\n"+
		"    nodePublishSecretRef: {name: disk, namespace: drivers}\n    controllerExpandSecretRef: {name: other, namespace: drivers}\n")
	w.create(podsPath, holding("a", "good"))
	w.create(podsPath, holding("b", "good"))

	w.eventually("the controller to ask for the volume", func() bool { _, ok := get[storagev1.VolumeAttachment](w.plane, attachment("vol-good")); return ok })
	w.eventually("the volume in use", func() bool { return w.inUse("vol-good") })
	a := w.await("a", "there", func(*corev1.Pod) bool { return true })
	w.eventually("word of what the pod waits for", func() bool {
		return slices.ContainsFunc(w.told(a, "FailedMount"), func(words string) bool {
			return words == `MountVolume.WaitForAttach failed for volume "pv-good" : waiting for external-attacher of disk.nodal.test to attach it`
		})
	})
	d.wantHeard("NodeStageVolume", 0)
	w.ask("PATCH", attachment("vol-good")+"/status", "application/merge-patch+json", `{"status": {"attached": true, "attachmentMetadata": {"device": "xvdq"}}}`)
	steady := w.await("a", "ready", ready)
	w.await("b", "ready", ready)
	const how = " vol-good mode=SINGLE_NODE_WRITER fs=ext4 flags= group= color=red attached:device=xvdq secret:password=open"
	d.wantHeard("NodeStageVolume"+how, 1)
	d.wantHeard("NodePublishVolume"+how, 2)
	w.inside("a", "echo hello >/disk/file")
	if got := w.inside("b", "cat /disk/file"); got != "hello\n" {
		t.Errorf("b reads %q, want what a wrote", got)
	}

	w.create(podsPath, strings.Replace(holding("done", "good"), "exec sleep 1000", "cat /disk/file", 1)+"  restartPolicy: Never\n")
	w.await("done", "finished", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })

	w.node.Kill()
	w.node.Launch()
	w.eventually("the agent again", func() bool { return strings.Count(w.node.LogOf("read the pods of the cluster"), "\n") == 2 })
	w.create(podsPath, holding("c", "good"))
	w.await("c", "ready", func(p *corev1.Pod) bool {
		if !w.inUse("vol-good") {
			t.Fatal("the volume is not listed as in use")
		}
		return ready(p)
	})
	if got := w.await("a", "ready", ready).Status.ContainerStatuses[0]; got.ContainerID != steady.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("the pod's container became %+v", got)
	}
	d.wantHeard("NodeStageVolume", 1)
	d.wantHeard("NodePublishVolume", 4)

	must(t, os.WriteFile(filepath.Join(d.state, "fail"), []byte("NodeUnstageVolume"), 0o644))
	for _, name := range []string{"a", "b", "c"} {
		w.ask("DELETE", podsPath+"/"+name, "", "")
	}
	for _, name := range []string{"a", "b", "c"} {
		w.awaitGone(name)
	}
	w.eventually("the driver to be asked to unstage", func() bool { return len(d.heard("NodeUnstageVolume vol-good")) > 1 })
	d.wantHeard("NodeUnpublishVolume vol-good", 4)
	if _, ok := get[storagev1.VolumeAttachment](w.plane, attachment("vol-good")); !ok || !w.inUse("vol-good") {
		t.Errorf("the volume is staged, and the cluster has it attached: %t, in use: %t", ok, w.inUse("vol-good"))
	}
	must(t, os.WriteFile(filepath.Join(d.state, "fail"), nil, 0o644))
	w.eventually("a volume that is not in use", func() bool { return !w.inUse("vol-good") })
	w.eventually("the controller to detach the volume", func() bool {
		code, _ := w.try("GET", attachment("vol-good"), "", nil)
		return code == http.StatusNotFound
	})

	w.create(driversPath, driverObject("attachRequired: false, podInfoOnMount: true, fsGroupPolicy: File"))
	w.disk("near", "")
	w.create(podsPath, holding("near", "near")+"  securityContext: {fsGroup: 5000}\n")
	near := w.await("near", "ready", ready)
	if w.inUse("vol-near") {
		t.Error("a volume that is never attached is listed as in use")
	}
	d.wantHeard("NodePublishVolume vol-near mode=SINGLE_NODE_WRITER fs= flags= group= csi.storage.k8s.io/ephemeral=false csi.storage.k8s.io/pod.name=near "+
		"csi.storage.k8s.io/pod.namespace=default csi.storage.k8s.io/pod.uid="+string(near.UID)+" csi.storage.k8s.io/serviceAccount.name=default", 1)
	if got := w.inside("near", "stat -c %g /disk"); got != "5000\n" {
		t.Errorf("the volume belongs to group %q, want 5000", got)
	}
	w.create(podsPath, manifest("own", "  volumes: [{name: disk, csi: {driver: "+diskDriver+", volumeAttributes: {color: blue}}}]\n  containers:\n"+
		"  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"], volumeMounts: [{name: disk, mountPath: /disk}]}\n"))
	own := w.await("own", "there", func(*corev1.Pod) bool { return true })
	w.eventually("word that its driver has no volumes of pods", func() bool {
		return slices.ContainsFunc(w.told(own, "FailedMount"), func(words string) bool {
			return strings.HasSuffix(words, `volume mode "Ephemeral" not supported by driver disk.nodal.test (only supports ["Persistent"])`)
		})
	})
	w.ask("DELETE", driversPath+"/"+diskDriver, "", "") // the modes of one never change
	w.create(driversPath, driverObject("podInfoOnMount: true, volumeLifecycleModes: [Ephemeral]"))
	w.await("own", "ready", ready)
	d.wantHeard(fmt.Sprintf("NodePublishVolume csi-%x", sha256.Sum256([]byte(string(own.UID)+"disk")))+" mode=SINGLE_NODE_WRITER fs= flags= group= color=blue "+
		"csi.storage.k8s.io/ephemeral=true csi.storage.k8s.io/pod.name=own", 1)
	for _, name := range []string{"near", "done", "own"} {
		w.ask("DELETE", podsPath+"/"+name, "", "")
		w.awaitGone(name)
	}
	w.eventually("nothing on the node", func() bool {
		left, err := filepath.Glob(filepath.Join(w.node.Dir, "plugins", "kubernetes.io", "csi", "*", "*"))
		must(t, err)
		mounts, err := os.ReadFile("/proc/self/mounts")
		must(t, err)
		return len(left) == 0 && !strings.Contains(string(mounts), w.node.Dir+"/") && !strings.Contains(w.shelf(), "Secret") && w.driverObjects() == 0
	})
}
