package member

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func TestObjectsAreKeptUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		server := apiServer(func(*http.Request) (int, any, error) {
			asked.Add(1)
			return http.StatusNotFound, refused(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		})
		o := &objects{
			attachments: newAttachments("n", nil), cluster: server.dial(t), node: (&stock{}).shelf(), log: slog.New(slog.DiscardHandler),
			used: map[node.ObjectRef]*usage{}, leaving: map[node.ObjectRef]chan struct{}{}, ready: func(types.NamespacedName) {},
		}
		pod := object("u1")
		pod.Spec.EnableServiceLinks = new(false)
		pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		o.use(ctx, types.NamespacedName{Namespace: "default", Name: "web"}, pod)
		time.Sleep(time.Minute)
		if got := asked.Load(); got < 3 {
			t.Errorf("asked the cluster %d times in a minute, want it to go on", got)
		}
		cancel()
		o.done.Wait()
		asked.Store(0)
		time.Sleep(time.Minute)
		if got := asked.Load(); got > 0 {
			t.Errorf("asked the cluster %d times after the end", got)
		}
	})
}
