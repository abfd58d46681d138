package member

import (
	"context"
	"errors"
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

func TestAPodWaitsForItsClassAndItsClaims(t *testing.T) {
	pod := object("u1")
	pod.Spec.RuntimeClassName = new("kata")
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	class := node.ObjectRef{Kind: node.RuntimeClass, Name: "kata"}
	claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
	woken := 0
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	o := &objects{used: map[node.ObjectRef]*usage{}, ready: func(types.NamespacedName) { woken++ }}
	for _, ref := range []node.ObjectRef{class, claim} {
		o.used[ref] = &usage{pods: map[types.NamespacedName]bool{key: true}}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"nothing is known of either", func() {}, "PersistentVolumeClaim default/data is not on the node yet"},
		{"a claim of another client is there", func() { o.note(t.Context(), claim, errForeign) }, "PersistentVolumeClaim default/data is not on the node: " + errForeign.Error()},
		{"the claim has come", func() { o.note(t.Context(), claim, nil) }, "RuntimeClass kata is not on the node yet"},
		{"the class has come", func() { o.note(t.Context(), class, nil) }, ""},
		{"the keeper of an earlier one ends", func() { o.note(ended, class, context.Canceled) }, ""},
		{"the class was deleted", func() { o.note(t.Context(), class, errors.New("it is gone")) }, "RuntimeClass kata is not on the node: it is gone"},
	} {
		step.do()
		got := ""
		if err := o.lacking(pod); err != nil {
			got = err.Error()
		}
		if got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if woken != 2 {
		t.Errorf("the pod was looked at %d times, want once for each that came", woken)
	}
}

func TestObjectsAreKeptUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		server := apiServer(func(*http.Request) (int, any, error) {
			asked.Add(1)
			return http.StatusNotFound, refused(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		})
		o := &objects{
			cluster: server.dial(t), node: (&stock{}).shelf(), log: slog.New(slog.DiscardHandler),
			used: map[node.ObjectRef]*usage{}, leaving: map[node.ObjectRef]chan struct{}{},
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
