package cri

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// silent is a runtime that is not containerd.
type silent struct{ grpc.ClientConnInterface }

func (silent) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.Unimplemented, "unknown service")
}

func TestBytesOfAPullAreContainerdsAlone(t *testing.T) {
	images := NewImages(New(nil, silent{}, Config{}))
	pulls := []node.Pull{{Ref: "registry.test/app:1", Began: time.Now()}}
	if err := images.CountPulled(t.Context(), pulls); !errors.Is(err, node.ErrUnsupported) || pulls[0].Bytes != nil {
		t.Errorf("got %v and %v, want that it is not supported, and nothing", err, pulls[0].Bytes)
	}
	if err := images.CountPulled(t.Context(), []node.Pull{{Ref: "a:1"}}); err != nil {
		t.Errorf("got %v where no pull has begun, want no call", err)
	}
}
