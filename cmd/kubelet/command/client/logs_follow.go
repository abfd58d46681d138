package client

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	trails  map[container]*trail
	seats   chan struct{} // one for each container that is followed
	colour  int
	width   int
	first   []*nodev1.Pod // until all that were there before are known
	arrived bool          // they are
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
	f := &followers{reading: r, session: s, client: client, trails: map[container]*trail{}, seats: make(chan struct{}, mostLogs)}
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
		for of := range f.trails {
			if of.uid == m.GetPod().GetUid() {
				delete(f.trails, of)
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
	if len(f.trails) == 0 {
		f.say(fmt.Errorf("no pod of namespace %s that has begun has labels %s; waiting for one", f.namespace, f.selector))
	}
	f.first, f.arrived = nil, true
	return nil
}

// take has the runs of a pod followed that are new.
func (f *followers) take(ctx context.Context, p *nodev1.Pod) error {
	pod := podOf(p)
	names, err := f.containers(pod)
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", p.GetNamespace(), p.GetName(), err)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		of := container{p.GetUid(), c.Name}
		t := f.trails[of]
		if !slices.Contains(names, c.Name) || t == nil && !hasBegun(c) {
			continue
		}
		if t == nil {
			t = newTrail(c.RestartCount, !f.arrived)
			f.trails[of] = t
		}
		if t.hear(c.RestartCount) {
			f.begin(ctx, source{p.GetName(), c.Name}, of, t)
		}
	}
	return nil
}

// begin follows the runs of a container that there are.
func (f *followers) begin(ctx context.Context, from source, of container, t *trail) {
	select {
	case f.seats <- struct{}{}:
	default: // the next change of the pod brings it again
		t.leave()
		f.say(fmt.Errorf("log of %s: %d logs are followed already", from, mostLogs))
		return
	}
	_, onTerminal := terminal(f.Out)
	prefix := f.prefix(from, onTerminal)
	f.ending.Go(func() {
		defer func() { <-f.seats }()
		for more := true; more; {
			attempt, past := t.ask()
			w := &lineWriter{out: f.Out, lock: &f.output, fits: f.lines, plain: onTerminal, prefix: prefix}
			err := f.copyRun(ctx, from, run{of, attempt}, past, w)
			absent := status.Code(err) == codes.NotFound
			if err != nil && !absent && ctx.Err() == nil {
				f.say(fmt.Errorf("log of %s: %s", from, f.explain(err)))
			}
			more = t.over(absent) && ctx.Err() == nil
		}
	})
}

// copyRun writes what a run has written and writes. Of a run that has come later all is shown.
func (f *followers) copyRun(ctx context.Context, from source, of run, past bool, w *lineWriter) error {
	ask := *f.reading
	if !past {
		ask.since, ask.tail = 0, -1
	}
	ask.only = &of
	if err := ask.copy(ctx, f.client, from, w); err != nil {
		return err
	}
	return w.end()
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
