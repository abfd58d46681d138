package member

import (
	"context"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
)

// The event rate of a pod, as upstream bounds it: a burst, then one event in each interval. Events beyond that stay
// on the node.
const (
	podEventBurst    = 25
	podEventInterval = 5 * time.Minute
	maxLimiters      = 4096 // pods whose event rate is remembered

	eventLife = time.Hour // for which API servers keep events
)

// events carries the node's events to the cluster.
type events struct {
	reporter
	node nodev1.EventsServiceClient
	pod  func(types.NamespacedName) *corev1.Pod // reads a pod of the node; nil if the node has none
	pace *rate.Limiter                          // of all events

	sent     int64                    // the revision of the last event that was carried
	repeats  bool                     // an earlier process may have carried the events that come now
	limiters map[string]*rate.Limiter // by the UIDs of pods
}

// run follows the node's events until the context ends.
func (e *events) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := e.follow(ctx)
		if grpcstatus.Code(err) == codes.OutOfRange {
			e.sent = 0 // the node has dropped events since: begin with those that it still has
		}
		if ctx.Err() == nil {
			e.log.Warn("watching the node's events again", "err", err)
		}
	}, time.Second)
}

// follow carries events until the stream ends. The node marks the end of the events that it had at the start.
func (e *events) follow(ctx context.Context) error {
	e.repeats = e.sent == 0
	stream, err := e.node.WatchEvents(ctx, &nodev1.WatchEventsRequest{SinceRevision: e.sent})
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.GetEvent() != nil {
			err = e.carry(ctx, m.GetEvent())
		} else {
			e.repeats = false
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		e.sent = m.GetRevision()
	}
}

// carry sends one event if its pod is within its rate. An event that an earlier process sent does not count against
// that rate. One that the cluster has dropped since is not sent again.
func (e *events) carry(ctx context.Context, m *nodev1.Event) error {
	if e.repeats && time.Since(m.GetTime().AsTime()) > eventLife {
		return nil
	}
	limiter := e.limiter(m.GetUid())
	if limiter.Tokens() < 1 {
		return nil
	}
	if err := e.pace.Wait(ctx); err != nil {
		return err
	}
	event, known := e.event(m), false
	retry.Until(ctx, e.log, "cannot send an event to the cluster yet", retry.Most, func(ctx context.Context) (err error) {
		known, err = e.send(ctx, event)
		return err
	})
	if !known || !e.repeats {
		limiter.Allow()
	}
	return nil
}

// limiter returns the rate of a pod's events. It forgets pods whose whole burst is left.
func (e *events) limiter(uid string) *rate.Limiter {
	if len(e.limiters) > maxLimiters {
		for uid, l := range e.limiters {
			if l.Tokens() >= podEventBurst {
				delete(e.limiters, uid)
			}
		}
	}
	l, ok := e.limiters[uid]
	if !ok {
		l = rate.NewLimiter(rate.Every(podEventInterval), podEventBurst)
		e.limiters[uid] = l
	}
	return l
}

// event converts an event of the node, which may be about a container.
func (e *events) event(m *nodev1.Event) *corev1.Event {
	about := e.subject(m)
	if m.GetContainer() != "" {
		about.FieldPath = e.fieldPath(m)
	}
	return e.convert(m, about)
}

// fieldPath returns the place of the event's container in its pod.
func (e *events) fieldPath(m *nodev1.Event) string {
	list := "spec.containers"
	if pod := e.pod(types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}); pod != nil {
		switch {
		case slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == m.GetContainer() }):
			list = "spec.initContainers"
		case slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == m.GetContainer() }):
			list = "spec.ephemeralContainers"
		}
	}
	return list + "{" + m.GetContainer() + "}"
}
