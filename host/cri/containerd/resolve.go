package containerd

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	transferapi "github.com/containerd/containerd/api/services/transfer/v1"
	transfertypes "github.com/containerd/containerd/api/types/transfer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"nodal/node"
)

// Resolve asks the registries that a directory of hosts.toml names for an image, and returns containerd's error. Only
// the error is of use, and there always is one: containerd cannot look an image up without a pull, so Resolve pulls it
// to no name, which containerd refuses once it has found the image. So nothing of it is kept.
func (c *Client) Resolve(ctx context.Context, ref, hosts string, as *node.Credential) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // it ends the stream of credentials, too
	resolver := &transfertypes.RegistryResolver{HostDir: hosts}
	if as != nil {
		var err error
		if resolver.AuthStream, err = c.signIn(ctx, as); err != nil {
			return err
		}
	}
	source, err := bare(&transfertypes.OCIRegistry{Reference: fullName(ref), Resolver: resolver})
	if err != nil {
		return err
	}
	nowhere, err := bare(&transfertypes.ImageStore{})
	if err != nil {
		return err
	}
	_, err = c.transfer.Transfer(ctx, &transferapi.TransferRequest{Source: source, Destination: nowhere})
	return err
}

// signIn opens a stream on which containerd asks for a credential, and returns its name.
func (c *Client) signIn(ctx context.Context, as *node.Credential) (name string, err error) {
	answer, err := bare(authResponse(as))
	if err != nil {
		return "", err
	}
	name = "credential-" + rand.Text()
	first, err := bare(&streamingapi.StreamInit{ID: name})
	if err != nil {
		return "", err
	}
	stream, err := c.streams.Stream(ctx)
	if err != nil {
		return "", err
	}
	if err := stream.Send(first); err != nil {
		return "", fmt.Errorf("offer a credential: %w", err)
	}
	if _, err := stream.Recv(); err != nil { // it knows the stream from here on
		return "", err
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
			if err := stream.Send(answer); err != nil {
				return
			}
		}
	}()
	return name, nil
}

func authResponse(as *node.Credential) *transfertypes.AuthResponse {
	if as.IdentityToken != "" {
		return &transfertypes.AuthResponse{AuthType: transfertypes.AuthType_REFRESH, Secret: as.IdentityToken}
	}
	return &transfertypes.AuthResponse{
		AuthType: transfertypes.AuthType_CREDENTIALS, Username: as.Username, Secret: as.Password,
	}
}

// bare wraps a message as containerd does: it compares the names of types without a host before them.
func bare(m proto.Message) (*anypb.Any, error) {
	value, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write a request to containerd: %w", err)
	}
	return &anypb.Any{TypeUrl: string(m.ProtoReflect().Descriptor().FullName()), Value: value}, nil
}

// fullName is a reference with its registry: a name without one is Docker's.
func fullName(ref string) string {
	host, rest, ok := strings.Cut(ref, "/")
	switch {
	case !ok:
		return "docker.io/library/" + ref
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return "docker.io/" + ref
	case host == "docker.io" && !strings.Contains(rest, "/"):
		return "docker.io/library/" + rest
	}
	return ref
}
