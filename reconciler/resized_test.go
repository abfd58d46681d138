package reconciler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/store"
)

// listener is a runtime that notes what it is asked to do.
type listener struct {
	Runtime
	asked []string
	err   error
}

func (r *listener) Do(_ context.Context, _ *node.Pod, _ *node.Observed, a node.Action) (node.Result, error) {
	r.asked = append(r.asked, a.String())
	return node.Result{}, r.err
}

// kernel takes any limits.
type kernel struct {
	Cgroups
	err error
}

func (k kernel) SetUp(context.Context, *corev1.Pod, limit.Limits) error { return k.err }

func TestTheRuntimeIsToldTheLimitsOfAResizedPod(t *testing.T) {
	broken := errors.New("broken")
	ready := &node.Observed{Sandboxes: []node.Sandbox{{ID: "s1", UID: "u1", State: node.SandboxReady}}}
	limits := limit.Limits{CPUShares: 512}
	for name, c := range map[string]struct {
		resized    time.Time
		got        *node.Observed
		cgroup     error
		answer     error
		want       []string
		wantFailed bool
	}{
		"it was resized":                       {time.Unix(1, 0), ready, nil, nil, []string{"resize sandbox s1 to shares=512"}, false},
		"the runtime's answer does not matter": {time.Unix(1, 0), ready, nil, broken, []string{"resize sandbox s1 to shares=512"}, false},
		"it never was":                         {time.Time{}, ready, nil, nil, nil, false},
		"it has no sandbox":                    {time.Unix(1, 0), &node.Observed{}, nil, nil, nil, false},
		"the cgroup could not be changed":      {time.Unix(1, 0), ready, broken, nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.Pod{}
			object.UID = "u1"
			r := &listener{err: c.answer}
			act := Act{Runtime: r, Cgroups: kernel{err: c.cgroup}}
			_, err := act.Do(t.Context(), node.Key{}, &node.Pod{Object: object, Resized: c.resized}, c.got, node.SetUpCgroup(limits))
			if (err != nil) != c.wantFailed || !slices.Equal(r.asked, c.want) {
				t.Errorf("got %v, and the runtime heard %q, want %q", err, r.asked, c.want)
			}
		})
	}
}

func TestWhatHasMadeRoomForAPod(t *testing.T) {
	pod := func(uid string) *node.Pod {
		object := &corev1.Pod{}
		object.UID = types.UID(uid)
		return &node.Pod{Object: object}
	}
	waits, other := pod("1"), pod("2")
	waits.Resize = &node.Resize{Reason: corev1.PodReasonDeferred}
	has, larger, smaller := *waits, pod("1"), pod("2")
	has.Resize = nil
	larger.Resize = waits.Resize
	view := func(at int64, pod *node.Pod, result *corev1.PodStatus) store.View {
		return store.View{Revision: at, Slot: &node.Slot{Pod: pod, Result: result}}
	}
	gone := view(5, other, nil)
	gone.Gone = true
	type change struct {
		to   store.View
		from *node.Pod
	}
	for name, c := range map[string]struct {
		before []change
		own    change
		want   string
	}{
		"another was removed":             {[]change{{gone, other}}, change{view(6, &has, nil), waits}, "pods_removed"},
		"another has ended":               {[]change{{view(5, other, &corev1.PodStatus{}), other}}, change{view(6, &has, nil), waits}, "pod_terminated"},
		"another asks for less":           {[]change{{view(5, smaller, nil), other}}, change{view(6, &has, nil), waits}, "pod_resized"},
		"it is the second one":            {[]change{{gone, other}, {view(6, &has, nil), waits}}, change{view(7, &has, nil), waits}, "pods_removed"},
		"it asks for less itself":         {nil, change{view(6, larger, nil), waits}, "pod_updated"},
		"nothing has changed just before": {[]change{{gone, other}}, change{view(9, &has, nil), waits}, "periodic_retry"},
	} {
		t.Run(name, func(t *testing.T) {
			var f freed
			for _, b := range c.before {
				f.saw(b.to, b.from)
			}
			if got := f.saw(c.own.to, c.own.from); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
