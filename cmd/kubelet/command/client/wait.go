package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

func waitVerb() Verb {
	return Verb{
		Name: "wait", Words: "POD...", Short: "wait until pods are ready, deleted or have succeeded",
		Long: `It fails at once if that cannot come any more: ready or succeeded, of a pod that has failed. With -l it waits for all
pods that have the labels; there has to be one, unless it waits for deleted.`,
		Example: "kubelet wait web --for ready --timeout 1m\nkubelet wait -l job=backup --for succeeded",
		Bind: func(flags *pflag.FlagSet) action {
			var w waiting
			var timeout time.Duration
			flags.StringVarP(&w.namespace, "namespace", "n", "default", "`namespace`")
			flags.StringVarP(&w.selector, "selector", "l", "", "all pods that these `labels` fit")
			flags.StringVar(&w.state, "for", "ready", "`state`: ready, deleted or succeeded")
			flags.DurationVar(&timeout, "timeout", 30*time.Second, "wait this `long` at most; 0 for without end")
			return func(ctx context.Context, s *session, words []string) error {
				if err := w.read(words); err != nil {
					return err
				}
				return waitFor(ctx, s, timeout, &w)
			}
		},
	}
}

// waiting decides from a watch whether pods are as they are waited for.
type waiting struct {
	state               string // ready, deleted or succeeded
	namespace, selector string
	names               []string // empty with a selector
	uid                 string   // a pod of another UID is gone; empty for any

	pods   map[string]*nodev1.Pod // by name, as they are now
	synced bool
}

func (w *waiting) read(words []string) error {
	switch {
	case len(words) == 0 && w.selector == "":
		return misuse("POD missing: want names of pods, or labels with -l")
	case len(words) > 0 && w.selector != "":
		return misuse("give names of pods or -l, not both")
	case !slices.Contains([]string{"ready", "deleted", "succeeded"}, w.state):
		return misuse("--for %s: want ready, deleted or succeeded", w.state)
	}
	for _, word := range words {
		name, err := onePod([]string{word})
		if err != nil {
			return err
		}
		if !slices.Contains(w.names, name) {
			w.names = append(w.names, name)
		}
	}
	return nil
}

// see takes a message of the watch. It reports whether the wait is over; then the error says why it was in vain.
func (w *waiting) see(m *nodev1.WatchPodsResponse) (over bool, err error) {
	if w.pods == nil {
		w.pods = map[string]*nodev1.Pod{}
	}
	p := m.GetPod()
	switch {
	case m.GetType() == nodev1.WatchType_WATCH_TYPE_SYNCED:
		w.synced = true
	case p == nil || len(w.names) > 0 && !slices.Contains(w.names, p.GetName()):
	case m.GetType() == nodev1.WatchType_WATCH_TYPE_DELETED || w.uid != "" && p.GetUid() != w.uid:
		delete(w.pods, p.GetName())
	default:
		w.pods[p.GetName()] = p
	}
	if !w.synced {
		return false, nil
	}
	if w.state == "deleted" {
		return len(w.pods) == 0, nil
	}
	return w.reached()
}

// reached reports whether all pods are as they are waited for, or cannot be any more.
func (w *waiting) reached() (bool, error) {
	if len(w.pods) < max(1, len(w.names)) {
		return true, fmt.Errorf("%s is not there; kubelet get pods -A lists them all", w.absent())
	}
	all := true
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		switch {
		case p.GetPhase() == nodev1.PodPhase_POD_PHASE_FAILED:
			return true, fmt.Errorf("pod %s/%s has failed: %s", w.namespace, name, why(p))
		case w.state == "ready" && p.GetPhase() == nodev1.PodPhase_POD_PHASE_SUCCEEDED:
			return true, fmt.Errorf("pod %s/%s has ended and will not be ready; wait for it with --for succeeded", w.namespace, name)
		case w.state == "ready":
			all = all && p.GetReady() && p.GetDeletionDeadline() == nil
		default:
			all = all && p.GetPhase() == nodev1.PodPhase_POD_PHASE_SUCCEEDED
		}
	}
	return all, nil
}

// absent names the pods that are waited for and not there.
func (w *waiting) absent() string {
	for _, name := range w.names {
		if w.pods[name] == nil {
			return "pod " + w.namespace + "/" + name
		}
	}
	return "a pod with labels " + w.selector
}

// why says how a pod is, in a line.
func why(p *nodev1.Pod) string {
	return strings.TrimSuffix(statusOf(p)+": "+p.GetMessage(), ": ")
}

// present says how the pods are that are waited for.
func (w *waiting) present() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		all = append(all, "pod "+w.namespace+"/"+name+" is "+why(w.pods[name]))
	}
	return strings.Join(all, "\n")
}

// waitFor watches pods until they are as they are waited for.
func waitFor(ctx context.Context, s *session, timeout time.Duration, w *waiting) error {
	client, err := s.pods()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout > 0 {
		// A deadline would go to the node, which may end the stream a moment before it passes here.
		defer time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) }).Stop()
	}
	ask := &nodev1.WatchPodsRequest{Namespace: w.namespace, LabelSelector: w.selector}
	if len(w.names) == 1 {
		ask.FieldSelector = "metadata.name=" + w.names[0]
	}
	stream, err := client.WatchPods(ctx, ask)
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return fmt.Errorf("not %s after %s\n%s", w.state, timeout, w.present())
		}
		if err != nil {
			return ended(err)
		}
		if over, err := w.see(m); over {
			return err
		}
	}
}
