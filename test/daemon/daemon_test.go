package daemon_test

import (
	"fmt"
	"testing"

	"nodal/test/daemon"
	"nodal/test/rig"
)

func TestPodSurvivesTheDaemon(t *testing.T) {
	rt := rig.Containerd(t)
	d := daemon.Start(t, rt)
	d.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: %q, args: [pause]}]}`, rt.Image("probe")))
	before := d.Await("web is ready", func(p daemon.Pods) bool { return p.Ready("web") })
	d.Kill()
	d.Restart()
	after := d.Await("web is ready again", func(p daemon.Pods) bool { return p.Ready("web") })
	if got, want := after["web"].GetUid(), before["web"].GetUid(); got != want {
		t.Errorf("uid is %s after the crash, want %s", got, want)
	}
	if body, code := d.CurlTLS("viewer", "/pods"); code != 200 {
		t.Errorf("viewer gets %d for /pods: %s", code, body)
	}
	d.Delete("web")
	d.Await("web is gone", func(p daemon.Pods) bool { return p.Gone("web") })
}
