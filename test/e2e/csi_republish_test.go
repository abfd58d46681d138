package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/claim"
	"nodal/test/pace"
)

func TestAVolumeIsPublishedAgainAndAgainIfItsDriverWantsThat(t *testing.T) {
	claim.Shows(t, "CSI",
		"a volume of a driver whose CSIDriver object says requiresRepublish is published again each minute, with its Secret as it is then",
		"a publication that fails while its pod runs is told by an event of the pod, and repeated; the pod runs on",
		"an agent that starts publishes no volume again before its time",
	)
	n := start(t)
	d := n.mountDisks("--able", "")
	d.waitDriver()
	secret := func(password string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: disk}\nstringData: {password: " + password + "}\n"
	}
	n.apply(secret("open") + driverObject("volumeLifecycleModes: [Ephemeral], requiresRepublish: true, fsGroupPolicy: File") + "---\n" +
		keeper("a", "  - {name: disk, csi: {driver: "+diskDriver+", nodePublishSecretRef: {name: disk}}}\n", "disk"))
	a := n.waitRunning("a")
	asked := "NodePublishVolume " + inlineHandle(a)
	d.wantHeard(asked, 1)
	n.apply(secret("sesame"))
	for began := time.Now(); len(d.heard(asked)) < 2; time.Sleep(time.Second) {
		if time.Since(began) > pace.Of(2*time.Minute) {
			t.Fatal("the volume is not published again")
		}
	}
	if got := d.heard(asked); !strings.HasSuffix(got[1], " secret:password=sesame") {
		t.Errorf("the driver has heard %q, want the Secret as it is", got)
	}
	n.Kill()
	n.up()
	n.unmoved("a")
	d.wantHeard(asked, 2)

	n.Kill()
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(n.Root(), "pods", string(a.UID), "volumes/kubernetes.io~csi/disk/vol_data.json"), long, long); err != nil {
		t.Fatal(err)
	}
	d.tell("fail", "NodePublishVolume")
	n.up()
	n.eventually("an event of the pod", func() bool {
		events := n.curl("/v1/namespaces/default/pods/a/timeline").body
		return strings.Contains(events, `MountVolume.SetUp failed for volume \"disk\" : rpc error: code = Internal desc = NodePublishVolume fails as it shall`)
	})
	n.unmoved("a")
	d.tell("fail")
	failed := len(d.heard(asked))
	n.eventually("the publication to be repeated", func() bool { return len(d.heard(asked)) > failed })
	if got := n.inside("a", "main", "echo x >/disk/file && cat /disk/file"); got != "x\n" {
		t.Errorf("the pod reads %q", got)
	}
	n.deletePod("a", "")
	d.wantHeard("NodeUnpublishVolume "+inlineHandle(a), 1)
	n.eventually("nothing to be left", func() bool { return d.left() == "" })
}
