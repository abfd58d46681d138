package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
)

// The event rate of a pod, as upstream bounds it: a burst, then one at an interval.
// Events beyond that stay on the node.
const (
	tellAtOnce = 25
	tellEvery  = 5 * time.Minute
	talkative  = 4096 // pods whose event rate is remembered

	remembered = time.Hour // by API servers
)

// events carries the node's events to the cluster. An event always gets the same name
// there, so one that is carried twice, as after a restart, is stored once.
type events struct {
	nodeName string
	cluster  *cluster
	node     nodev1.EventsServiceClient
	pod      func(types.NamespacedName) *corev1.Pod // as the node has it, or nil
	pace     *rate.Limiter                          // of all
	log      *slog.Logger

	at      int64 // the revision that was carried last
	retells bool  // what comes now may have been carried by an earlier process
	told    map[string]*rate.Limiter
}

// run follows the node's events until the context ends.
func (e *events) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := e.follow(ctx)
		if grpcstatus.Code(err) == codes.OutOfRange {
			e.at = 0 // too much has happened since: from what the node still has
		}
		if ctx.Err() == nil {
			e.log.Warn("watching the node's events again", "err", err)
		}
	}, time.Second)
}

func (e *events) follow(ctx context.Context) error {
	e.retells = e.at == 0
	stream, err := e.node.WatchEvents(ctx, &nodev1.WatchEventsRequest{SinceRevision: e.at})
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.GetEvent() != nil {
			err = e.tell(ctx, m.GetEvent())
		} else {
			e.retells = false // that was all that there was
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		e.at = m.GetRevision()
	}
}

// tell carries one event if its pod is within its rate. An event that the cluster has from
// an earlier process costs the pod nothing; one that it has forgotten stays forgotten.
func (e *events) tell(ctx context.Context, m *nodev1.Event) error {
	if e.retells && time.Since(m.GetTime().AsTime()) > remembered {
		return nil
	}
	spam := e.limiter(m.GetUid())
	if spam.Tokens() < 1 {
		return nil
	}
	if err := e.pace.Wait(ctx); err != nil {
		return err
	}
	event, known := e.eventOf(m), false
	retry.Until(ctx, e.log, "cannot send an event to the cluster yet", retry.Most, func(ctx context.Context) (err error) {
		known, err = e.send(ctx, event)
		return err
	})
	if !known || !e.retells {
		spam.Allow()
	}
	return nil
}

// limiter holds a pod to its number of events.
func (e *events) limiter(uid string) *rate.Limiter {
	if len(e.told) > talkative {
		for uid, l := range e.told {
			if l.Tokens() >= tellAtOnce {
				delete(e.told, uid)
			}
		}
	}
	l, ok := e.told[uid]
	if !ok {
		l = rate.NewLimiter(rate.Every(tellEvery), tellAtOnce)
		e.told[uid] = l
	}
	return l
}

// send creates an event, or updates its count if the cluster knows it. An event that the
// cluster will never take is given up.
func (e *events) send(ctx context.Context, event *corev1.Event) (known bool, err error) {
	err = e.cluster.createEvent(ctx, event)
	if known = apierrors.IsAlreadyExists(err); known {
		err = e.cluster.patchEvent(ctx, event)
	}
	if rejected(err) {
		e.log.Debug("dropping an event", "namespace", event.Namespace, "event", event.Name, "err", err)
		return known, nil
	}
	return known, err
}

// rejected reports whether the API server would answer the same again, because the request
// itself is at fault.
func rejected(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) {
		return false
	}
	code := answer.Status().Code
	return code >= 400 && code < 500
}

// warn records a fault of a pod that the node itself does not know.
func (e *events) warn(ctx context.Context, pod *corev1.Pod, reason, message string) {
	e.say(ctx, &nodev1.Event{
		Namespace: pod.Namespace, Name: pod.Name, Uid: string(pod.UID), Type: nodev1.EventType_EVENT_TYPE_WARNING, Reason: reason, Message: message,
	})
}

// inform records an event of the node.
func (e *events) inform(ctx context.Context, reason, message string) {
	e.say(ctx, &nodev1.Event{Reason: reason, Message: message})
}

// sayWithin bounds the time for an event of our own: its caller has more to do.
const sayWithin = 10 * time.Second

// say sends an event of this moment, once.
func (e *events) say(ctx context.Context, m *nodev1.Event) {
	once, cancel := context.WithTimeout(ctx, sayWithin)
	defer cancel()
	m.Count, m.Time = 1, timestamppb.Now()
	m.FirstTime = m.Time
	event := e.eventOf(m)
	if _, err := e.send(once, event); err != nil && ctx.Err() == nil {
		e.log.Warn("cannot send an event to the cluster", "event", event.Name, "reason", event.Reason, "err", err)
	}
}

// eventOf converts an event of the node into the form that upstream's kubelet sends.
func (e *events) eventOf(m *nodev1.Event) *corev1.Event {
	event := &corev1.Event{
		InvolvedObject: e.about(m),
		Reason:         m.GetReason(), Message: m.GetMessage(), Type: corev1.EventTypeNormal, Count: m.GetCount(),
		FirstTimestamp: metav1.NewTime(m.GetFirstTime().AsTime()), LastTimestamp: metav1.NewTime(m.GetTime().AsTime()),
		Source:              corev1.EventSource{Component: "kubelet", Host: e.nodeName},
		ReportingController: "kubelet", ReportingInstance: e.nodeName,
	}
	if m.GetType() == nodev1.EventType_EVENT_TYPE_WARNING {
		event.Type = corev1.EventTypeWarning
	}
	identity := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		e.nodeName, m.GetUid(), m.GetContainer(), event.Reason, event.Message, event.Type, event.FirstTimestamp.UTC().Format(time.RFC3339Nano),
	}))
	event.Name = eventName(event.InvolvedObject.Name, identity[:8])
	event.Namespace = event.InvolvedObject.Namespace
	if event.Namespace == "" {
		event.Namespace = metav1.NamespaceDefault
	}
	return event
}

// eventName is that of what the event is about, as far as there is room for it, and its
// identity.
func eventName(about string, identity []byte) string {
	end := "." + hex.EncodeToString(identity)
	about = about[:min(len(about), validation.DNS1123SubdomainMaxLength-len(end))]
	return strings.TrimRight(about, "-.") + end // the cut may end in a character that no name may end in
}

// about refers to the event's pod, or to the node.
func (e *events) about(m *nodev1.Event) corev1.ObjectReference {
	if m.GetName() == "" {
		// By this, kubectl looks for events of a node.
		return corev1.ObjectReference{Kind: "Node", Name: e.nodeName, UID: types.UID(e.nodeName)}
	}
	about := corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: m.GetNamespace(), Name: m.GetName(), UID: types.UID(m.GetUid()),
	}
	if m.GetContainer() == "" {
		return about
	}
	about.FieldPath = "spec.containers{" + m.GetContainer() + "}"
	if pod := e.pod(types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}); pod != nil {
		switch {
		case slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == m.GetContainer() }):
			about.FieldPath = "spec.initContainers{" + m.GetContainer() + "}"
		case slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == m.GetContainer() }):
			about.FieldPath = "spec.ephemeralContainers{" + m.GetContainer() + "}"
		}
	}
	return about
}
