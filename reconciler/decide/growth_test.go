package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestADriverIsToldOfAVolumeThatHasGrownWhileAPodHasIt(t *testing.T) {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	noon, pod := time.Unix(1000, 0), &node.Pod{}
	rests := map[string]node.Fault{"growth": {Retry: noon.Add(time.Minute)}}
	const expand = "expand volume pv to 2Gi"
	for _, c := range []struct {
		name   string
		able   bool
		pod    *node.Pod
		look   bool
		faults map[string]node.Fault
		want   string
	}{
		{name: "a pod has it", able: true, pod: pod, look: true, want: expand},
		{name: "its pod is yet to have it", able: true, pod: pod},
		{name: "no pod uses it", able: true, look: true},
		{name: "its driver is away, or grows nothing", pod: pod, look: true},
		{name: "it has failed", able: true, pod: pod, look: true, faults: rests},
	} {
		plan := GrownVolume(Asset[node.VolumeGrowth, bool]{
			Want: node.VolumeGrowth{Volume: pv, Pod: c.pod, Able: c.able}, Look: c.look, Faults: c.faults, Now: noon,
		})
		got := ""
		for _, a := range plan.Actions {
			got += a.String()
		}
		if got != c.want || (c.faults != nil) != (plan.Wake == noon.Add(time.Minute)) {
			t.Errorf("%s: got %q, want %q; it wakes at %s", c.name, got, c.want, plan.Wake)
		}
	}
}
