package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/follow"
	"nodal/cluster/retry"
	"nodal/node"
)

// Config holds where the fleet is written down.
type Config struct {
	Servers []string // URLs of etcd
	Prefix  string   // of this node
	Members string   // prefix of the records of all nodes
	Node    string   // name of this node
	TLS     *tls.Config
}

// entry holds the state of one key.
type entry struct {
	text    *string              // in etcd; nil if the key is gone
	since   int64                // the revision of etcd that has changed the key last
	name    types.NamespacedName // of the pod in the text, if it names one
	taken   string               // the text that the node answered last
	refused string               // the fault in it, if the node refused it
	status  string               // in etcd
}

// fleet keeps both sides of every key in step.
type fleet struct {
	store *store
	node  nodev1.PodsServiceClient
	log   *slog.Logger
	queue retry.Queue[string]
	bell  node.Bell // rings when the node's record may have changed

	mu      sync.Mutex
	entries map[string]*entry
	local   map[types.NamespacedName]local
	given   int64 // the revision of etcd up to which all changes of keys are known
	health  health
}

// Run has the node run the pods in etcd until the context ends. Neither etcd nor the node has to answer at the start, or
// all the time.
func Run(ctx context.Context, config Config, conn grpc.ClientConnInterface, log *slog.Logger) error {
	s, err := dial(config.Servers, config.Prefix, config.TLS)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	f := &fleet{
		store: s, node: nodev1.NewPodsServiceClient(conn), log: log, queue: retry.NewQueue[string](),
		entries: map[string]*entry{}, local: map[types.NamespacedName]local{},
	}
	retry.Until(ctx, log, "cannot read etcd yet", retry.Most, f.readStatuses)
	var side, both sync.WaitGroup
	both.Add(2)
	wanted := make(chan struct{})
	side.Go(func() { f.followEtcd(ctx, sync.OnceFunc(func() { both.Done(); close(wanted) })) })
	side.Go(func() { f.followNode(ctx, sync.OnceFunc(both.Done)) })
	side.Go(func() { f.followHealth(ctx, nodev1.NewNodeServiceClient(conn)) })
	ready := make(chan struct{})
	go func() {
		both.Wait()
		close(ready)
	}()
	side.Go(func() { f.speakSoon(ctx, newVoice(s, config), wanted, ready) })
	select {
	case <-ready:
		log.Info("read the pods of etcd and of the node")
		// One worker is enough: a node has few keys, and most steps are short.
		side.Go(func() { f.queue.Work(ctx, log, "a pod is tried again", f.carry) })
	case <-ctx.Done():
	}
	<-ctx.Done()
	f.queue.ShutDown()
	side.Wait()
	return context.Cause(ctx)
}

// entry returns the entry of a key. It is called with the lock held.
func (f *fleet) entry(key string) *entry {
	if f.entries[key] == nil {
		f.entries[key] = &entry{}
	}
	return f.entries[key]
}

// readStatuses reads the statuses that an earlier process wrote.
func (f *fleet) readStatuses(ctx context.Context) error {
	statuses, _, err := f.store.list(ctx, f.store.statuses())
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, status := range statuses {
		f.entry(key).status = status.text
		f.queue.Add(key)
	}
	return err
}

// followEtcd keeps the wanted pods up to date. It goes on where the last watch ended. If etcd has dropped that
// revision, it reads all keys again.
func (f *fleet) followEtcd(ctx context.Context, synced func()) {
	after := int64(-1)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		var err error
		if after < 0 {
			after, err = f.readPods(ctx)
		}
		if err == nil {
			synced()
			after, err = f.store.follow(ctx, f.store.pods(), after, f.want)
		}
		if errors.Is(err, errCompacted) {
			after = -1
		}
		if ctx.Err() == nil {
			f.log.Warn("watching etcd again", "err", err)
		}
	}, time.Second)
}

// readPods reads all manifests, and returns their revision.
func (f *fleet) readPods(ctx context.Context) (revision int64, err error) {
	found, revision, err := f.store.list(ctx, f.store.pods())
	if err != nil {
		return -1, err
	}
	f.mu.Lock()
	f.given = revision // also after a restore of etcd, which takes it back
	var gone []string
	for key, e := range f.entries {
		if _, there := found[key]; !there && e.text != nil {
			gone = append(gone, key)
		}
	}
	f.mu.Unlock()
	for _, key := range gone {
		f.want(key, written{revision: revision}, false)
	}
	for key, text := range found {
		f.want(key, text, true)
	}
	return revision, nil
}

// want stores the text of a key, or that the key is gone.
func (f *fleet) want(key string, value written, there bool) {
	var name types.NamespacedName
	if there {
		name, _ = nameOf(value.text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entry(key)
	e.name, e.since = name, value.revision
	if e.text = nil; there {
		e.text = &value.text
	}
	f.given = max(f.given, value.revision)
	f.queue.Add(key)
	f.bell.Ring()
}

// followNode keeps the local pods in step with the node's.
func (f *fleet) followNode(ctx context.Context, synced func()) {
	follow.Pods(ctx, f.node, f.log, follow.Listener{Show: f.show, Keep: func(present map[types.NamespacedName]bool) {
		f.keepOnly(present)
		synced()
	}})
}

// show stores a pod as the node shows it.
func (f *fleet) show(name types.NamespacedName, m *nodev1.WatchPodsResponse) error {
	object := m.Pod.GetObject().AsMap()
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	meta, _ := object["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	key, _ := notes[AnnotationKey].(string)
	l := local{name: name, uid: m.Pod.GetUid(), key: key, text: string(text), state: stateOf(m.Pod)}
	if d := m.Pod.GetDeletionDeadline(); d != nil {
		l.deadline = d.AsTime()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.local[name]
	if m.Type == nodev1.WatchType_WATCH_TYPE_DELETED {
		delete(f.local, name)
	} else {
		f.local[name] = l
	}
	f.changed(name, before.key, key)
	return nil
}

// changed looks again at the keys of a pod, and at those that want its name. It is called with the lock held.
func (f *fleet) changed(name types.NamespacedName, keys ...string) {
	for key, e := range f.entries {
		if e.name == name {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if key != "" {
			f.queue.Add(key)
		}
	}
	f.bell.Ring()
}

// keepOnly drops the pods that went while no watch was open.
func (f *fleet) keepOnly(present map[types.NamespacedName]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, l := range f.local {
		if !present[name] {
			delete(f.local, name)
			f.changed(name, l.key)
		}
	}
}

// view returns both sides of a key, and drops an entry that has none left.
func (f *fleet) view(key string) view {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entry(key)
	v := f.sides(key, e)
	if e.text == nil && e.status == "" && len(v.pods) == 0 {
		delete(f.entries, key)
	}
	return v
}

// sides returns both sides of a key. It is called with the lock held.
func (f *fleet) sides(key string, e *entry) view {
	v := view{text: e.text, taken: e.taken, refused: e.refused, status: e.status}
	for _, l := range f.local {
		switch {
		case l.key == key:
			v.pods = append(v.pods, l)
		case l.name != e.name:
		case l.key == "":
			v.holder = "which did not come from etcd"
		default:
			v.holder = "by key " + l.key
		}
	}
	return v
}
