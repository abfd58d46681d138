package cri

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name    string
		err     error
		unknown bool
	}{
		{"the runtime refused", status.Error(codes.Unknown, "no such file"), false},
		{"the name is taken", status.Error(codes.Unknown, `failed to reserve container name "a": name "a" is reserved for "b"`), true},
		{"a start is under way", status.Error(codes.Unknown, `failed to set starting state for container "a": already in starting state`), true},
		{"no answer", status.Error(codes.DeadlineExceeded, "context deadline exceeded"), true},
		{"no answer, wrapped", fmt.Errorf("inspect: %w", answer{status.Error(codes.Unavailable, "gone")}), true},
		{"no connection to call on", context.Canceled, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := judge(test.err, reasonStartContainer, "start container web")
			var failure *node.Failure
			definite := errors.As(err, &failure)
			if errors.Is(err, node.ErrUnknown) != test.unknown || definite == test.unknown {
				t.Errorf("got %v, definite: %t, want unknown: %t", err, definite, test.unknown)
			}
			if !errors.Is(err, test.err) {
				t.Errorf("got %v, which hides its cause", err)
			}
		})
	}
}

func TestErrorsReadAsTheRuntimesMessage(t *testing.T) {
	err := judge(status.Error(codes.Unknown, "no such file"), reasonStartContainer, "start container web")
	if got, want := err.Error(), "start container web: no such file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamingStaysOnTheMachine(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:4000/exec/x": true, "http://[::1]:4000/exec/x": true, "http://localhost:4000/": true,
		"http://192.0.2.1:4000/exec/x": false, "https://127.0.0.1:4000/": false, "http://example.org/": false,
		"/exec/x": false, "http://:4000/": false, "http://%zz/": false,
	} {
		if got, err := localURL(address); (err == nil) != ok {
			t.Errorf("%q: got %v, %v, want success: %t", address, got, err, ok)
		}
	}
}
