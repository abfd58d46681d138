package script

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/admit"
	"nodal/node/offer"
	"nodal/node/store"
)

// loseRecord starts the agent again without the record of the pod, as if another kubelet had run it until now.
func (s *stage) loseRecord() error {
	delete(s.journal, "pods/"+s.key.Namespace+"_"+s.key.Name)
	if err := s.boot(); err != nil {
		return err
	}
	seen, running := s.seen(), map[types.UID]time.Time{}
	for i := range seen.Sandboxes {
		if uid := seen.Sandboxes[i].UID; seen.Runs(uid) {
			running[uid] = seen.Since(uid)
		}
	}
	s.store.Saw(store.Running{s.key: running})
	return nil
}

func (s *stage) full([]string) error {
	s.intake.Offer = func() offer.Offer {
		return offer.Offer{Node: admit.Node{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.Quantity{}}}}
	}
	return nil
}
