package daemon

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	nodev1 "nodal/api/gen/node/v1"
)

// Pods are the pods of the default namespace by name, as a watch shows them.
type Pods map[string]*nodev1.Pod

// Ready says whether the named pods are all ready.
func (p Pods) Ready(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !p[name].GetReady() })
}

// Gone says whether the named pods are all gone.
func (p Pods) Gone(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p[name] != nil })
}

// Phase is the phase of a pod in Kubernetes' words.
func (p Pods) Phase(name string) string {
	word := strings.ToLower(strings.TrimPrefix(p[name].GetPhase().String(), "POD_PHASE_"))
	return strings.ToUpper(word[:1]) + word[1:]
}

// Await watches the pods until they are as wanted.
func (d *Daemon) Await(what string, wanted func(Pods) bool) Pods {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), Patience)
	defer cancel()
	pods := Pods{}
	watch, err := nodev1.NewPodsServiceClient(d.Conn()).WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: "default"})
	must(d.t, err)
	for synced := false; ; {
		message, err := watch.Recv()
		if err != nil {
			d.t.Fatalf("wait until %s: %v; the pods are\n%s", what, err, pods)
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
			return pods
		}
	}
}

func (p Pods) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		pod := p[name]
		fmt.Fprintf(&b, "%s %s ready=%t restarts=%d %s %s\n", name, p.Phase(name), pod.GetReady(), pod.GetRestarts(), pod.GetReason(), pod.GetMessage())
	}
	return b.String()
}

// Address is where the TLS port listens.
func (d *Daemon) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port)) }
