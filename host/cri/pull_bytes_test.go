package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"nodal/node"
)

func appendNumber(data []byte, field protowire.Number, number int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, field, protowire.VarintType), uint64(number))
}

// content is a content store; what it does not have, it does not know.
type content struct {
	grpc.ClientConnInterface
	old      bool // as containerd 1.6 it does not list when a blob was updated
	blobs    []blob
	arriving map[string]int64
	texts    map[string]string // of manifests, by digest
}

func (c *content) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &contentStream{store: c, method: method}, nil
}

func (c *content) answer(method, digest string) ([]byte, error) {
	var answer []byte
	switch method {
	case containerdBlobs:
		for _, b := range c.blobs {
			entry := appendNumber(appendText(nil, blobDigest, b.digest), blobSize, b.size)
			created, updated := int64(1), b.touched.Unix()
			if c.old {
				created, updated = updated, time.Time{}.Unix()
			}
			entry = appendText(entry, blobCreated, string(appendNumber(nil, timeSeconds, created)))
			entry = appendText(entry, blobUpdated, string(appendNumber(nil, timeSeconds, updated)))
			for key, text := range b.labels {
				entry = appendText(entry, blobLabels, string(appendText(appendText(nil, labelKey, key), labelValue, text)))
			}
			answer = appendText(answer, listEntries, string(entry))
		}
	case containerdArriving:
		for ref, offset := range c.arriving {
			entry := appendNumber(appendText(nil, arrivingRef, ref), arrivingOffset, offset)
			answer = appendText(answer, listEntries, string(entry))
		}
	case containerdRead:
		text, ok := c.texts[digest]
		if !ok {
			return nil, status.Error(codes.NotFound, "no such content")
		}
		answer = appendText(nil, readData, text)
	}
	return answer, nil
}

// contentStream answers once.
type contentStream struct {
	grpc.ClientStream
	store  *content
	method string
	digest string
	over   bool
}

func (s *contentStream) SendMsg(m any) error {
	request, err := parseMessage(m.(*emptypb.Empty).ProtoReflect().GetUnknown())
	s.digest = request.text(readDigest)
	return err
}

func (s *contentStream) CloseSend() error { return nil }

func (s *contentStream) RecvMsg(m any) error {
	if s.over {
		return io.EOF
	}
	s.over = true
	answer, err := s.store.answer(s.method, s.digest)
	m.(*emptypb.Empty).ProtoReflect().SetUnknown(answer)
	return err
}

func TestBytesOfAPullAreThoseOfItsManifest(t *testing.T) {
	began := time.Unix(1000, 0)
	leads := func(digest string, at time.Time, repositories string) blob {
		return blob{digest: digest, size: 3, touched: at, labels: map[string]string{
			labelSource + "registry.test": repositories, labelLeads + "l.0": "sha256:l0",
		}}
	}
	const image = `{"config": {"digest": "sha256:c", "size": 10}, "layers": [{"digest": "sha256:l0", "size": 100}, {"digest": "sha256:l1", "size": 1000}]}`
	texts := map[string]string{"sha256:index": `{"manifests": [{"digest": "sha256:m", "size": 3}]}`, "sha256:m": image, "sha256:n": image}
	for _, test := range []struct {
		name  string
		blobs []blob
		began time.Time
		want  *node.PullBytes
	}{
		{"with its configuration and half of a layer there", []blob{
			leads("sha256:index", began, "app"), leads("sha256:m", began.Add(time.Second), "other,app"), {digest: "sha256:c", size: 10},
		}, began, &node.PullBytes{Present: 60, Total: 1110}},
		{"with a layer whole and in the list of those that arrive", []blob{
			leads("sha256:m", began, "app"), {digest: "sha256:l0", size: 100},
		}, began, &node.PullBytes{Present: 100, Total: 1110}},
		{"waiting for its turn", []blob{leads("sha256:m", began, "app")}, time.Time{}, nil},
		{"before its manifest", nil, began, nil},
		{"after an older one of the repository", []blob{leads("sha256:m", began.Add(-time.Second), "app")}, began, nil},
		{"beside one of another repository", []blob{leads("sha256:m", began, "apple")}, began, nil},
		{"beside another of its repository", []blob{leads("sha256:m", began, "app"), leads("sha256:n", began, "app")}, began, nil},
		{"whose manifest goes away", []blob{leads("sha256:gone", began, "app")}, began, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, old := range []bool{false, true} {
				store := &content{old: old, blobs: test.blobs, texts: texts, arriving: map[string]int64{"layer-sha256:l0": 50}}
				r := New(nil, store, Config{}, slog.New(slog.DiscardHandler))
				pulls := []node.Pull{{Ref: "registry.test/app:1", Began: test.began}, {Ref: "elsewhere.test/app:1", Began: began}}
				if err := r.CountPulled(t.Context(), pulls); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(pulls[0].Bytes); got != fmt.Sprint(test.want) || pulls[1].Bytes != nil {
					t.Errorf("got %s and %v, want %v and nothing (old: %t)", got, pulls[1].Bytes, test.want, old)
				}
			}
		})
	}
}

// silent is a runtime that is not containerd.
type silent struct{ grpc.ClientConnInterface }

func (silent) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "unknown service")
}

func TestBytesOfAPullAreContainerdsAlone(t *testing.T) {
	r := New(nil, silent{}, Config{}, slog.New(slog.DiscardHandler))
	pulls := []node.Pull{{Ref: "registry.test/app:1", Began: time.Now()}}
	if err := r.CountPulled(t.Context(), pulls); !errors.Is(err, node.ErrUnsupported) || pulls[0].Bytes != nil {
		t.Errorf("got %v and %v, want that it is not supported, and nothing", err, pulls[0].Bytes)
	}
	if err := r.CountPulled(t.Context(), []node.Pull{{Ref: "a:1"}}); err != nil {
		t.Errorf("got %v where nothing has begun, want that nobody was asked", err)
	}
}

func TestRepositoryIsNamedAsContainerdDoes(t *testing.T) {
	for ref, want := range map[string][2]string{
		"busybox:1":                    {"docker.io", "library/busybox"},
		"team/app:1":                   {"docker.io", "team/app"},
		"docker.io/team/app:1":         {"docker.io", "team/app"},
		"localhost/app:1":              {"localhost", "app"},
		"127.0.0.1:5000/team/app:1":    {"127.0.0.1", "team/app"},
		"registry.test/app@sha256:ab":  {"registry.test", "app"},
		"registry.test/a:1@sha256:ab":  {"registry.test", "a"},
		"[fd00::1]:5000/app:1":         {"fd00::1", "app"},
		"[fd00::1]/app":                {"fd00::1", "app"},
		"registry.test:5000/deep/er/a": {"registry.test", "deep/er/a"},
	} {
		if host, repository := repositoryOf(ref); [2]string{host, repository} != want {
			t.Errorf("%s: got %s and %s, want %q", ref, host, repository, want)
		}
	}
}
