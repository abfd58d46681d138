package cri

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Containerd's content store holds the parts of images as registries have them, and
// shows those that are on their way.
const (
	containerdContent  = "/containerd.services.content.v1.Content/"
	containerdBlobs    = containerdContent + "List"
	containerdArriving = containerdContent + "ListStatuses"
	containerdRead     = containerdContent + "Read"
)

// Fields of its messages.
const (
	listEntries = 1 // of both lists

	blobDigest  = 1
	blobSize    = 2
	blobCreated = 3
	blobUpdated = 4
	blobLabels  = 5

	labelKey   = 1
	labelValue = 2

	timeSeconds = 1
	timeNanos   = 2

	arrivingRef    = 3
	arrivingOffset = 4

	readDigest = 1
	readData   = 2
)

// blob is a part of an image that is there whole.
type blob struct {
	digest  string
	size    int64
	touched time.Time // by the latest pull that needs it
	labels  map[string]string
}

func (r *Runtime) blobs(ctx context.Context) ([]blob, error) {
	var blobs []blob
	err := r.eachContent(ctx, containerdBlobs, nil, func(answer message) error {
		for entry, err := range answer.messages(listEntries) {
			if err != nil {
				return err
			}
			b, err := blobOf(entry)
			if err != nil {
				return err
			}
			blobs = append(blobs, b)
		}
		return nil
	})
	return blobs, err
}

func blobOf(entry message) (blob, error) {
	b := blob{digest: entry.text(blobDigest), size: entry.number(blobSize), labels: map[string]string{}}
	for _, field := range []protowire.Number{blobCreated, blobUpdated} { // containerd 1.6 lists no update
		at, err := entry.message(field)
		if err != nil {
			return blob{}, err
		}
		if at := time.Unix(at.number(timeSeconds), at.number(timeNanos)); at.After(b.touched) {
			b.touched = at
		}
	}
	for label, err := range entry.messages(blobLabels) {
		if err != nil {
			return blob{}, err
		}
		b.labels[label.text(labelKey)] = label.text(labelValue)
	}
	return b, nil
}

// arriving is how much has come of each blob that is on its way.
func (r *Runtime) arriving(ctx context.Context) (map[string]int64, error) {
	come := map[string]int64{}
	err := r.eachContent(ctx, containerdArriving, nil, func(answer message) error {
		for entry, err := range answer.messages(listEntries) {
			if err != nil {
				return err
			}
			// It is called layer-sha256:..., or layer-name@sha256:...
			ref := entry.text(arrivingRef)
			come[ref[strings.LastIndexAny(ref, "-@")+1:]] = entry.number(arrivingOffset)
		}
		return nil
	})
	return come, err
}

// manifest is what an image is made of.
type manifest struct {
	Config part
	Layers []part
}

type part struct {
	Digest string
	Size   int64
}

func (r *Runtime) readManifest(ctx context.Context, digest string) (manifest, error) {
	request := protowire.AppendString(protowire.AppendTag(nil, readDigest, protowire.BytesType), digest)
	var data []byte
	err := r.eachContent(ctx, containerdRead, request, func(answer message) error {
		data = append(data, answer.last(readData).bytes...)
		return nil
	})
	var m manifest
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read manifest %s: %w", digest, err)
	}
	return m, nil
}

// eachContent passes on the messages that the content store answers with.
func (r *Runtime) eachContent(ctx context.Context, method string, request []byte, take func(message) error) error {
	stream, err := callContainerd(ctx, r.imageConn, method, request)
	for err == nil {
		var answer message
		if answer, err = receive(stream); err == nil {
			err = take(answer)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
