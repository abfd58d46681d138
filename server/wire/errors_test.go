package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

func TestEachKindOfErrorHasItsCodes(t *testing.T) {
	cases := []struct {
		err  error
		code codes.Code
		http int
	}{
		{node.ErrInvalid, codes.InvalidArgument, 400},
		{node.ErrNotFound, codes.NotFound, 404},
		{node.ErrConflict, codes.FailedPrecondition, 409},
		{node.ErrChanged, codes.Aborted, 409},
		{node.ErrCompacted, codes.OutOfRange, 410},
		{node.ErrNoSpace, codes.ResourceExhausted, 507},
		{node.ErrTooLarge, codes.ResourceExhausted, 413},
		{node.ErrNotReady, codes.Unavailable, 503},
		{node.ErrUnavailable, codes.Unavailable, 503},
		{node.ErrLost, codes.DataLoss, 500},
		{node.ErrUnsupported, codes.Unimplemented, 501},
		{node.ErrDenied, codes.PermissionDenied, 403},
		{node.ErrUnknown, codes.DeadlineExceeded, 504},
		{context.DeadlineExceeded, codes.DeadlineExceeded, 504},
		{context.Canceled, codes.Canceled, 499},
		{errors.New("anything else"), codes.Internal, 500},
		{status.Error(codes.ResourceExhausted, "too many streams"), codes.ResourceExhausted, 429},
		// A code of the runtime, wrapped in an error of ours, means nothing to our clients.
		{fmt.Errorf("list: %w", status.Error(codes.NotFound, "x")), codes.Internal, 500},
	}
	for _, c := range cases {
		err := c.err
		if status.Code(err) == codes.Unknown {
			err = fmt.Errorf("do it: %w", c.err)
		}
		got := StatusOf(err)
		if got.Code() != c.code || HTTPStatusOf(got) != c.http {
			t.Errorf("%v: got %s and %d, want %s and %d", err, got.Code(), HTTPStatusOf(got), c.code, c.http)
		}
		if got.Message() != status.Convert(err).Message() && !strings.Contains(err.Error(), got.Message()) {
			t.Errorf("%v: got message %q", err, got.Message())
		}
	}
}
