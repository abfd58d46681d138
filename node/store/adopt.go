package store

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// Adopt records a pod that runs without being wanted, so that it is shown and
// torn down like any other. A key that is held is left alone.
func (s *Store) Adopt(key node.Key, found *node.Observed, now time.Time) error {
	_, err := s.Transact(func(tx *Tx) error {
		if tx.Get(key) != nil {
			return nil
		}
		tx.Reserved()
		tx.Put(key, &node.Slot{Pod: strayPod(key, found, now)})
		return nil
	})
	return err
}

func strayPod(key node.Key, found *node.Observed, now time.Time) *node.Pod {
	object := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}
	grace := corev1.DefaultTerminationGracePeriodSeconds * time.Second
	named := map[string]bool{}
	for _, c := range found.Containers {
		object.UID = c.UID
		if c.Grace > 0 {
			grace = c.Grace
		}
		if !named[c.Name] {
			named[c.Name] = true
			made := corev1.Container{Name: c.Name, Image: c.Image}
			if h := c.Hooked; h != nil {
				made.Ports, made.Lifecycle = h.Ports, h.Lifecycle
			}
			object.Spec.Containers = append(object.Spec.Containers, made)
		}
	}
	for _, sb := range found.Sandboxes {
		object.UID = sb.UID
	}
	return &node.Pod{
		Object: object, Source: node.SourceRuntime, Accepted: now,
		Deletion: &node.Deletion{Requested: now, Grace: grace, Reason: "nobody wants it"},
	}
}
