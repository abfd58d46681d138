package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAssetOfAReleasedVolumeIsForgottenAfterItsFiles(t *testing.T) {
	web := []node.Key{{Namespace: "default", Name: "web"}}
	there := node.AssetLook{There: true}
	resting := func(target string) map[string]node.Fault {
		return map[string]node.Fault{target: {Reason: "Broken", Retry: ago(-5)}}
	}
	for _, c := range []struct {
		name  string
		users []node.Key
		got   node.AssetState
		want  string
	}{
		{"its files go first", nil, node.AssetState{AssetLook: there}, "remove the files of volume pv"},
		{"then its record", nil, node.AssetState{}, "forget volume pv"},
		{"files that a pod uses stay", web, node.AssetState{AssetLook: there}, "why waiting for the end of the pods that use it"},
		{"and so does the record", web, node.AssetState{}, "why waiting for the end of the pods that use it"},
		{"files that could not be removed rest", nil, node.AssetState{AssetLook: there, Faults: resting("files")}, "wake in 5s; why Broken"},
		{"a record that could not be removed rests", nil, node.AssetState{Faults: resting("record")}, "wake in 5s; why Broken"},
	} {
		asset := node.Asset{
			Key: node.AssetKey{Kind: node.ReleasedVolume, Name: "u1"}, Users: c.users,
			Volume: &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}},
		}
		if got := Asset(AssetInput{Asset: asset, Got: &c.got, Now: now}).told(false); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
