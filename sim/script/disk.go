package script

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/reconciler/evict"
)

// written is the number of bytes that each container has written to the disk.
type written int64

var _ evict.Disk = written(0)

func (w written) Written(_ context.Context, pod *node.Pod, _ []string, _ bool) (node.Written, error) {
	all := node.Written{Containers: map[string]int64{}}
	for c := range node.Containers(&pod.Object.Spec) {
		all.Containers[c.Name] = int64(w)
	}
	return all, nil
}

// write runs one round of the evictor.
func (s *stage) write(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	amount, err := resource.ParseQuantity(words[1])
	if err != nil {
		return err
	}
	evictor := evict.Evictor{
		Store: s.store, Disk: written(amount.Value()), Events: s.events, Log: slog.New(slog.DiscardHandler),
		Clock: func() time.Time { return s.now },
	}
	evictor.Round(context.Background())
	return nil
}

// bound limits how much each container may write.
func bound(c *corev1.Container, amount string) {
	if limit, err := resource.ParseQuantity(amount); err == nil {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: limit}
	}
}
