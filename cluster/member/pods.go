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

// workers bounds the pods that are worked on side by side.
const workers = 8

// pods keeps both sides of every pod of this node in step.
type pods struct {
	nodeName string
	cluster  *cluster
	node     nodev1.PodsServiceClient
	about    nodev1.NodeServiceClient
	objects  *objects
	subnets  *subnets
	queue    retry.Queue[types.NamespacedName]
	warn     func(ctx context.Context, pod *corev1.Pod, reason, message string) // sends an event of the pod
	log      *slog.Logger
	wanted   cache.Store // the cluster's pods
	board    Board
	settled  <-chan struct{} // closed once the node shows all that runs

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
}

// entry holds what is remembered of one name.
type entry struct {
	local     *local    // the node's pod; nil if it never had one
	applied   string    // fingerprint of the manifest that the node has answered
	delivered types.UID // of the pod that the node has got since the start
	asked     *asked    // nil until the node was asked
	learns    time.Time // until when the node may not show yet what it learns from the cluster
	notBefore time.Time // when the next status that can wait may be sent; zero if none waits
	kept      *kept     // of the last status that the cluster has not kept whole
	explained string    // which pod does not go to the node and why, as an event has said last

	waiting types.UID            // of the pod that waits before it goes to the node
	waits   map[string]time.Time // since when, by what it lacks
}

// asked holds the grace period with which the node was asked to end a pod.
type asked struct {
	uid     types.UID
	seconds int64
}

// entry returns the entry of a name. It is called with mu held.
func (p *pods) entry(key types.NamespacedName) *entry {
	if p.entries[key] == nil {
		p.entries[key] = &entry{}
	}
	return p.entries[key]
}

// run watches both sides until the context ends. It acts only after both have been read whole: until then a pod
// that is missing may only be unread.
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
		p.settled = p.board.Heard(p)
		p.objects.release(ctx, store)
		for range workers {
			side.Go(func() { p.queue.Work(ctx, p.log, "a pod is tried again", p.carry) })
		}
	}
	<-ctx.Done()
	p.queue.ShutDown()
	side.Wait()
}

// changed looks at a pod again.
func (p *pods) changed(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		p.queue.Add(types.NamespacedName(key))
	}
}

// inCluster returns the cluster's pod of a name, or nil.
func (p *pods) inCluster(key types.NamespacedName) *corev1.Pod {
	object, ok, err := p.wanted.GetByKey(key.String())
	if err != nil || !ok {
		return nil
	}
	return object.(*corev1.Pod)
}

// onNode returns the node's pod of a name, or nil. A pod that is gone is returned as it was last.
func (p *pods) onNode(key types.NamespacedName) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[key]; e != nil && e.local != nil {
		return e.local.object
	}
	return nil
}

// follow keeps the entries in step with the node's pods.
func (p *pods) follow(ctx context.Context, synced func()) {
	follow.Pods(ctx, p.node, p.log, follow.Listener{Show: p.show, Keep: func(present map[types.NamespacedName]bool) {
		p.keepOnly(present)
		synced()
	}})
}

// show stores a pod as the node shows it.
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
	p.entry(key).local = l
	p.mu.Unlock()
	p.queue.Add(key)
	return nil
}

// keepOnly marks the pods as gone that went while no watch was open.
func (p *pods) keepOnly(present map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.entries {
		if e.local != nil && !present[key] && !e.local.gone {
			gone := *e.local
			gone.gone = true
			e.local = &gone
			p.queue.Add(key)
		}
	}
}

// sides returns both views of a name.
func (p *pods) sides(key types.NamespacedName) sides {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(key)
	s := sides{want: p.inCluster(key), have: e.local, applied: e.applied, kept: e.kept}
	if s.have != nil && e.asked != nil && e.asked.uid == s.have.object.UID {
		s.asked = &e.asked.seconds
	}
	return s
}

// decode returns the pod that the API sent.
func decode(object *structpb.Struct) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.AsMap(), pod); err != nil {
		return nil, fmt.Errorf("read a pod of the node: %w", err)
	}
	return pod, nil
}
