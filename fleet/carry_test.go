package fleet

import (
	"context"
	"log/slog"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
)

// willing takes every pod.
type willing struct {
	nodev1.PodsServiceClient
	last *nodev1.PutPodRequest
}

func (w *willing) PutPod(_ context.Context, r *nodev1.PutPodRequest, _ ...grpc.CallOption) (*nodev1.PutPodResponse, error) {
	w.last = r
	return &nodev1.PutPodResponse{}, nil
}

func TestAPodThatTheNodeHasAlreadyIsLookedAtAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []local
		want int
	}{
		{"one that the node will tell of", nil, 0},
		{"one that it has from an earlier process, and might not tell of again", []local{named("web", "running")}, 1},
	} {
		f := &fleet{
			node: &willing{}, log: slog.New(slog.DiscardHandler), queue: retry.NewQueue[string](),
			entries: map[string]*entry{}, local: map[types.NamespacedName]local{},
		}
		text := web
		if err := f.put(t.Context(), "k", view{text: &text, pods: c.pods}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := f.queue.Len(); got != c.want {
			t.Errorf("%s: it is queued %d times, want %d", c.name, got, c.want)
		}
		f.queue.ShutDown()
	}
}

func TestAPodTakesThePlaceOfNoneThatIsNotKnownYet(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []local
		only bool // if there is no such pod
	}{
		{"one that the node has not", nil, true},
		{"one that it has under another name", []local{named("db", "running")}, true},
		{"one that it has", []local{named("web", "running")}, false},
	} {
		w, text := &willing{}, web
		f := &fleet{
			node: w, log: slog.New(slog.DiscardHandler), queue: retry.NewQueue[string](),
			entries: map[string]*entry{}, local: map[types.NamespacedName]local{},
		}
		if err := f.put(t.Context(), "k", view{text: &text, pods: c.pods}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if since := w.last.UnchangedSince; (since != nil) != c.only || w.last.GetUnchangedSince() != 0 {
			t.Errorf("%s: it is put if unchanged since %v", c.name, since)
		}
		f.queue.ShutDown()
	}
}

func TestAKeyThatWaitsForANameIsLookedAtWhenItIsFree(t *testing.T) {
	pod := &nodev1.Pod{Namespace: "default", Name: "web", Uid: "web-uid"}
	for name, free := range map[string]func(*fleet) error{
		"the watch tells that the pod is gone": func(f *fleet) error {
			return f.show(types.NamespacedName{Namespace: "default", Name: "web"}, &nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_DELETED, Pod: pod})
		},
		"it went without a watch": func(f *fleet) error { f.keepOnly(nil); return nil },
	} {
		text, held := web, named("web", "{}")
		f := &fleet{
			queue: retry.NewQueue[string](), entries: map[string]*entry{"k": {}, "waits": {text: &text, name: held.name}, "other": {}},
			local: map[types.NamespacedName]local{held.name: held},
		}
		if v := f.view("waits"); v.holder != "by key k" {
			t.Errorf("%s: before, it waits for %q", name, v.holder)
		}
		if err := free(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.queue.Len(); got != 2 {
			t.Errorf("%s: %d keys are looked at, want the pod's and the one that waits", name, got)
		}
		f.queue.ShutDown()
	}
}

// emptied stands for an etcd that carries deletions out.
type emptied struct{ etcdserverpb.KVClient }

func (emptied) DeleteRange(context.Context, *etcdserverpb.DeleteRangeRequest, ...grpc.CallOption) (*etcdserverpb.DeleteRangeResponse, error) {
	return &etcdserverpb.DeleteRangeResponse{}, nil
}

func TestNothingIsKeptOfAKeyThatIsGone(t *testing.T) {
	f := &fleet{
		store: &store{kv: emptied{}}, queue: retry.NewQueue[string](), entries: map[string]*entry{"k": {status: "{}"}},
		local: map[types.NamespacedName]local{},
	}
	defer f.queue.ShutDown()
	f.want("k", written{text: web}, true)
	f.want("k", written{}, false)
	for f.queue.Len() > 0 {
		key, _ := f.queue.Get()
		if err := f.carry(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		f.queue.Done(key)
	}
	if len(f.entries) != 0 {
		t.Errorf("of %d keys something is kept", len(f.entries))
	}
}
