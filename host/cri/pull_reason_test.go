package cri

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// saysWhy is a registry's answer.
type saysWhy struct{ err error }

func (s saysWhy) Resolve(context.Context, string, string, *node.Credential) error { return s.err }

func TestReasonOfAFailedPullIsThatOfTheRegistry(t *testing.T) {
	mirrored := status.Error(codes.NotFound, `failed to pull and unpack image "registry.test/app:1": not found`)
	why := func(code codes.Code, text string) error { return status.Error(code, "failed to resolve image: "+text) }
	login := &node.Credential{Username: "me"}
	for _, c := range []struct {
		name       string
		registries string
		pull, why  error
		as         *node.Credential
		want, not  string
	}{
		{"no such host", "/hosts", mirrored, why(codes.Unknown, "lookup registry.test: no such host"), nil, "no such host", "not found"},
		{"nobody listens", "/hosts", mirrored, why(codes.Unavailable, "connect: connection refused"), login, "connection refused", "not found"},
		{"no credentials", "/hosts", mirrored, why(codes.Unknown, "pull access denied: authorization failed"), nil, "the pull had no credentials", "not found"},
		{"wrong credentials", "/hosts", mirrored, why(codes.Unknown, "authorization failed"), login, `the credentials of user "me"`, "had no credentials"},
		{"no such tag", "/hosts", mirrored, why(codes.NotFound, "registry.test/app:1: not found"), nil, "manifest unknown", "imagePullSecrets"},
		{"the image is there by now", "/hosts", mirrored, nil, nil, "not imported", "manifest unknown"},
		{"an older containerd", "/hosts", mirrored, status.Error(codes.Unimplemented, "unknown service"), nil, "not imported", "unknown service"},
		{"a runtime whose word is final", "", mirrored, why(codes.Unknown, "no such host"), nil, "not found", "no such host"},
		{"what the runtime tells itself", "/hosts", status.Error(codes.Unknown, "401 Unauthorized"), errors.New("asked"), login, "refused the credentials", "asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := NewImages(&Conn{registries: c.registries, resolver: saysWhy{c.why}})
			err := judgePull(i.pullReason(t.Context(), c.pull, "registry.test/app:1", c.as), true, "registry.test/app:1")
			text := err.Error()
			if !strings.Contains(text, c.want) || strings.Contains(text, c.not) || strings.Contains(text, "rpc error") {
				t.Errorf("got %q, want %q and not %q", text, c.want, c.not)
			}
			var failure *node.Failure
			if !errors.As(err, &failure) || failure.Reason != node.ErrImagePull {
				t.Errorf("got %v, want a failure of the pull", err)
			}
		})
	}
}
