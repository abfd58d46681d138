package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
)

// capacityOf returns the capacity that a claim knows of.
func (n *node) capacityOf(name string) string {
	n.t.Helper()
	var answer map[string]struct{ Capacity string }
	n.curl("/v1/namespaces/default/persistentvolumeclaims/"+name).into(n, &answer)
	for _, shown := range answer {
		return shown.Capacity
	}
	return ""
}

func TestAVolumeOfACSIDriverGrowsBeneathItsPods(t *testing.T) {
	claim.Shows(t, "CSI",
		"when the capacity of a posted PersistentVolume has grown, its driver is asked with NodeExpandVolume while pods have the volume, with its Secret; then their claim knows of the capacity",
		"a volume that cannot grow is told by an event of its pod in Kubernetes' words, and tried again, also by the next agent; the pod runs on",
	)
	n := start(t)
	d := n.mountDisks("--able", "STAGE_UNSTAGE_VOLUME,EXPAND_VOLUME")
	d.waitDriver()
	disk := func(size string) string {
		return strings.Replace(diskOf("grows", "    volumeAttributes: {medium: memory, size: 1m}\n    nodeExpandSecretRef: {name: disk, namespace: default}\n"), "1Gi", size, 1)
	}
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: open}\n" + disk("1Mi") + "---\n" + holder("a", "claimName: grows"))
	a := n.waitRunning("a")
	usable := func() string { return n.inside("a", "main", "df -k /disk | tail -n 1 | awk '{print $2}'") }
	if got := usable(); got != "1024\n" || n.capacityOf("grows") != "1Mi" {
		t.Fatalf("the pod can use %q KiB, and its claim knows of %s", got, n.capacityOf("grows"))
	}

	d.tell("fail", "NodeExpandVolume")
	n.apply(disk("2Mi"))
	says := func(words string) func() bool {
		return func() bool {
			return strings.Contains(n.curl("/v1/namespaces/default/pods/a/timeline").body, strings.ReplaceAll(words, `"`, `\"`))
		}
	}
	n.eventually("an event of the pod", says(`NodeExpandVolume.NodeExpandVolume failed for volume "pv-grows" : Expander.NodeExpand failed to expand the volume : `+
		`rpc error: code = Internal desc = NodeExpandVolume fails as it shall`))
	if got := usable(); got != "1024\n" || n.capacityOf("grows") != "1Mi" {
		t.Errorf("the pod can use %q KiB, and its claim knows of %s", got, n.capacityOf("grows"))
	}
	n.Kill()
	d.tell("fail")
	n.up()
	n.eventually("the claim to know", func() bool { return n.capacityOf("grows") == "2Mi" })
	if got := usable(); got != "2048\n" {
		t.Errorf("the pod can use %q KiB, want 2048", got)
	}
	n.eventually("an event of the pod", says(`MountVolume.NodeExpandVolume succeeded for volume "pv-grows" `))
	n.unmoved("a")
	at := filepath.Join(n.Root(), "pods", string(a.UID), "volumes/kubernetes.io~csi/pv-grows/mount")
	if calls := d.heard("NodeExpandVolume"); len(calls) < 2 || calls[len(calls)-1] !=
		"NodeExpandVolume vol-grows mode=SINGLE_NODE_WRITER fs=ext4 flags=noatime group= secret:password=open size=2097152 at="+at {
		t.Errorf("the driver has heard %q", calls)
	}
	d.wantHeard("NodeStageVolume vol-grows", 1)
	n.deletePod("a", "")
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}
