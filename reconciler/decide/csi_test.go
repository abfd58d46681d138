package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAVolumeIsStagedOnceAndUnstagedAfterItsLastPod(t *testing.T) {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	noon := time.Unix(1000, 0)
	users := []node.Key{{Namespace: "default", Name: "web"}}
	later := map[string]node.Fault{"stage": {Retry: noon.Add(time.Minute)}}
	const stage, unstage = "stage volume pv", "unstage volume h of d"
	for _, c := range []struct {
		name         string
		users        []node.Key
		stages, sure bool
		look         node.Staged
		faults       map[string]node.Fault
		want         string
	}{
		{name: "a pod wants it", users: users, stages: true, want: stage},
		{name: "it is there in part", users: users, stages: true, look: node.Staged{There: true}, want: stage},
		{name: "it is staged", users: users, stages: true, sure: true, look: node.Staged{There: true, Whole: true}},
		{name: "its driver is away, or stages nothing", users: users},
		{name: "it has failed", users: users, stages: true, faults: later},
		{name: "no pod has it, as far as is known", stages: true, look: node.Staged{There: true, Whole: true}},
		{name: "no pod has it", stages: true, sure: true, look: node.Staged{There: true, Whole: true}, want: unstage},
		{name: "a part is left", sure: true, look: node.Staged{There: true}, want: unstage},
		{name: "nothing is left", stages: true, sure: true},
	} {
		wish := node.StagedWish{ID: node.CSIVolume{Driver: "d", Handle: "h"}, Volume: pv, Stages: c.stages}
		plan := CSIVolume(Asset[node.StagedWish, node.Staged]{
			Want: wish, Users: c.users, Sure: c.sure, Look: c.look, Faults: c.faults, Now: noon,
		})
		got := ""
		for _, a := range plan.Actions {
			got += a.String()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
