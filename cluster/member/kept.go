package member

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// kept holds a status that was sent, and what the cluster has made of it. API servers drop fields that they do not know,
// or whose feature is off: sent again and again, such a status would hold up all that comes after it.
type kept struct{ sent, as corev1.PodStatus }

// covers reports whether the cluster's status is all that it keeps of a status.
func (k *kept) covers(status, shown *corev1.PodStatus) bool {
	return k != nil && equality.Semantic.DeepEqual(*status, k.sent) && equality.Semantic.DeepEqual(*shown, k.as)
}

// report sends a status to the cluster. If the pod has changed there, the watch brings the pod back, and its status
// is derived again.
func (p *pods) report(ctx context.Context, want *corev1.Pod, status *corev1.PodStatus) error {
	after, err := p.cluster.putStatus(ctx, want, status)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("send the status: %w", err)
	}
	key := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
	news := p.noteKept(key, status, &after.Status)
	if after.ResourceVersion != want.ResourceVersion {
		return nil
	}
	if !news || !equality.Semantic.DeepEqual(after.Status, want.Status) {
		return errors.New("the cluster has that status already, but its watch shows another")
	}
	p.queue.Add(key) // nothing has changed that a watch would show
	return nil
}

// noteKept notes what the cluster has made of a status, and reports whether that is less than was sent, and news.
func (p *pods) noteKept(key types.NamespacedName, sent, as *corev1.PodStatus) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(key)
	if equality.Semantic.DeepEqual(*sent, *as) {
		e.kept = nil
		return false
	}
	if e.kept.covers(sent, as) {
		return false
	}
	e.kept = &kept{*sent.DeepCopy(), *as.DeepCopy()}
	return true
}
