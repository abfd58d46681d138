package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAReleasedVolumeIsForgottenAfterItsFiles(t *testing.T) {
	web := []node.Key{{Namespace: "default", Name: "web"}}
	resting := func(target string) map[string]node.Fault {
		return map[string]node.Fault{target: {Reason: "Broken", Retry: ago(-5)}}
	}
	for _, c := range []struct {
		name   string
		users  []node.Key
		there  bool
		faults map[string]node.Fault
		want   string
	}{
		{"its files go first", nil, true, nil, "remove the files of volume pv"},
		{"then its record", nil, false, nil, "forget volume pv"},
		{"files that a pod uses stay", web, true, nil, "why waiting for the end of the pods that use it"},
		{"and so does the record", web, false, nil, "why waiting for the end of the pods that use it"},
		{"files that could not be removed rest", nil, true, resting("files"), "wake in 5s; why Broken"},
		{"a record that could not be removed rests", nil, false, resting("record"), "wake in 5s; why Broken"},
	} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
		plan := ReleasedVolume(Asset[*corev1.PersistentVolume, bool]{
			Want: volume, Users: c.users, Look: c.there, Faults: c.faults, Now: now,
		})
		if got := plan.told(false); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
