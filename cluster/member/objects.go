package member

import (
	"context"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"nodal/cluster/retry"
	"nodal/node"
)

// objects keeps on the node the objects that its pods use. Each is watched by itself while a pod of this node uses
// it: the cluster lets a node read no others.
type objects struct {
	nodeName string
	cluster  *cluster
	node     *shelf
	ready    func(types.NamespacedName) // looks again at a pod that waited for an object
	alarm    *retry.Alarm               // of tokens that age
	log      *slog.Logger
	done     sync.WaitGroup // of the goroutines that keep and remove objects

	attachments *attachments

	mu      sync.Mutex
	used    map[node.ObjectRef]*usage
	leaving map[node.ObjectRef]chan struct{} // closed once the object is off the node
}

// keeper keeps an object on the node until its context ends.
type keeper func(context.Context)

// usage is one object and the pods that use it.
type usage struct {
	pods   map[types.NamespacedName]bool
	stop   context.CancelFunc       // ends the keeper; nil for an object that an earlier process brought
	there  bool                     // the node has it
	wrong  error                    // why the node does not have it; nil too if that is not known yet
	driver *storagev1.CSIDriverSpec // of a CSIDriver object, once it is known
	needs  []node.ObjectRef         // objects that its volume needs, once it is known
}

// uses returns the objects that a pod uses as long as it runs, each with its keeper. It is called with mu held.
func (o *objects) uses(want *corev1.Pod) map[node.ObjectRef]keeper {
	if want == nil || finished(want) || mirrored(want) != "" {
		return nil
	}
	found := map[node.ObjectRef]keeper{}
	follow := func(ref node.ObjectRef) {
		found[ref] = func(ctx context.Context) { o.follow(ctx, ref, o.sources(ref)...) }
	}
	for _, ref := range node.ObjectRefs(want) {
		switch ref.Kind {
		case node.ConfigMap, node.Secret, node.CSIDriverObject:
			follow(ref)
		case node.ClusterTrustBundle:
			family := ref.Family()
			found[family] = func(ctx context.Context) { o.keepTrust(ctx, family) }
		}
	}
	follow(servicesFor(want))
	if class := want.Spec.RuntimeClassName; class != nil {
		follow(node.ObjectRef{Kind: node.RuntimeClass, Name: *class})
	}
	for ref, t := range tokensOf(want) {
		found[ref] = func(ctx context.Context) { o.keepFresh(ctx, t) }
	}
	for ref, owner := range claimsOf(want) {
		found[ref] = func(ctx context.Context) { o.keepClaim(ctx, ref, owner) }
		if u := o.used[ref]; u != nil {
			for _, need := range u.needs {
				follow(need)
			}
		}
	}
	for ref, t := range o.driverTokens(want, found) {
		found[ref] = func(ctx context.Context) { o.keepFresh(ctx, t) }
	}
	return found
}

// use has the objects that a pod uses now kept on the node until no pod uses them or the context ends. It lets go of
// those that the pod no longer uses.
func (o *objects) use(ctx context.Context, key types.NamespacedName, want *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	using := o.uses(want)
	for ref, keep := range using {
		if o.used[ref] == nil || o.used[ref].stop == nil {
			o.start(ctx, ref, keep)
		}
		o.used[ref].pods[key] = true
	}
	for ref, u := range o.used {
		if u.pods[key] && using[ref] == nil {
			delete(u.pods, key)
			o.endIfUnused(ctx, ref)
		}
	}
}

// start runs the keeper of an object. It is called with mu held.
func (o *objects) start(ctx context.Context, ref node.ObjectRef, keep keeper) {
	ctx, stop := context.WithCancel(ctx)
	if o.used[ref] == nil {
		o.used[ref] = &usage{pods: map[types.NamespacedName]bool{}}
	}
	o.used[ref].stop = stop
	left := o.leaving[ref]
	o.done.Go(func() {
		if left != nil { // a late removal must not take the object that comes now
			select {
			case <-left:
			case <-ctx.Done():
				return
			}
		}
		keep(ctx)
	})
}

// note records that the node has an object now, or why not. The context is the keeper's.
func (o *objects) note(ctx context.Context, ref node.ObjectRef, wrong error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.used[ref]
	if u == nil || ctx.Err() != nil {
		return
	}
	news := !u.there && (wrong == nil || u.wrong == nil || lasts(wrong) && !lasts(u.wrong))
	u.there, u.wrong = wrong == nil, wrong
	if news {
		for pod := range u.pods {
			o.ready(pod)
		}
	}
}

// noteUnread records why an object cannot be read in the cluster, unless something is known of it.
func (o *objects) noteUnread(ctx context.Context, ref node.ObjectRef, wrong error) {
	o.mu.Lock()
	u := o.used[ref]
	unknown := u != nil && !u.there && u.wrong == nil
	o.mu.Unlock()
	if unknown {
		o.note(ctx, ref, wrong)
	}
}

// endIfUnused ends the watch of an object that no pod uses any more, and removes it from the node. It is called with
// mu held.
func (o *objects) endIfUnused(ctx context.Context, ref node.ObjectRef) {
	u := o.used[ref]
	if len(u.pods) > 0 {
		return
	}
	delete(o.used, ref)
	if u.stop != nil {
		u.stop()
	}
	left := make(chan struct{})
	o.leaving[ref] = left
	o.done.Go(func() {
		retry.Until(ctx, o.log, ref.String()+": cannot remove it from the node yet", retry.Most, func(ctx context.Context) error {
			return o.node.drop(ctx, ref)
		})
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.leaving[ref] == left {
			delete(o.leaving, ref)
		}
		close(left)
	})
}

// adopt finds the objects that an earlier process brought to the node.
func (o *objects) adopt(ctx context.Context) error {
	held, err := o.node.held(ctx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for ref, object := range held {
		if broughtHere(object) {
			o.used[ref.Family()] = &usage{pods: map[types.NamespacedName]bool{}}
		}
	}
	return nil
}

// release removes adopted objects that no pod uses.
func (o *objects) release(ctx context.Context, wanted cache.Store) {
	for _, object := range wanted.List() {
		pod := object.(*corev1.Pod)
		o.use(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for ref := range o.used {
		o.endIfUnused(ctx, ref)
	}
}
