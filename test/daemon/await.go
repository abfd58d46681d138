package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/pace"
)

// Pods maps the pods of the default namespace by name, as a watch shows them.
type Pods map[string]*nodev1.Pod

// Ready reports whether all named pods are ready.
func (p Pods) Ready(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !p[name].GetReady() })
}

// Gone reports whether all named pods are gone.
func (p Pods) Gone(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p[name] != nil })
}

func (p Pods) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		pod := p[name]
		fmt.Fprintf(&b, "%s %s ready=%t restarts=%d %s %s\n",
			name, pod.GetPhase(), pod.GetReady(), pod.GetRestarts(), pod.GetReason(), pod.GetMessage())
	}
	return b.String()
}

// Await watches the pods until wanted returns true. If the process ends meanwhile, it watches again
// after the next start.
func (d *Daemon) Await(what string, wanted func(Pods) bool) Pods {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), pace.Of(Patience))
	defer cancel()
	for {
		pods, err := d.watch(ctx, wanted)
		switch {
		case err == nil:
			return pods
		case status.Code(err) != codes.Unavailable || ctx.Err() != nil:
			d.t.Fatalf("wait until %s: %v; the pods are\n%s\nthe kubelet says of those that are not ready\n%s", what, err, pods, d.logOfUnready(pods))
		}
	}
}

func (d *Daemon) logOfUnready(pods Pods) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if !pods.Ready(name) {
			b.WriteString(d.LogOf(name))
		}
	}
	return b.String()
}

// watch follows one watch until wanted returns true.
func (d *Daemon) watch(ctx context.Context, wanted func(Pods) bool) (Pods, error) {
	pods := Pods{}
	watch, err := nodev1.NewPodsServiceClient(d.conn).WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: "default"})
	if err != nil {
		return pods, err
	}
	for synced := false; ; {
		message, err := watch.Recv()
		if err != nil {
			return pods, err
		}
		switch message.GetType() {
		case nodev1.WatchType_WATCH_TYPE_SYNCED:
			synced = true
		case nodev1.WatchType_WATCH_TYPE_DELETED:
			delete(pods, message.GetPod().GetName())
		default:
			pods[message.GetPod().GetName()] = message.GetPod()
		}
		if synced && wanted(pods) {
			return pods, nil
		}
	}
}
