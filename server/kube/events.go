package kube

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
)

// events are the events that the node still keeps. Those that are about no pod are in the namespace default.
type events struct {
	clients
	form func(*corev1.Event) runtime.Object
}

var _ source = events{}

func (e events) get(ctx context.Context, namespace, name string) (*object, error) {
	all, _, err := e.list(ctx, selection{namespace: namespace, fields: "metadata.name=" + name})
	if err == nil && len(all) == 0 {
		err = notFound("event", name)
	}
	if err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

func (e events) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	matches, err := eventsLike(of)
	if err != nil {
		return nil, 0, err
	}
	answer, err := e.events.ListEvents(ctx, &nodev1.ListEventsRequest{})
	if err != nil {
		return nil, 0, err
	}
	for _, m := range answer.GetEvents() {
		event := shownEvent(m)
		if !matches(event) {
			continue
		}
		made, err := untyped(e.form(event))
		if err != nil {
			return nil, 0, err
		}
		all = append(all, made)
	}
	return all, answer.GetRevision(), nil
}

func (e events) watch(ctx context.Context, of selection, since int64, each func(change) error) error {
	matches, err := eventsLike(of)
	if err != nil {
		return err
	}
	stream, err := e.events.WatchEvents(ctx, &nodev1.WatchEventsRequest{SinceRevision: since})
	if err != nil {
		return err
	}
	return received(stream, func(m *nodev1.WatchEventsResponse) error {
		if m.GetEvent() == nil {
			return each(change{nodev1.WatchType_WATCH_TYPE_SYNCED, m.GetRevision(), nil})
		}
		event := shownEvent(m.GetEvent())
		if !matches(event) {
			return nil
		}
		kind := nodev1.WatchType_WATCH_TYPE_ADDED
		if event.Count > 1 {
			kind = nodev1.WatchType_WATCH_TYPE_MODIFIED
		}
		made, err := untyped(e.form(event))
		if err != nil {
			return err
		}
		return each(change{kind, m.GetRevision(), made})
	})
}

func (events) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("Event", name)
}

// eventsLike returns what a selection asks of an event.
func eventsLike(of selection) (func(*corev1.Event) bool, error) {
	byLabel, byField, err := selectors(of)
	if err != nil {
		return nil, err
	}
	return func(e *corev1.Event) bool {
		return (of.namespace == "" || of.namespace == e.Namespace) && byLabel.Matches(labels.Set(e.Labels)) && byField.Matches(fields.Set{
			"metadata.name": e.Name, "metadata.namespace": e.Namespace, "reason": e.Reason, "type": e.Type,
			"source": e.Source.Component, "reportingComponent": e.ReportingController,
			"involvedObject.kind": e.InvolvedObject.Kind, "involvedObject.namespace": e.InvolvedObject.Namespace,
			"involvedObject.name": e.InvolvedObject.Name, "involvedObject.uid": string(e.InvolvedObject.UID),
			"involvedObject.apiVersion": e.InvolvedObject.APIVersion, "involvedObject.fieldPath": e.InvolvedObject.FieldPath,
			"regarding.kind": e.InvolvedObject.Kind, "regarding.namespace": e.InvolvedObject.Namespace,
			"regarding.name": e.InvolvedObject.Name, "regarding.uid": string(e.InvolvedObject.UID),
			"reportingController": e.ReportingController,
		})
	}, nil
}

const component = "kubelet"

func shownEvent(m *nodev1.Event) *corev1.Event {
	first, last := m.GetFirstTime().AsTime(), m.GetTime().AsTime()
	if m.GetFirstTime() == nil {
		first = last
	}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: m.GetNamespace(), Name: m.GetName(), UID: types.UID(m.GetUid())}
	if m.GetNamespace() == "" {
		about = corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: m.GetName()}
	}
	if m.GetContainer() != "" {
		about.FieldPath = "spec.containers{" + m.GetContainer() + "}"
	}
	kind := corev1.EventTypeNormal
	if m.GetType() == nodev1.EventType_EVENT_TYPE_WARNING {
		kind = corev1.EventTypeWarning
	}
	return &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", cmp.Or(m.GetName(), "node"), first.UnixNano()),
			Namespace: cmp.Or(m.GetNamespace(), corev1.NamespaceDefault), ResourceVersion: versionOf(m.GetRevision()),
			CreationTimestamp: metav1.NewTime(first),
		},
		InvolvedObject: about, Reason: m.GetReason(), Message: m.GetMessage(), Type: kind, Count: max(m.GetCount(), 1),
		FirstTimestamp: metav1.NewTime(first), LastTimestamp: metav1.NewTime(last),
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	}
}

// untyped returns a typed object with its fields as JSON has them.
func untyped(typed runtime.Object) (*object, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	return &object{Object: fields}, err
}
