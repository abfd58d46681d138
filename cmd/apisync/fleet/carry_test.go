package fleet

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cmd/apisync/retry"
)

// willing takes every pod.
type willing struct{ nodev1.PodsServiceClient }

func (willing) PutPod(context.Context, *nodev1.PutPodRequest, ...grpc.CallOption) (*nodev1.PutPodResponse, error) {
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
			node: willing{}, log: slog.New(slog.DiscardHandler), queue: retry.NewQueue[string](),
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
