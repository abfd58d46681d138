package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cmd/apisync/retry"
	"nodal/node"
)

// objects keeps on the node what its pods use: each object is watched by itself,
// while a pod of this node uses it, since a node may not read others.
type objects struct {
	cluster    *cluster
	configMaps nodev1.ConfigMapsServiceClient
	secrets    nodev1.SecretsServiceClient
	log        *slog.Logger
	ctx        context.Context // of every watch
	done       sync.WaitGroup

	mu   sync.Mutex
	used map[node.ObjectRef]*usage
}

// keeper keeps an object on the node until its context ends.
type keeper func(context.Context)

// usage is one object and the pods that use it.
type usage struct {
	pods map[types.NamespacedName]bool
	stop context.CancelFunc
}

// uses are the ConfigMaps and Secrets that a pod uses as long as it runs, and how
// each of them is kept on the node.
func (o *objects) uses(want *corev1.Pod) map[node.ObjectRef]keeper {
	if want == nil || finished(want) {
		return nil
	}
	found := map[node.ObjectRef]keeper{}
	for _, ref := range node.ObjectRefs(want) {
		if ref.Kind == node.ConfigMap || ref.Kind == node.Secret {
			found[ref] = func(ctx context.Context) { o.follow(ctx, ref) }
		}
	}
	for ref, t := range tokensOf(want) {
		found[ref] = func(ctx context.Context) { o.keepFresh(ctx, t) }
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
	o.done.Go(func() { keep(ctx) })
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
	o.done.Go(func() {
		retry.Until(o.ctx, o.log, ref.String()+" is not taken away yet", lastRetry, func(ctx context.Context) error { return o.drop(ctx, ref) })
	})
}

// adopt finds what an earlier process has brought to the node.
func (o *objects) adopt(ctx context.Context) error {
	maps, err := o.configMaps.ListConfigMaps(ctx, &nodev1.ListConfigMapsRequest{})
	if err != nil {
		return fmt.Errorf("list the node's ConfigMaps: %w", err)
	}
	secrets, err := o.secrets.ListSecrets(ctx, &nodev1.ListSecretsRequest{})
	if err != nil {
		return fmt.Errorf("list the node's Secrets: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := func(kind node.ObjectKind, namespace, name string, annotations any) {
		notes, _ := annotations.(map[string]any)
		if notes[AnnotationFrom] == theCluster {
			o.used[node.ObjectRef{Kind: kind, Namespace: namespace, Name: name}] = &usage{pods: map[types.NamespacedName]bool{}}
		}
	}
	for _, m := range maps.GetConfigMaps() {
		found(node.ConfigMap, m.GetNamespace(), m.GetName(), annotationsOf(m.GetObject().AsMap()))
	}
	for _, s := range secrets.GetSecrets() {
		found(node.Secret, s.GetNamespace(), s.GetName(), annotationsOf(s.GetObject().AsMap()))
	}
	return nil
}

func annotationsOf(object map[string]any) any {
	meta, _ := object["metadata"].(map[string]any)
	return meta["annotations"]
}

// release takes from the node what was adopted and no pod uses.
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

// follow carries each state of one object to the node, until nobody uses it.
func (o *objects) follow(ctx context.Context, ref node.ObjectRef) {
	resource, kind := "configmaps", runtime.Object(&corev1.ConfigMap{})
	if ref.Kind == node.Secret {
		resource, kind = "secrets", &corev1.Secret{}
	}
	news := make(chan struct{}, 1)
	tell := func(any) {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(o.cluster.core, resource, ref.Namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name)),
		ObjectType:    kind,
		Handler:       cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell},
	})
	var side sync.WaitGroup
	side.Go(func() { controller.RunWithContext(ctx) })
	defer side.Wait()
	if cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
		tell(nil) // that it is not there is news, too
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			retry.Until(ctx, o.log, ref.String()+" is not on the node yet", lastRetry, func(ctx context.Context) error {
				object, ok, err := store.GetByKey(ref.Namespace + "/" + ref.Name)
				if err != nil || !ok {
					return o.drop(ctx, ref)
				}
				return o.put(ctx, ref, object.(runtime.Object))
			})
		}
	}
}

func (o *objects) put(ctx context.Context, ref node.ObjectRef, object runtime.Object) error {
	text, err := json.Marshal(copyOf(object))
	if err != nil {
		return err
	}
	if ref.Kind == node.Secret {
		_, err = o.secrets.PutSecret(ctx, &nodev1.PutSecretRequest{Namespace: ref.Namespace, Name: ref.Name, Manifest: string(text)})
	} else {
		_, err = o.configMaps.PutConfigMap(ctx, &nodev1.PutConfigMapRequest{Namespace: ref.Namespace, Name: ref.Name, Manifest: string(text)})
	}
	if err != nil {
		return fmt.Errorf("give %s to the node: %w", ref, err)
	}
	return nil
}

func (o *objects) drop(ctx context.Context, ref node.ObjectRef) (err error) {
	if ref.Kind == node.Secret {
		_, err = o.secrets.DeleteSecret(ctx, &nodev1.DeleteSecretRequest{Namespace: ref.Namespace, Name: ref.Name})
	} else {
		_, err = o.configMaps.DeleteConfigMap(ctx, &nodev1.DeleteConfigMapRequest{Namespace: ref.Namespace, Name: ref.Name})
	}
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return fmt.Errorf("take %s from the node: %w", ref, err)
	}
	return nil
}

// copyOf is an object of the cluster as the node is to have it.
func copyOf(object runtime.Object) any {
	meta := func(m *metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Annotations: map[string]string{AnnotationFrom: theCluster}}
	}
	switch o := object.(type) {
	case *corev1.Secret:
		return &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta(&o.ObjectMeta),
			Type: cmp.Or(o.Type, corev1.SecretTypeOpaque), Data: o.Data, Immutable: o.Immutable,
		}
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(&o.ObjectMeta),
			Data: o.Data, BinaryData: o.BinaryData, Immutable: o.Immutable,
		}
	}
	return object
}
