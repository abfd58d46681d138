package member

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
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

// wilful takes no pod and no condition.
type wilful struct{ nodev1.PodsServiceClient }

var errWilful = grpcstatus.Error(codes.InvalidArgument, "no")

func (wilful) PutPod(context.Context, *nodev1.PutPodRequest, ...grpc.CallOption) (*nodev1.PutPodResponse, error) {
	return nil, errWilful
}

func (wilful) SetPodCondition(context.Context, *nodev1.SetPodConditionRequest, ...grpc.CallOption) (*nodev1.SetPodConditionResponse, error) {
	return nil, errWilful
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
		p := newPods("node-a", nil, &willing{}, stocked(want), slog.New(slog.DiscardHandler))
		if err := p.apply(t.Context(), sides{want: want, have: c.have}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := p.queue.Len(); got != c.want {
			t.Errorf("%s: it is queued %d times, want %d", c.name, got, c.want)
		}
		p.queue.ShutDown()
	}
}

func TestAPodTakesThePlaceOfNoneThatIsNotKnownYet(t *testing.T) {
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	for _, c := range []struct {
		name string
		have *local
		only bool // if none is there
	}{
		{"one that the node never had", nil, true},
		{"one that is gone", &local{object: want.DeepCopy(), gone: true}, true},
		{"one that it has", &local{object: want.DeepCopy()}, false},
	} {
		w := &willing{}
		p := newPods("node-a", nil, w, stocked(want), slog.New(slog.DiscardHandler))
		if err := p.apply(t.Context(), sides{want: want, have: c.have}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if since := w.last.UnchangedSince; (since != nil) != c.only || w.last.GetUnchangedSince() != 0 {
			t.Errorf("%s: it is put if unchanged since %v", c.name, since)
		}
		p.queue.ShutDown()
	}
}

func TestAPodFindsTheNodeByTheLabelsThatTheClusterGaveIt(t *testing.T) {
	choosing := func(disk string) *corev1.Pod {
		pod := object("u1")
		pod.Spec.NodeSelector = map[string]string{"disk": disk}
		return pod
	}
	by := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}},
	}}}
	drawn := object("u1")
	drawn.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: by}}
	placed := func(pod *corev1.Pod) *corev1.Pod {
		setPlaced(&pod.ObjectMeta, true)
		return pod
	}
	for _, c := range []struct {
		name       string
		want, have *corev1.Pod
		asks       int
		placed     bool // says the node's copy
	}{
		{"one that takes any", object("u1"), nil, 0, false},
		{"one that the node suits", choosing("ssd"), nil, 1, true},
		{"one that it suits by affinity", drawn, nil, 1, true},
		{"one that it does not suit", choosing("hdd"), nil, 1, false},
		{"one that only says so", placed(choosing("hdd")), nil, 1, false},
		{"one that is there already, and came so", choosing("hdd"), placed(choosing("hdd")), 0, true},
		{"one that is there already, and did not", choosing("ssd"), choosing("ssd"), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asks, w := 0, &willing{}
			server := apiServer(func(*http.Request) (int, any, error) {
				asks++
				return http.StatusOK, &corev1.Node{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"disk": "ssd"}},
				}, nil
			})
			p := newPods("n", server.dial(t), w, stocked(c.want), slog.New(slog.DiscardHandler))
			defer p.queue.ShutDown()
			s := sides{want: c.want}
			if c.have != nil {
				s.have = &local{object: c.have, ours: true}
			}
			if err := p.apply(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			var given corev1.Pod
			if err := json.Unmarshal([]byte(w.last.GetManifest()), &given); err != nil {
				t.Fatal(err)
			}
			if node.Placed(&given) != c.placed || asks != c.asks {
				t.Errorf("the cluster is asked %d times, want %d, and the node is told %v", asks, c.asks, given.Annotations)
			}
			if !maps.Equal(given.Spec.NodeSelector, c.want.Spec.NodeSelector) {
				t.Errorf("the node is given a choice by %v, want %v", given.Spec.NodeSelector, c.want.Spec.NodeSelector)
			}
			if p.entry(types.NamespacedName{Namespace: "default", Name: "web"}).applied != fingerprint(c.want) {
				t.Error("the node would be asked again")
			}
		})
	}
}

// statuses takes note of the phases that an API server is told.
func statuses(told *[]string) apiServer {
	return func(r *http.Request) (int, any, error) {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}
		*told = append(*told, r.Method+" "+path.Base(r.URL.Path))
		return http.StatusOK, pod, nil
	}
}

func TestARefusedPodFailsUnlessItRuns(t *testing.T) {
	for _, c := range []struct {
		name         string
		sides        sides
		told, warned int
	}{
		{"one that is new", given(wanted("u1")), 1, 0},
		{"one whose name an earlier one has", given(wanted("u2"), here("u1"), runs(true)), 1, 0},
		{"a change of one that runs", given(wanted("u1"), here("u1"), runs(true), edited), 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			warned := 0
			p := newPods("n", statuses(&told).dial(t), wilful{}, stocked(c.sides.want), slog.New(slog.DiscardHandler))
			defer p.queue.ShutDown()
			p.warn = func(context.Context, *corev1.Pod, string, string) { warned++ }
			if err := p.apply(t.Context(), c.sides); err != nil {
				t.Error(err)
			}
			if len(told) != c.told || warned != c.warned {
				t.Errorf("the cluster is told %q and warned %d times, want %d and %d", told, warned, c.told, c.warned)
			}
			if c.warned > 0 && p.entry(types.NamespacedName{Namespace: "default", Name: "web"}).applied != fingerprint(c.sides.want) {
				t.Error("the node would be asked again")
			}
		})
	}
}

// bare has no pods.
type bare struct{ nodev1.PodsServiceClient }

func (bare) GetPod(context.Context, *nodev1.GetPodRequest, ...grpc.CallOption) (*nodev1.GetPodResponse, error) {
	return nil, grpcstatus.Error(codes.NotFound, "it is not there")
}

func TestADeletedPodThatNeverRanHasEndedBeforeItIsDropped(t *testing.T) {
	ended, mirror := object("u1"), object("u1")
	ended.Status.Phase = corev1.PodFailed
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "other"}
	for _, c := range []struct {
		name string
		want *corev1.Pod
		code int
		told []string
	}{
		{"one that has not ended", object("u1"), http.StatusOK, []string{"PUT status"}},
		{"one whose end the cluster does not take", object("u1"), http.StatusUnprocessableEntity, []string{"PUT status", "DELETE web"}},
		{"one that has ended", ended, http.StatusOK, []string{"DELETE web"}},
		{"a mirror", mirror, http.StatusOK, []string{"DELETE web"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			server := statuses(&told)
			p := newPods("n", apiServer(func(r *http.Request) (int, any, error) {
				code, object, err := server(r)
				if r.Method == http.MethodPut && c.code != code {
					return c.code, refused(c.code, metav1.StatusReasonInvalid), nil
				}
				return code, object, err
			}).dial(t), bare{}, nil, slog.New(slog.DiscardHandler))
			defer p.queue.ShutDown()
			if err := p.forget(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, c.want); err != nil {
				t.Error(err)
			}
			if !slices.Equal(told, c.told) {
				t.Errorf("the cluster is told %q, want %q", told, c.told)
			}
		})
	}
}

func TestADeletedPodMayStillRunUntilTheNodeShowsAllThatRuns(t *testing.T) {
	deleted := object("u1")
	deleted.DeletionTimestamp, deleted.Status.Phase = new(metav1.Now()), corev1.PodFailed
	for _, c := range []struct {
		name    string
		settled bool
		have    *local
		want    int // calls that delete it
	}{
		{"one that the node has never shown", false, nil, 0},
		{"one whose name another pod has", false, &local{object: object("u2"), gone: true}, 0},
		{"one of which the node has shown the end", false, &local{object: object("u1"), gone: true}, 1},
		{"one that the node would show", true, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			p := newPods("n", statuses(&told).dial(t), bare{}, &objects{}, slog.New(slog.DiscardHandler))
			defer p.queue.ShutDown()
			p.settled, p.wanted = make(chan struct{}), cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
			if c.settled {
				p.settled = ready{}.Heard(nil)
			}
			if err := p.wanted.Add(deleted); err != nil {
				t.Fatal(err)
			}
			key := types.NamespacedName{Namespace: deleted.Namespace, Name: deleted.Name}
			p.entry(key).local = c.have
			if err := p.carry(t.Context(), key); (err == nil) != (c.want > 0) {
				t.Errorf("it says %v", err)
			}
			if got := len(slices.DeleteFunc(told, func(call string) bool { return !strings.HasPrefix(call, "DELETE") })); got != c.want {
				t.Errorf("the cluster is told to delete it %d times, want %d", got, c.want)
			}
		})
	}
}

func TestWhatTheClusterWants(t *testing.T) {
	p := newPods("n", nil, bare{}, nil, slog.New(slog.DiscardHandler))
	defer p.queue.ShutDown()
	p.wanted = cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	for name, change := range map[string]func(*corev1.Pod){
		"bound": func(*corev1.Pod) {}, "ended": func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded },
		"deleted": func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) },
		"mirror":  func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
	} {
		pod := object(types.UID(name))
		pod.Name = name
		change(pod)
		if err := p.wanted.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	for uid, want := range map[types.UID][2]bool{
		"bound": {true, true}, "ended": {false, true}, "deleted": {}, "mirror": {}, "unknown": {},
	} {
		if got := [2]bool{p.Wants(uid, true), p.Wants(uid, false)}; got != want {
			t.Errorf("%s: it is wanted while it runs, and its remains are: %t, want %t", uid, got, want)
		}
	}
}

func TestAPodThatTheClusterDoesNotShowIsShownToItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiServer(func(r *http.Request) (int, any, error) {
			if r.Method == http.MethodGet {
				return http.StatusOK, &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}, nil
			}
			return http.StatusForbidden, refused(http.StatusForbidden, metav1.StatusReasonForbidden), nil
		})
		p := newPods("n", server.dial(t), bare{}, nil, slog.New(slog.DiscardHandler))
		defer p.queue.ShutDown()
		if err := p.mirror(t.Context(), object("u1")); err != nil || p.queue.Len() != 0 {
			t.Errorf("%v, and it is queued %d times at once", err, p.queue.Len())
		}
		time.Sleep(2 * mirrorRetry)
		synctest.Wait()
		if p.queue.Len() != 1 {
			t.Error("it is not looked at again")
		}
	})
}

func TestAMirrorHasThePriorityThatTheClusterGivesIt(t *testing.T) {
	shown := &corev1.Pod{}
	server := apiServer(func(r *http.Request) (int, any, error) {
		if r.Method == http.MethodGet {
			return http.StatusOK, &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}, nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, shown); err != nil {
			t.Error(err)
		}
		return http.StatusCreated, shown, nil
	})
	p := newPods("n", server.dial(t), bare{}, nil, slog.New(slog.DiscardHandler))
	defer p.queue.ShutDown()
	ours := object("u1")
	ours.Spec.PriorityClassName, ours.Spec.Priority, ours.Spec.PreemptionPolicy = "high", new(int32(7)), new(corev1.PreemptNever)
	if err := p.mirror(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	if shown.Spec.PriorityClassName != "high" || shown.Spec.Priority != nil || shown.Spec.PreemptionPolicy != nil {
		t.Errorf("the cluster is shown %+v, want the class without the node's numbers", shown.Spec)
	}
	if *ours.Spec.Priority != 7 {
		t.Error("the node's own pod has changed")
	}
}

func TestAConditionThatTheNodeDoesNotTakeHoldsUpNoStatus(t *testing.T) {
	var told []string
	p := newPods("n", statuses(&told).dial(t), wilful{}, nil, slog.New(slog.DiscardHandler))
	defer p.queue.ShutDown()
	s := given(wanted("u1"), here("u1"), gated(""), runs(false))
	if err := p.vouch(t.Context(), s, s.want.Status.Conditions[0]); !errors.Is(err, errWilful) {
		t.Errorf("got %v, want the node's answer", err)
	}
	if want := []string{"PUT status"}; !slices.Equal(told, want) {
		t.Errorf("the cluster is told %q, want %q", told, want)
	}
}

// The node learns from it how the pod was under another kubelet.
func TestTheFirstDeliveryBringsTheStatus(t *testing.T) {
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"},
		Status:     corev1.PodStatus{Message: "as it was"},
	}
	w := &willing{}
	p := newPods("node-a", nil, w, stocked(want), slog.New(slog.DiscardHandler))
	defer p.queue.ShutDown()
	for _, c := range []struct {
		applied string
		brings  bool
	}{{"", true}, {"before", false}} {
		if err := p.apply(t.Context(), sides{want: want, applied: c.applied}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(w.last.GetManifest(), "as it was"); got != c.brings {
			t.Errorf("after %q it brings the status: %t, want %t", c.applied, got, c.brings)
		}
	}
}

// Right after its delivery the node may still show a pod as it was before another kubelet ran it.
func TestAPodIsReportedOnceTheNodeHasLearntHowItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
		key := types.NamespacedName{Namespace: "default", Name: "web"}
		p := newPods("node-a", nil, &willing{}, stocked(want), slog.New(slog.DiscardHandler))
		defer p.queue.ShutDown()
		if err := p.apply(t.Context(), sides{want: want, have: &local{object: want.DeepCopy()}}); err != nil {
			t.Fatal(err)
		}
		if p.learns(key) {
			t.Error("the report of a pod waits that no kubelet has run")
		}
		p = newPods("node-a", nil, &willing{}, stocked(want), slog.New(slog.DiscardHandler))
		defer p.queue.ShutDown()
		want.Status.StartTime = &metav1.Time{Time: time.Now()}
		if err := p.apply(t.Context(), sides{want: want, have: &local{object: want.DeepCopy()}}); err != nil {
			t.Fatal(err)
		}
		if !p.learns(key) {
			t.Error("no report waits after the pod is delivered")
		}
		time.Sleep(statusDelay)
		if p.learns(key) {
			t.Error("a report waits for more than a moment")
		}
		if err := p.apply(t.Context(), sides{want: want, have: &local{object: want.DeepCopy()}, applied: "before"}); err != nil {
			t.Fatal(err)
		}
		if p.learns(key) {
			t.Error("a report waits after a change of the pod")
		}
	})
}
