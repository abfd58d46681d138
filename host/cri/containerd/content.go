package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobs lists the parts of images that are whole.
func (c *Client) blobs(ctx context.Context) ([]*contentapi.Info, error) {
	stream, err := c.content.List(ctx, &contentapi.ListContentRequest{})
	if err != nil {
		return nil, err
	}
	var blobs []*contentapi.Info
	err = each(stream, func(answer *contentapi.ListContentResponse) { blobs = append(blobs, answer.GetInfo()...) })
	return blobs, err
}

// touched returns when a pull last needed a blob. containerd 1.6 lists no update.
func touched(blob *contentapi.Info) time.Time {
	created, updated := blob.GetCreatedAt().AsTime(), blob.GetUpdatedAt().AsTime()
	if updated.After(created) {
		return updated
	}
	return created
}

// arriving maps the digest of each blob that is being fetched to the bytes of it that are there.
func (c *Client) arriving(ctx context.Context) (map[string]int64, error) {
	answer, err := c.content.ListStatuses(ctx, &contentapi.ListStatusesRequest{})
	if err != nil {
		return nil, err
	}
	present := map[string]int64{}
	for _, s := range answer.GetStatuses() {
		// The reference is layer-sha256:..., or layer-name@sha256:...
		ref := s.GetRef()
		present[ref[strings.LastIndexAny(ref, "-@")+1:]] = s.GetOffset()
	}
	return present, nil
}

func (c *Client) readManifest(ctx context.Context, digest string) (ocispec.Manifest, error) {
	data, err := c.read(ctx, digest)
	if err != nil {
		return ocispec.Manifest{}, fmt.Errorf("read manifest %s: %w", digest, err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return ocispec.Manifest{}, fmt.Errorf("read manifest %s: %w", digest, err)
	}
	return m, nil
}

func (c *Client) read(ctx context.Context, digest string) ([]byte, error) {
	stream, err := c.content.Read(ctx, &contentapi.ReadContentRequest{Digest: digest})
	if err != nil {
		return nil, err
	}
	var data []byte
	err = each(stream, func(answer *contentapi.ReadContentResponse) { data = append(data, answer.GetData()...) })
	return data, err
}

// each passes on the messages of a stream up to its end.
func each[T any](stream interface{ Recv() (T, error) }, take func(T)) error {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(answer)
	}
}
