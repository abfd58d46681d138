package server

import (
	"strings"
	"testing"

	"nodal/node/storage"
)

const (
	volumeManifest = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], local: {path: /disks/a}}\n"
	claimManifest  = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
)

const (
	diskPath = "/v1/persistentvolumes/disk"
	dataPath = "/v1/namespaces/default/persistentvolumeclaims/data"
)

func (n *node1) wantShown(t *testing.T, path string, want ...string) {
	t.Helper()
	got := n.do(t, "GET", path, "")
	for _, w := range want {
		if !strings.Contains(got.body, w) {
			t.Errorf("%s: got %d %s, want in it %s", path, got.status, got.body, w)
		}
	}
}

func TestPostedVolumesAndClaimsAreShown(t *testing.T) {
	n := newNode(t)
	n.apply(t, claimManifest)
	n.wantShown(t, dataPath, `"phase":"Pending"`, `no PersistentVolume of class \"\" fits`)
	n.apply(t, volumeManifest)
	n.wantShown(t, dataPath, `"phase":"Bound"`, `"volume":"disk"`, `"capacity":"2Gi"`)
	n.wantShown(t, "/v1/persistentvolumes", `"phase":"Bound"`, `"claim":"default/data"`)
	n.wantShown(t, "/v1/namespaces/default/persistentvolumeclaims", `"name":"data"`)
	n.wantShown(t, "/v1/persistentvolumeclaims", `"name":"data"`)
	if got := n.do(t, "POST", "/v1/manifests", volumeManifest+"---\n"+claimManifest); strings.Count(got.body, "RESULT_UNCHANGED") != 2 {
		t.Errorf("again: got %s, want both unchanged", got.body)
	}
	for _, path := range []string{diskPath, dataPath} {
		if got := n.do(t, "DELETE", path, ""); got.status != 200 {
			t.Errorf("delete %s: got %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{diskPath, dataPath} {
		if got := n.do(t, "GET", path, ""); got.status != 404 {
			t.Errorf("%s: got %d %s, want it gone", path, got.status, got.body)
		}
	}
}

func TestAClaimInUseIsDeletedAfterItsPod(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.State.Intake.Storage = storage.Keeper{Dir: "/volumes", NewUID: c.State.Intake.NewUID}
	})
	pod := strings.Replace(manifestOf("web"), "spec:\n", "spec:\n  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n", 1)
	n.apply(t, claimManifest+"---\n"+pod)
	n.wantShown(t, dataPath, `"phase":"Bound"`, `"volume":"pvc-`)
	if got := n.do(t, "DELETE", "/v1/manifests", claimManifest); !strings.Contains(got.body, "RESULT_DELETED") {
		t.Errorf("delete: got %s", got.body)
	}
	n.wantShown(t, dataPath, `"phase":"Bound"`, `"deleting":true`)
	if got := n.do(t, "PUT", dataPath, claimManifest); got.status != 409 || !strings.Contains(got.body, "is being deleted") {
		t.Errorf("put: got %d %s, want a conflict", got.status, got.body)
	}
}

func TestInvalidChangesOfVolumesAndClaimsAreRefused(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.State.Intake.Storage = storage.Keeper{Dir: "/volumes", NewUID: c.State.Intake.NewUID}
	})
	n.apply(t, volumeManifest+"---\n"+claimManifest)
	volume := func(old, new string) string { return strings.Replace(volumeManifest, old, new, 1) }
	claim := func(old, new string) string { return strings.Replace(claimManifest, old, new, 1) }
	for _, c := range []struct{ name, body, want string }{
		{"a volume without a size", volume("capacity: {storage: 2Gi}, ", ""), "spec.capacity"},
		{"a volume of a driver", volume("local: {path: /disks/a}", "rbd: {monitors: [m], image: i}"), "no driver"},
		{"a volume of nothing", volume(", local: {path: /disks/a}", ""), "must specify one of"},
		{"a volume that would be deleted", volume("local:", "persistentVolumeReclaimPolicy: Delete, local:"), "must be Retain"},
		{"a volume that moves", volume("/disks/a", "/disks/b"), "immutable"},
		{"a volume with options", volume("local:", "mountOptions: [noexec], local:"), "spec.mountOptions"},
		{"a claim without a size", claim("{storage: 1Gi}", "{}"), "spec.resources.requests[storage]"},
		{"a claim without a mode", claim("accessModes: [ReadWriteOnce], ", ""), "spec.accessModes"},
		{"a claim for one pod alone and others", claim("ReadWriteOnce", "ReadWriteOncePod, ReadWriteOnce"), "may not use ReadWriteOncePod with other access modes"},
		{"a claim of a copy", claim("accessModes", "dataSource: {kind: PersistentVolumeClaim, name: a}, accessModes"), "spec.dataSource"},
		{"a claim that asks for other things", claim("resources", "storageClassName: fast, resources"), "immutable but for"},
		{"a claim that shrinks", claim("1Gi", "1Mi"), "may only grow"},
	} {
		if got := n.do(t, "POST", "/v1/manifests", c.body); got.status != 400 || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %s, want 400 with %s", c.name, got.status, got.body, c.want)
		}
	}
}

func TestThePolicyOfAVolumeThatTheNodeHasMadeMayChange(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.State.Intake.Storage = storage.Keeper{Dir: "/volumes", NewUID: c.State.Intake.NewUID}
	})
	n.apply(t, claimManifest)
	volumes, _ := n.store.Objects("PersistentVolume")
	made := volumes[0].Volume()
	kept := "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + made.Name + "}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: nodal-local, persistentVolumeReclaimPolicy: Retain, local: {path: " + made.Spec.Local.Path + "}}\n"
	if got := n.do(t, "PUT", "/v1/persistentvolumes/"+made.Name, kept); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	n.wantShown(t, "/v1/persistentvolumes/"+made.Name, `"persistentVolumeReclaimPolicy":"Retain"`, `"claim":"default/data"`, "provisioned-by")
	n.wantShown(t, dataPath, `"phase":"Bound"`)
}
