package member

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
)

// willing takes every pod.
type willing struct{ nodev1.PodsServiceClient }

func (willing) PutPod(context.Context, *nodev1.PutPodRequest, ...grpc.CallOption) (*nodev1.PutPodResponse, error) {
	return &nodev1.PutPodResponse{}, nil
}

func TestAPodThatTheNodeHasAlreadyIsLookedAtAgain(t *testing.T) {
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	for _, c := range []struct {
		name string
		have *local
		want int
	}{
		{"one that the node will tell of", nil, 0},
		{"one that it has, and might not tell of again", &local{object: want.DeepCopy()}, 1},
	} {
		p := newPods("node-a", nil, willing{}, nil, slog.New(slog.DiscardHandler))
		if err := p.apply(t.Context(), sides{want: want, have: c.have}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := p.queue.Len(); got != c.want {
			t.Errorf("%s: it is queued %d times, want %d", c.name, got, c.want)
		}
		p.queue.ShutDown()
	}
}
