package kube

import (
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"nodal/node"
	"nodal/server/wire"
)

// reasons are Kubernetes' words for what can be wrong, by the code of HTTP.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed, http.StatusNotAcceptable: metav1.StatusReasonNotAcceptable,
	http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusNotImplemented: metav1.StatusReasonMethodNotAllowed,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
}

// statusOf returns an error as Kubernetes' API would. The error is of the node API, or one of the node's own.
func statusOf(err error) *metav1.Status {
	if own := apierrors.APIStatus(nil); errors.As(err, &own) {
		made := own.Status()
		made.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return &made
	}
	of, ok := status.FromError(err)
	if !ok {
		of = wire.StatusOf(err)
	}
	made := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: of.Message(), Code: int32(wire.HTTPStatusOf(of)),
	}
	for _, detail := range of.Details() {
		bad, ok := detail.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		made.Code, made.Details = http.StatusUnprocessableEntity, &metav1.StatusDetails{}
		for _, v := range bad.GetFieldViolations() {
			made.Details.Causes = append(made.Details.Causes, metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: v.GetField(), Message: v.GetDescription(),
			})
		}
	}
	if of.Code() == codes.Canceled {
		made.Code = http.StatusGatewayTimeout
	}
	if made.Code == http.StatusNotImplemented {
		made.Code = http.StatusMethodNotAllowed
	}
	made.Reason = reasons[int(made.Code)]
	return made
}

// fail answers with an error about an object.
func fail(w http.ResponseWriter, err error) { writeStatus(w, statusOf(err)) }

// failAs answers with another code than the error's own.
func failAs(w http.ResponseWriter, code int, err error) {
	made := statusOf(err)
	made.Code, made.Reason = int32(code), reasons[code]
	writeStatus(w, made)
}

func writeStatus(w http.ResponseWriter, s *metav1.Status) { writeJSON(w, int(s.Code), s) }

func notFound(kind, name string) error { return fmt.Errorf("%s %q: %w", kind, name, node.ErrNotFound) }

func unwatched(what string) error {
	return fmt.Errorf("%s cannot be watched on a node: %w", what, node.ErrUnsupported)
}

// selectors reads both selectors of a list.
func selectors(of selection) (labels.Selector, fields.Selector, error) {
	byLabel, err := labels.Parse(of.labels)
	if err != nil {
		return nil, nil, fmt.Errorf("parse label selector %q: %w: %w", of.labels, err, node.ErrInvalid)
	}
	byField, err := fields.ParseSelector(of.fields)
	if err != nil {
		return nil, nil, fmt.Errorf("parse field selector %q: %w: %w", of.fields, err, node.ErrInvalid)
	}
	return byLabel, byField, nil
}
