package member

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAVolumeIsReachedByTheLabelsThatTheClusterGaveTheNode(t *testing.T) {
	in := func(zone string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
		return v
	}
	placed := in("b")
	setPlaced(&placed.ObjectMeta, true)
	for _, c := range []struct {
		name   string
		volume *corev1.PersistentVolume
		want   bool
	}{
		{"one that is everywhere", &corev1.PersistentVolume{}, false},
		{"one of the node's zone", in("a"), true},
		{"one of another", in("b"), false},
		{"one of another that says it is here", placed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := apiServer(func(*http.Request) (int, any, error) {
				return http.StatusOK, &corev1.Node{
					TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
				}, nil
			})
			o := &objects{nodeName: "n", cluster: server.dial(t)}
			if err := o.markPlaced(t.Context(), c.volume); err != nil {
				t.Fatal(err)
			}
			if got := copyOf(c.volume); node.Placed(got) != c.want {
				t.Errorf("the node is told %v", got.GetAnnotations())
			}
		})
	}
}
