package client

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
)

// followers follow the logs of all pods that labels fit, also of those that come later, and of each further run of
// their containers.
type followers struct {
	*reading
	*session
	client  nodev1.LogsServiceClient
	ending  sync.WaitGroup
	output  sync.Mutex
	errors  sync.Mutex
	began   map[run]bool
	seats   chan struct{} // one for each log that is followed
	colour  int
	width   int
	first   []*nodev1.Pod // until all that were there before are known
	arrived bool          // they are
}

// run is one run of a container.
type run struct {
	uid, container string
	restarts       int32
}

// followLabels follows until ctx ends.
func (r *reading) followLabels(ctx context.Context, s *session) error {
	client, err := clientOf(s, nodev1.NewLogsServiceClient)
	if err != nil {
		return err
	}
	pods, err := s.pods()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &followers{reading: r, session: s, client: client, began: map[run]bool{}, seats: make(chan struct{}, mostLogs)}
	defer f.ending.Wait()
	defer cancel()
	stream, err := pods.WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: r.namespace, LabelSelector: r.selector})
	return follow(stream, err, func(m *nodev1.WatchPodsResponse) error { return f.hear(ctx, m) })
}

// hear takes a message of the watch.
func (f *followers) hear(ctx context.Context, m *nodev1.WatchPodsResponse) error {
	switch changeOf(m.GetType()) {
	case synced:
		return f.start(ctx)
	case "DELETED":
		for r := range f.began {
			if r.uid == m.GetPod().GetUid() {
				delete(f.began, r)
			}
		}
	default:
		if !f.arrived {
			f.first = append(f.first, m.GetPod())
			return nil
		}
		return f.take(ctx, m.GetPod())
	}
	return nil
}

// start takes the pods that were there before, once the widest of their names is known.
func (f *followers) start(ctx context.Context) error {
	for _, p := range f.first {
		names, err := f.containers(podOf(p))
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", p.GetNamespace(), p.GetName(), err)
		}
		for _, name := range names {
			f.width = max(f.width, len(source{p.GetName(), name}.String()))
		}
	}
	for _, p := range f.first {
		if err := f.take(ctx, p); err != nil {
			return err
		}
	}
	if len(f.began) == 0 {
		f.say(fmt.Errorf("no pod of namespace %s that has begun has labels %s; waiting for one", f.namespace, f.selector))
	}
	f.first, f.arrived = nil, true
	return nil
}

// take begins to follow the runs of a pod that are new.
func (f *followers) take(ctx context.Context, p *nodev1.Pod) error {
	of := podOf(p)
	names, err := f.containers(of)
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", p.GetNamespace(), p.GetName(), err)
	}
	for _, c := range slices.Concat(of.Status.InitContainerStatuses, of.Status.ContainerStatuses, of.Status.EphemeralContainerStatuses) {
		r := run{p.GetUid(), c.Name, c.RestartCount}
		if !slices.Contains(names, c.Name) || !hasBegun(c.State) || f.began[r] {
			continue
		}
		select {
		case f.seats <- struct{}{}:
			f.began[r] = true
			f.begin(ctx, source{p.GetName(), c.Name})
		default: // the next change of the pod brings it again
			f.say(fmt.Errorf("log of %s/%s: %d logs are followed already", p.GetName(), c.Name, mostLogs))
		}
	}
	return nil
}

func hasBegun(s corev1.ContainerState) bool { return s.Running != nil || s.Terminated != nil }

// begin follows one log. Of a run that has come later all is shown.
func (f *followers) begin(ctx context.Context, from source) {
	ask := *f.reading
	if f.arrived {
		ask.since, ask.tail = 0, -1
	}
	_, onTerminal := terminal(f.Out)
	w := &lineWriter{out: f.Out, lock: &f.output, fits: f.lines, plain: onTerminal, prefix: f.prefix(from, onTerminal)}
	f.ending.Go(func() {
		defer func() { <-f.seats }()
		err := ask.copy(ctx, f.client, from, w)
		if err == nil {
			err = w.end()
		}
		if err != nil && ctx.Err() == nil {
			f.say(fmt.Errorf("log of %s/%s: %s", from.pod, from.container, f.explain(err)))
		}
	})
}

// prefix is wide enough for the names so far.
func (f *followers) prefix(from source, onTerminal bool) string {
	f.width = max(f.width, len(from.String()))
	f.colour++
	return coloured(fmt.Sprintf("%-*s ", f.width, from), f.colour-1, onTerminal)
}

// say notes something, one at a time.
func (f *followers) say(err error) {
	f.errors.Lock()
	defer f.errors.Unlock()
	f.note(err)
}
