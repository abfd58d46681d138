package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"nodal/node"
)

// kind holds the codes that clients get for one kind of error.
type kind struct {
	err    error
	code   codes.Code
	http   int
	reason string // of the ErrorInfo detail, for programs
}

// errorDomain names the owner of the reasons.
const errorDomain = "nodal"

// kinds is searched from the top, as an error may wrap more than one.
var kinds = []kind{
	{node.ErrDenied, codes.PermissionDenied, http.StatusForbidden, "DENIED"},
	{node.ErrTooLarge, codes.ResourceExhausted, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
	{node.ErrNoSpace, codes.ResourceExhausted, http.StatusInsufficientStorage, "NO_SPACE"},
	{node.ErrCompacted, codes.OutOfRange, http.StatusGone, "COMPACTED"},
	{node.ErrConflict, codes.FailedPrecondition, http.StatusConflict, "CONFLICT"},
	{node.ErrChanged, codes.Aborted, http.StatusConflict, "CHANGED"},
	{node.ErrInvalid, codes.InvalidArgument, http.StatusBadRequest, "INVALID"},
	{node.ErrNotFound, codes.NotFound, http.StatusNotFound, "NOT_FOUND"},
	{node.ErrUnsupported, codes.Unimplemented, http.StatusNotImplemented, "UNSUPPORTED"},
	{node.ErrNotReady, codes.Unavailable, http.StatusServiceUnavailable, "NOT_READY"},
	{node.ErrUnavailable, codes.Unavailable, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{node.ErrLost, codes.DataLoss, http.StatusInternalServerError, "LOST"},
	// The call may have had its effect. To gRPC, DEADLINE_EXCEEDED means that.
	{node.ErrUnknown, codes.DeadlineExceeded, http.StatusGatewayTimeout, "OUTCOME_UNKNOWN"},
	{context.DeadlineExceeded, codes.DeadlineExceeded, http.StatusGatewayTimeout, "TIMED_OUT"},
	{context.Canceled, codes.Canceled, statusClientGone, "CANCELED"},
}

// ErrStopping ends watches and followed logs when the agent stops. Clients should come back.
var ErrStopping = fmt.Errorf("the agent is stopping: %w", node.ErrNotReady)

// statusClientGone is the code that proxies log for a client that is gone.
const statusClientGone = 499

func kindOf(err error) (kind, bool) {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k, true
		}
	}
	return kind{}, false
}

// Known reports whether an error is of a kind in the table.
func Known(err error) bool {
	_, known := kindOf(err)
	return known
}

// StatusOf makes a gRPC status of an error. No other code does.
func StatusOf(err error) *status.Status {
	// Not errors.As: a code of the runtime, deeper inside, means nothing to our clients.
	if own, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return own.GRPCStatus()
	}
	k, ok := kindOf(err)
	if !ok {
		return status.New(codes.Internal, err.Error())
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: k.reason, Domain: errorDomain}}
	var invalid *node.InvalidError
	if errors.As(err, &invalid) {
		details = append(details, violations(invalid))
	}
	s := status.New(k.code, err.Error())
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}

// violations writes the place of each violation into Field, as in its text:
// "document 1 (Pod default/web): spec.containers[0].image".
func violations(invalid *node.InvalidError) *errdetails.BadRequest {
	bad := &errdetails.BadRequest{}
	for _, v := range invalid.Violations {
		place := v
		place.Rule = ""
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: strings.TrimSuffix(place.String(), ": "), Description: v.Rule,
		})
	}
	return bad
}

// HTTPStatusOf returns the HTTP code of a status. Where one gRPC code stands for several HTTP
// codes, the reason decides.
func HTTPStatusOf(s *status.Status) int {
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != errorDomain {
			continue
		}
		for _, k := range kinds {
			if k.reason == info.GetReason() {
				return k.http
			}
		}
	}
	switch s.Code() {
	case codes.OutOfRange:
		return http.StatusGone
	case codes.FailedPrecondition:
		return http.StatusConflict
	}
	return runtime.HTTPStatusFromCode(s.Code())
}
