package cluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

func TestAVolumeOfAClusterGrowsBeneathItsPod(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "CSI",
		"when the cluster's controller says that it is the node's turn, a volume that has grown is expanded by its driver beneath its pod; then the status of the claim has the capacity and no resize is pending",
	)
	w, d := newDisks(t, "STAGE_UNSTAGE_VOLUME,EXPAND_VOLUME")
	must(t, w.StartControllers("--controllers=persistentvolume-binder-controller"))
	d.begin()
	w.create(driversPath, driverObject("attachRequired: false"))
	w.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: drivers}\n")
	w.create("/api/v1/namespaces/drivers/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: open}\n")
	w.disk("grows", "    volumeAttributes: {medium: memory, size: 1m}\n    nodeExpandSecretRef: {name: disk, namespace: drivers}\n")
	w.create(podsPath, holding("a", "grows"))
	steady := w.await("a", "ready", ready)

	// What external-resizer does. The next agent looks at once; this one would within a minute.
	const claimPath = "/api/v1/namespaces/default/persistentvolumeclaims/grows"
	w.node.Kill()
	w.ask("PATCH", "/api/v1/persistentvolumes/pv-grows", "application/merge-patch+json", `{"spec": {"capacity": {"storage": "2Gi"}}}`)
	w.ask("PATCH", claimPath+"/status", "application/merge-patch+json", `{"status": {"allocatedResources": {"storage": "2Gi"}, `+
		`"allocatedResourceStatuses": {"storage": "NodeResizePending"}, "conditions": [{"type": "FileSystemResizePending", "status": "True"}]}}`)
	w.node.Launch()
	var status corev1.PersistentVolumeClaimStatus
	w.eventually("the claim to know", func() bool {
		c, _ := get[corev1.PersistentVolumeClaim](w.plane, claimPath)
		status = c.Status
		return status.Capacity.Storage().String() == "2Gi"
	})
	if len(status.Conditions) > 0 || len(status.AllocatedResourceStatuses) > 0 {
		t.Errorf("the claim has %+v, want that nothing is pending", status)
	}
	if got := w.inside("a", "df -k /disk | tail -n 1 | awk '{print $2}'"); got != "2097152\n" {
		t.Errorf("the pod can use %q KiB, want 2097152", got)
	}
	d.wantHeard("NodeExpandVolume vol-grows mode=SINGLE_NODE_WRITER fs= flags= group= secret:password=open size=2147483648", 1)
	w.eventually("word of it", func() bool {
		return slices.Contains(w.told(steady, "FileSystemResizeSuccessful"), `MountVolume.NodeExpandVolume succeeded for volume "pv-grows" node-a`)
	})
	if got := w.await("a", "ready", ready).Status.ContainerStatuses[0]; got.ContainerID != steady.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("the pod's container became %+v", got)
	}
	w.ask("DELETE", podsPath+"/a", "", "")
	w.awaitGone("a")
}
