package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	nodev1 "nodal/api/gen/node/v1"
)

// reporter sends events to the cluster. An event always gets the same name there. So the cluster stores an event
// once that is sent twice, as after a restart.
type reporter struct {
	nodeName string
	cluster  *cluster
	log      *slog.Logger
}

// warn reports a fault of a pod that the node itself does not know.
func (r reporter) warn(ctx context.Context, pod *corev1.Pod, reason, message string) {
	r.report(ctx, &nodev1.Event{
		Namespace: pod.Namespace, Name: pod.Name, Uid: string(pod.UID), Type: nodev1.EventType_EVENT_TYPE_WARNING,
		Reason: reason, Message: message,
	})
}

// inform reports an event of the node.
func (r reporter) inform(ctx context.Context, warning bool, reason, message string) {
	kind := nodev1.EventType_EVENT_TYPE_NORMAL
	if warning {
		kind = nodev1.EventType_EVENT_TYPE_WARNING
	}
	r.report(ctx, &nodev1.Event{Type: kind, Reason: reason, Message: message})
}

// reportTimeout bounds the time for an event of our own, so that the caller can go on.
const reportTimeout = 10 * time.Second

// report sends an event of this moment. It tries once.
func (r reporter) report(ctx context.Context, m *nodev1.Event) {
	once, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	m.Count, m.Time = 1, timestamppb.Now()
	m.FirstTime = m.Time
	event := r.convert(m, r.subject(m))
	if _, err := r.send(once, event); err != nil && ctx.Err() == nil {
		r.log.Warn("cannot send an event to the cluster", "event", event.Name, "reason", event.Reason, "err", err)
	}
}

// send creates an event, or updates its count if the cluster knows it. It drops an event that the cluster will
// never take.
func (r reporter) send(ctx context.Context, event *corev1.Event) (known bool, err error) {
	err = r.cluster.createEvent(ctx, event)
	if known = apierrors.IsAlreadyExists(err); known {
		err = r.cluster.patchEvent(ctx, event)
	}
	if rejected(err) {
		r.log.Debug("dropping an event", "namespace", event.Namespace, "event", event.Name, "err", err)
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

// convert returns an event of the node in the form that upstream's kubelet sends.
func (r reporter) convert(m *nodev1.Event, about corev1.ObjectReference) *corev1.Event {
	event := &corev1.Event{
		InvolvedObject: about,
		Reason:         m.GetReason(), Message: m.GetMessage(), Type: corev1.EventTypeNormal, Count: m.GetCount(),
		FirstTimestamp: metav1.NewTime(m.GetFirstTime().AsTime()), LastTimestamp: metav1.NewTime(m.GetTime().AsTime()),
		Source:              corev1.EventSource{Component: "kubelet", Host: r.nodeName},
		ReportingController: "kubelet", ReportingInstance: r.nodeName,
	}
	if m.GetType() == nodev1.EventType_EVENT_TYPE_WARNING {
		event.Type = corev1.EventTypeWarning
	}
	identity := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		r.nodeName, m.GetUid(), m.GetContainer(), event.Reason, event.Message, event.Type, event.FirstTimestamp.UTC().Format(time.RFC3339Nano),
	}))
	event.Name = eventName(event.InvolvedObject.Name, identity[:8])
	event.Namespace = event.InvolvedObject.Namespace
	if event.Namespace == "" {
		event.Namespace = metav1.NamespaceDefault
	}
	return event
}

// eventName returns the name of an event: as much as fits of the name of its subject, and its identity.
func eventName(about string, identity []byte) string {
	end := "." + hex.EncodeToString(identity)
	about = about[:min(len(about), validation.DNS1123SubdomainMaxLength-len(end))]
	return strings.TrimRight(about, "-.") + end // the cut may end in a character that no name may end in
}

// subject returns the event's pod, or the node.
func (r reporter) subject(m *nodev1.Event) corev1.ObjectReference {
	if m.GetName() == "" {
		// kubectl finds events of a node by this.
		return corev1.ObjectReference{Kind: "Node", Name: r.nodeName, UID: types.UID(r.nodeName)}
	}
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: m.GetNamespace(), Name: m.GetName(), UID: types.UID(m.GetUid()),
	}
}
