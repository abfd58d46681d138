package member

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// subnets passes the subnets of pods on, which the cluster has given the node.
type subnets struct {
	nodeName string
	cluster  *cluster
	board    Board

	mu     sync.Mutex
	told   []string  // what the node was told
	lookAt time.Time // when the Node object may be read again for them
}

// lookEvery is the least time between two looks for subnets that the cluster has not given yet.
const lookEvery = time.Second

// tell tells the node the subnets of its pods, after each change.
func (s *subnets) tell(ctx context.Context, cidrs []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tellLocked(ctx, cidrs)
}

func (s *subnets) tellLocked(ctx context.Context, cidrs []string) error {
	if len(cidrs) == 0 || slices.Equal(cidrs, s.told) {
		return nil
	}
	if err := s.board.UsePodCIDRs(ctx, cidrs); err != nil {
		return err
	}
	s.told = slices.Clone(cidrs)
	return nil
}

// before has the node know the subnets before it gets a pod: a pod that comes earlier keeps an address of another. It
// does not wait for subnets that the cluster has yet to give, as many clusters give none.
func (s *subnets) before(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.HostNetwork {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told != nil || time.Now().Before(s.lookAt) {
		return nil
	}
	found, err := s.cluster.node(ctx, s.nodeName)
	if err != nil {
		return fmt.Errorf("look for the subnets that the cluster has given Node %s: %w", s.nodeName, err)
	}
	s.lookAt = time.Now().Add(lookEvery)
	if err := s.tellLocked(ctx, found.Spec.PodCIDRs); err != nil {
		return fmt.Errorf("tell the node the subnets of its pods: %w", err)
	}
	return nil
}
