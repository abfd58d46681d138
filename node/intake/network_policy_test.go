package intake

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAPolicyThatNothingHoldsPodsToIsRefused(t *testing.T) {
	b := newBench(t)
	policy := Delivery{Object: node.NewObject(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny"},
	})}
	why := ""
	b.in.Unheld = func() string { return why }
	if _, _, err := b.in.Apply([]Delivery{policy}, b.now); err != nil {
		t.Errorf("where pods are held to it: %v", err)
	}
	why = "other plugins"
	if _, _, err := b.in.Apply([]Delivery{policy}, b.now); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("got error %v, want the reason", err)
	}
	if err := b.in.DeleteObject(policy.Object.Ref(), b.now); err != nil {
		t.Errorf("one that has no effect cannot be deleted: %v", err)
	}
}
