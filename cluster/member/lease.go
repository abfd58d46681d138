package member

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// renewals counts how often a lease is renewed in its duration. After that duration without a renewal, the cluster
// considers the node lost.
const renewals = 4

// heart renews the node's lease.
type heart struct {
	nodeName string
	cluster  *cluster
	lasts    time.Duration
	log      *slog.Logger
	now      func() time.Time

	lease *coordinationv1.Lease // as last written; nil before it is read
}

// run renews the lease until the context ends.
func (h *heart) run(ctx context.Context) {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		once, cancel := context.WithTimeout(ctx, h.lasts/renewals)
		defer cancel()
		if err := h.beat(once); err != nil && ctx.Err() == nil {
			h.lease = nil
			h.log.Warn("cannot renew the lease", "err", err)
		}
	}, h.lasts/renewals)
}

// beat renews the lease. If another client has changed it, beat reads it again and retries at once, a few times.
func (h *heart) beat(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return h.renew(ctx) })
}

// renew writes the lease. Most often that is a single request.
func (h *heart) renew(ctx context.Context) (err error) {
	if h.lease == nil {
		h.lease, err = h.cluster.lease(ctx, h.nodeName)
	}
	if apierrors.IsNotFound(err) {
		return h.create(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the lease: %w", err)
	}
	lease := h.lease.DeepCopy()
	lease.Spec = h.spec()
	h.lease, err = h.cluster.updateLease(ctx, lease)
	if err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	return nil
}

// create creates the lease. The cluster deletes it with the Node object.
func (h *heart) create(ctx context.Context) error {
	n, err := h.cluster.node(ctx, h.nodeName)
	if err != nil {
		return fmt.Errorf("read the node of the lease: %w", err)
	}
	h.lease, err = h.cluster.createLease(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: h.nodeName, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: n.Name, UID: n.UID,
		}}},
		Spec: h.spec(),
	})
	if err != nil {
		return fmt.Errorf("create the lease: %w", err)
	}
	return nil
}

func (h *heart) spec() coordinationv1.LeaseSpec {
	now, seconds := metav1.NewMicroTime(h.now()), int32(h.lasts/time.Second)
	return coordinationv1.LeaseSpec{HolderIdentity: &h.nodeName, LeaseDurationSeconds: &seconds, RenewTime: &now}
}
