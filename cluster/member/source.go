package member

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	nodeapiv1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"nodal/cluster/retry"
	"nodal/node"
)

// source selects the objects of one kind to watch: some of a namespace, or all.
type source struct {
	api       rest.Interface
	resource  string
	namespace string
	chosen    fields.Set
	kind      runtime.Object
}

// named selects the object of a name.
func named(name string) fields.Set { return fields.Set{metav1.ObjectNameField: name} }

// sources lists the objects of the cluster from which an object of the node is made.
func (o *objects) sources(ref node.ObjectRef) []source {
	switch {
	case ref.Kind == node.ConfigMap && (ref.Name == linksName || ref.Name == masterName):
		return o.sourcesOf(ref)
	case ref.Kind == node.ConfigMap:
		return []source{{o.cluster.core, "configmaps", ref.Namespace, named(ref.Name), &corev1.ConfigMap{}}}
	case ref.Kind == node.CSIDriverObject:
		return []source{{o.cluster.storage, "csidrivers", "", named(ref.Name), &storagev1.CSIDriver{}}}
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
		from := cache.NewListWatchFromClient(s.api, s.resource, s.namespace, fields.SelectorFromSet(s.chosen))
		list := from.ListWithContextFunc
		from.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			found, err := list(ctx, options)
			if err != nil {
				o.noteUnread(ctx, ref, err)
			}
			return found, err
		}
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: from,
			ObjectType:    s.kind,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell,
			},
		})
		side.Go(func() { controller.RunWithContext(ctx) })
		stores, synced = append(stores, store), append(synced, controller.HasSyncedChecker())
	}
	if !cache.WaitFor(ctx, "", synced...) {
		return
	}
	tell(nil) // an empty result counts too
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

// bring posts an object to the node, made from the objects that the cluster has.
func (o *objects) bring(ctx context.Context, ref node.ObjectRef, found []any) error {
	var err error
	switch {
	case ref.Kind == node.ConfigMap && (ref.Name == linksName || ref.Name == masterName):
		var services []*corev1.Service
		for _, object := range found {
			services = append(services, object.(*corev1.Service))
		}
		err = o.node.put(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Data: node.ServiceVariables(services),
		})
	case ref.Kind == node.ClusterTrustBundle:
		err = o.bringTrust(ctx, ref, found)
	case len(found) == 0:
		o.note(ctx, ref, absent(ref))
		return o.node.drop(ctx, ref)
	default:
		if driver, ok := found[0].(*storagev1.CSIDriver); ok {
			o.learn(ref, driver)
		}
		err = o.node.put(ctx, found[0].(node.Value))
	}
	o.note(ctx, ref, err)
	return err
}
