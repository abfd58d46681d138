package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri/spec"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/store"
)

func TestPodsLearnOfServicesOnlyWhereTheNodeServesThem(t *testing.T) {
	s := emptyStore(t)
	web := &corev1.Service{}
	web.Name, web.Namespace = "web", "default"
	if _, err := s.Transact(func(tx *store.Tx) error { tx.PutObject(node.NewObject(web)); return nil }); err != nil {
		t.Fatal(err)
	}
	n := withServices(spec.Node{}, intake.Services{Without: func() string { return "" }}, s)
	if n.Services == nil || len(n.Services("default")) != 1 {
		t.Error("pods learn of no service")
	}
	if withServices(spec.Node{}, without("a cluster has them"), s).Services != nil {
		t.Error("pods learn of services that lead nowhere")
	}
}
