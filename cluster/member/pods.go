package member

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/follow"
	"nodal/cluster/retry"
	"nodal/node"
)

// workers bounds how many pods are worked on side by side.
const workers = 8

// pods keeps both sides of every pod of this node in step.
type pods struct {
	nodeName string
	cluster  *cluster
	node     nodev1.PodsServiceClient
	objects  *objects
	log      *slog.Logger
	queue    retry.Queue[types.NamespacedName]
	wanted   cache.Store
	warn     func(ctx context.Context, pod *corev1.Pod, reason, message string) // whoever looks at the pod in the cluster

	mu        sync.Mutex
	local     map[types.NamespacedName]*local
	applied   map[types.NamespacedName]string // fingerprints of what the node has answered
	asked     map[types.NamespacedName]asked
	notBefore map[types.NamespacedName]time.Time // when the next status that can wait is sent
}

// asked is within how many seconds the node was asked to end a pod.
type asked struct {
	uid     types.UID
	seconds int64
}

func newPods(nodeName string, c *cluster, node nodev1.PodsServiceClient, o *objects, log *slog.Logger) *pods {
	return &pods{
		nodeName: nodeName, cluster: c, node: node, objects: o, log: log,
		queue: retry.NewQueue[types.NamespacedName](),
		local: map[types.NamespacedName]*local{}, applied: map[types.NamespacedName]string{},
		asked: map[types.NamespacedName]asked{}, notBefore: map[types.NamespacedName]time.Time{},
	}
}

// run watches both sides until the context ends. It acts only after both have been read
// whole: a pod that is not there yet is not gone.
func (p *pods) run(ctx context.Context) {
	here := fields.OneTermEqualSelector("spec.nodeName", p.nodeName)
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(p.cluster.core, "pods", corev1.NamespaceAll, here),
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { p.changed(object) },
			UpdateFunc: func(_, object any) { p.changed(object) },
			DeleteFunc: p.changed,
		},
	})
	p.wanted = store
	synced := make(chan struct{})
	var side sync.WaitGroup
	side.Go(func() { controller.RunWithContext(ctx) })
	side.Go(func() { p.follow(ctx, sync.OnceFunc(func() { close(synced) })) })
	select {
	case <-synced:
	case <-ctx.Done():
	}
	if cache.WaitFor(ctx, "", controller.HasSyncedChecker()) {
		p.log.Info("read the pods of the cluster and of the node", "pods", len(store.ListKeys()))
		p.objects.release(store)
		for range workers {
			side.Go(func() { p.queue.Work(ctx, p.log, "a pod is tried again", p.carry) })
		}
	}
	<-ctx.Done()
	p.queue.ShutDown()
	side.Wait()
}

func (p *pods) changed(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		p.queue.Add(types.NamespacedName(key))
	}
}

func (p *pods) inCluster(key types.NamespacedName) *corev1.Pod {
	object, ok, err := p.wanted.GetByKey(key.String())
	if err != nil || !ok {
		return nil
	}
	return object.(*corev1.Pod)
}

func (p *pods) onNode(key types.NamespacedName) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.local[key]; l != nil {
		return l.object
	}
	return nil
}

// follow keeps what the node has true.
func (p *pods) follow(ctx context.Context, synced func()) {
	follow.Pods(ctx, p.node, p.log, follow.Listener{Show: p.show, Keep: func(present map[types.NamespacedName]bool) {
		p.keepOnly(present)
		synced()
	}})
}

// show takes what the node shows of a pod.
func (p *pods) show(key types.NamespacedName, m *nodev1.WatchPodsResponse) error {
	pod, err := decode(m.Pod.GetObject())
	if err != nil {
		return err
	}
	l := &local{object: pod, ours: node.FromCluster(pod), gone: m.Type == nodev1.WatchType_WATCH_TYPE_DELETED}
	if d := m.Pod.GetDeletionDeadline(); d != nil {
		l.deadline = d.AsTime()
	}
	p.mu.Lock()
	p.local[key] = l
	p.mu.Unlock()
	p.queue.Add(key)
	return nil
}

// keepOnly notes which pods went while no watch was open.
func (p *pods) keepOnly(present map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.local {
		if !present[key] && !l.gone {
			gone := *l
			gone.gone = true
			p.local[key] = &gone
			p.queue.Add(key)
		}
	}
}

func (p *pods) sides(key types.NamespacedName) sides {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := sides{want: p.inCluster(key), have: p.local[key], applied: p.applied[key]}
	if asked, ok := p.asked[key]; ok && s.have != nil && asked.uid == s.have.object.UID {
		s.asked = &asked.seconds
	}
	return s
}

// decode makes a pod of what the API carries.
func decode(object *structpb.Struct) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.AsMap(), pod); err != nil {
		return nil, fmt.Errorf("read a pod of the node: %w", err)
	}
	return pod, nil
}
