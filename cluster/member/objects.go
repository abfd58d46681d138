package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	nodeapiv1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"nodal/cluster/retry"
	"nodal/node"
)

// objects keeps on the node what its pods use: each object is watched by itself,
// while a pod of this node uses it, since a node may not read others.
type objects struct {
	nodeName string
	cluster  *cluster
	node     *shelf
	log      *slog.Logger
	ctx      context.Context // of every watch
	done     sync.WaitGroup
	alarm    *retry.Alarm               // of tokens that age
	ready    func(types.NamespacedName) // a pod that needs an object may go on

	mu      sync.Mutex
	used    map[node.ObjectRef]*usage
	leaving map[node.ObjectRef]chan struct{} // closed once it is off the node
}

// keeper keeps an object on the node until its context ends.
type keeper func(context.Context)

// usage is one object and the pods that use it.
type usage struct {
	pods  map[types.NamespacedName]bool
	stop  context.CancelFunc
	there bool  // the node has it by now
	wrong error // why it has not
}

// uses are the objects that a pod uses as long as it runs, and how each of them is
// kept on the node.
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
		case node.ConfigMap, node.Secret:
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
	for _, ref := range claimsOf(want) {
		found[ref] = func(ctx context.Context) { o.keepClaim(ctx, ref) }
	}
	return found
}

// use takes note of what a pod uses now, and no longer.
func (o *objects) use(key types.NamespacedName, want *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	using := o.uses(want)
	for ref, keep := range using {
		if o.used[ref] == nil || o.used[ref].stop == nil {
			o.start(ref, keep)
		}
		o.used[ref].pods[key] = true
	}
	for ref, u := range o.used {
		if u.pods[key] && using[ref] == nil {
			delete(u.pods, key)
			o.endIfUnused(ref)
		}
	}
}

func (o *objects) start(ref node.ObjectRef, keep keeper) {
	ctx, stop := context.WithCancel(o.ctx)
	if o.used[ref] == nil {
		o.used[ref] = &usage{pods: map[types.NamespacedName]bool{}}
	}
	o.used[ref].stop = stop
	left := o.leaving[ref]
	o.done.Go(func() {
		if left != nil { // a late removal must not take what is brought now
			select {
			case <-left:
			case <-ctx.Done():
				return
			}
		}
		keep(ctx)
	})
}

// note records that the node has an object now, or why not. The context is that of the
// goroutine which keeps the object there.
func (o *objects) note(ctx context.Context, ref node.ObjectRef, wrong error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.used[ref]
	if u == nil || ctx.Err() != nil {
		return
	}
	if wrong == nil && !u.there {
		for pod := range u.pods {
			o.ready(pod)
		}
	}
	u.there, u.wrong = wrong == nil, wrong
}

// lacking returns what a pod has to wait for before it goes to the node. Without its class
// the node would refuse it for good, and a claim of the node's own under the same name is
// not meant for it.
func (o *objects) lacking(want *corev1.Pod) error {
	needed := claimsOf(want)
	if class := want.Spec.RuntimeClassName; class != nil {
		needed = append(needed, node.ObjectRef{Kind: node.RuntimeClass, Name: *class})
	}
	if len(needed) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ref := range needed {
		switch u := o.used[ref]; {
		case u == nil || !u.there && u.wrong == nil:
			return fmt.Errorf("%s is not on the node yet", ref)
		case !u.there:
			return fmt.Errorf("%s is not on the node: %w", ref, u.wrong)
		}
	}
	return nil
}

// endIfUnused ends the watch of an object that no pod uses any more, and takes it
// from the node.
func (o *objects) endIfUnused(ref node.ObjectRef) {
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
		retry.Until(o.ctx, o.log, ref.String()+": cannot remove it from the node yet", retry.Most, func(ctx context.Context) error { return o.node.drop(ctx, ref) })
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.leaving[ref] == left {
			delete(o.leaving, ref)
		}
		close(left)
	})
}

// adopt finds what an earlier process has brought to the node.
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
func (o *objects) release(wanted cache.Store) {
	for _, object := range wanted.List() {
		pod := object.(*corev1.Pod)
		o.use(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for ref := range o.used {
		o.endIfUnused(ref)
	}
}

// source selects what to watch of one kind: some objects of a namespace, or all.
type source struct {
	api       rest.Interface
	resource  string
	namespace string
	chosen    fields.Set
	kind      runtime.Object
}

func named(name string) fields.Set { return fields.Set{metav1.ObjectNameField: name} }

// sources lists what an object of the node is made from.
func (o *objects) sources(ref node.ObjectRef) []source {
	switch {
	case ref.Kind == node.ConfigMap && (ref.Name == linksName || ref.Name == masterName):
		return o.sourcesOf(ref)
	case ref.Kind == node.ConfigMap:
		return []source{{o.cluster.core, "configmaps", ref.Namespace, named(ref.Name), &corev1.ConfigMap{}}}
	case ref.Kind == node.RuntimeClass:
		return []source{{o.cluster.classes, "runtimeclasses", "", named(ref.Name), &nodeapiv1.RuntimeClass{}}}
	}
	return []source{{o.cluster.core, "secrets", ref.Namespace, named(ref.Name), &corev1.Secret{}}}
}

// follow carries each state of an object to the node until no pod uses it.
func (o *objects) follow(ctx context.Context, ref node.ObjectRef, sources ...source) {
	news := make(chan struct{}, 1)
	tell := func(any) {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	var side sync.WaitGroup
	defer side.Wait()
	var stores []cache.Store
	var synced []cache.DoneChecker
	for _, s := range sources {
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(s.api, s.resource, s.namespace, fields.SelectorFromSet(s.chosen)),
			ObjectType:    s.kind,
			Handler:       cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell},
		})
		side.Go(func() { controller.RunWithContext(ctx) })
		stores, synced = append(stores, store), append(synced, controller.HasSyncedChecker())
	}
	if !cache.WaitFor(ctx, "", synced...) {
		return
	}
	tell(nil) // an empty result is news, too
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			retry.Until(ctx, o.log, ref.String()+": cannot put it on the node yet", retry.Most, func(ctx context.Context) error {
				var found []any
				for _, store := range stores {
					found = append(found, store.List()...)
				}
				return o.bring(ctx, ref, found)
			})
		}
	}
}

// bring makes an object of the node from what the cluster has.
func (o *objects) bring(ctx context.Context, ref node.ObjectRef, found []any) error {
	if ref.Kind == node.ConfigMap && (ref.Name == linksName || ref.Name == masterName) {
		var services []*corev1.Service
		for _, object := range found {
			services = append(services, object.(*corev1.Service))
		}
		return o.node.put(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Data: variables(services)})
	}
	if ref.Kind == node.ClusterTrustBundle {
		return o.bringTrust(ctx, ref, found)
	}
	if len(found) == 0 {
		o.note(ctx, ref, errors.New("the cluster has none of that name"))
		return o.node.drop(ctx, ref)
	}
	err := o.node.put(ctx, found[0].(node.Value))
	o.note(ctx, ref, err)
	return err
}
