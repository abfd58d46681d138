package kube

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// coreEvent returns an event in the form of the core group.
func coreEvent(e *corev1.Event) runtime.Object { return e }

// groupEvent returns an event in the form of events.k8s.io.
func groupEvent(e *corev1.Event) runtime.Object {
	made := &eventsv1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String(), Kind: "Event"},
		ObjectMeta: e.ObjectMeta, EventTime: metav1.NewMicroTime(e.FirstTimestamp.Time),
		ReportingController: e.ReportingController, Reason: e.Reason, Regarding: e.InvolvedObject, Note: e.Message, Type: e.Type,
		DeprecatedSource: e.Source, DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp, DeprecatedCount: e.Count,
	}
	if e.Count > 1 {
		made.Series = &eventsv1.EventSeries{Count: e.Count, LastObservedTime: metav1.NewMicroTime(e.LastTimestamp.Time)}
	}
	return made
}

var groupEventColumns = columns{eventColumns.heads, typed(func(e *eventsv1.Event) []any {
	about := strings.ToLower(e.Regarding.Kind) + "/" + e.Regarding.Name
	return []any{
		ageOf(e.DeprecatedLastTimestamp), e.Type, e.Reason, about, strings.TrimSpace(e.Note),
		e.Regarding.FieldPath, e.DeprecatedSource.Component, ageOf(e.DeprecatedFirstTimestamp), strconv.Itoa(int(e.DeprecatedCount)), e.Name,
	}
})}
