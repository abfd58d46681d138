package member

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Board tells the node which of the pods that run there the cluster wants.
type Board interface {
	// Heard says that the cluster's pods were listed. The node closes settled once it shows every unwanted pod
	// that runs. Before that, a pod that it does not show may still run: another kubelet may have started it.
	Heard(claims node.Claims) (settled <-chan struct{})
	// Ring says that the claims answer differently now.
	Ring()
	// UsePodCIDRs tells the node the subnets that the cluster has given it for its pods. It is called again after an error.
	UsePodCIDRs(ctx context.Context, cidrs []string) error
}

// ready is the board of a node that does not wait for its cluster.
type ready struct{}

var _ Board = ready{}

func (ready) Heard(node.Claims) <-chan struct{} {
	settled := make(chan struct{})
	close(settled)
	return settled
}

func (ready) Ring() {}

func (ready) UsePodCIDRs(context.Context, []string) error { return nil }

var _ node.Claims = (*pods)(nil)

// Wants reports whether a pod that runs on the node, or of which something is left there, is wanted by the cluster. A
// pod that is being deleted is not, and of a finished one only the remains are: its logs.
func (p *pods) Wants(uid types.UID, runs bool) bool {
	for _, object := range p.wanted.List() {
		if pod := object.(*corev1.Pod); pod.UID == uid {
			return mirrored(pod) == "" && pod.DeletionTimestamp == nil && !(runs && finished(pod))
		}
	}
	return false
}

// Delivered reports whether the node has got the pod since the start.
func (p *pods) Delivered(key node.Key, uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[types.NamespacedName(key)]
	return e != nil && e.delivered == uid
}

// noteDelivered notes that the node has got a pod, and tells it so: it may have waited for that.
func (p *pods) noteDelivered(key types.NamespacedName, uid types.UID) {
	p.mu.Lock()
	news := p.entry(key).delivered != uid
	p.entry(key).delivered = uid
	p.mu.Unlock()
	if news {
		p.board.Ring()
	}
}

// isSettled reports whether the node shows all that runs there.
func (p *pods) isSettled() bool {
	select {
	case <-p.settled:
		return true
	default:
		return false
	}
}
