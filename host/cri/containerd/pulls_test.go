package containerd

import (
	"context"
	"fmt"
	"testing"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"nodal/node"
)

// store is containerd's content store.
type store struct {
	contentapi.UnimplementedContentServer
	blobs    []*contentapi.Info
	arriving []*contentapi.Status
	texts    map[string]string // of manifests, by digest
}

func (s *store) List(_ *contentapi.ListContentRequest, stream contentapi.Content_ListServer) error {
	for _, b := range s.blobs {
		if err := stream.Send(&contentapi.ListContentResponse{Info: []*contentapi.Info{b}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) ListStatuses(context.Context, *contentapi.ListStatusesRequest) (*contentapi.ListStatusesResponse, error) {
	return &contentapi.ListStatusesResponse{Statuses: s.arriving}, nil
}

// Read sends a blob in two pieces, as a big one comes in many.
func (s *store) Read(request *contentapi.ReadContentRequest, stream contentapi.Content_ReadServer) error {
	text, ok := s.texts[request.GetDigest()]
	if !ok {
		return status.Error(codes.NotFound, "no such content")
	}
	for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
		if err := stream.Send(&contentapi.ReadContentResponse{Data: []byte(piece)}); err != nil {
			return err
		}
	}
	return nil
}

const (
	testIndex    = `{"manifests": [{"digest": "sha256:m", "size": 3}]}`
	testManifest = `{
		"config": {"digest": "sha256:c", "size": 10},
		"layers": [{"digest": "sha256:l0", "size": 100}, {"digest": "sha256:l1", "size": 1000}]
	}`
)

var testBegan = time.Unix(1000, 0)

// manifestBlob is a manifest or an index that a pull has put into the store at a time.
func manifestBlob(digest string, at time.Time, repositories string) *contentapi.Info {
	return &contentapi.Info{
		Digest: digest, Size: 3, CreatedAt: timestamppb.New(time.Unix(1, 0)), UpdatedAt: timestamppb.New(at),
		Labels: map[string]string{labelSource + "registry.test": repositories, labelRefers + "l.0": "sha256:l0"},
	}
}

// asContainerd16 returns a blob as containerd 1.6 lists it: without its update.
func asContainerd16(blob *contentapi.Info) *contentapi.Info {
	return &contentapi.Info{
		Digest: blob.Digest, Size: blob.Size, Labels: blob.Labels,
		CreatedAt: blob.UpdatedAt, UpdatedAt: timestamppb.New(time.Time{}),
	}
}

func TestBytesOfAPullAreThoseOfItsManifest(t *testing.T) {
	part := func(digest string, size int64) *contentapi.Info { return &contentapi.Info{Digest: digest, Size: size} }
	for _, test := range []struct {
		name  string
		blobs []*contentapi.Info
		began time.Time
		want  *node.PullBytes
	}{
		{"with its configuration and half of a layer there", []*contentapi.Info{
			manifestBlob("sha256:index", testBegan, "app"), manifestBlob("sha256:m", testBegan.Add(time.Second), "other,app"),
			part("sha256:c", 10),
		}, testBegan, &node.PullBytes{Present: 60, Total: 1110}},
		{"with a layer whole and in the list of those that arrive", []*contentapi.Info{
			manifestBlob("sha256:m", testBegan, "app"), part("sha256:l0", 100),
		}, testBegan, &node.PullBytes{Present: 100, Total: 1110}},
		{"waiting for its turn", []*contentapi.Info{manifestBlob("sha256:m", testBegan, "app")}, time.Time{}, nil},
		{"before its manifest", nil, testBegan, nil},
		{"after an older one of the repository", []*contentapi.Info{
			manifestBlob("sha256:m", testBegan.Add(-time.Second), "app"),
		}, testBegan, nil},
		{"beside one of another repository", []*contentapi.Info{manifestBlob("sha256:m", testBegan, "apple")}, testBegan, nil},
		{"beside another of its repository", []*contentapi.Info{
			manifestBlob("sha256:m", testBegan, "app"), manifestBlob("sha256:n", testBegan, "app"),
		}, testBegan, nil},
		{"whose manifest goes away", []*contentapi.Info{manifestBlob("sha256:gone", testBegan, "app")}, testBegan, nil},
	} {
		t.Run(test.name, func(t *testing.T) { testCount(t, test.blobs, test.began, test.want) })
		t.Run(test.name+" in containerd 1.6", func(t *testing.T) {
			var blobs []*contentapi.Info
			for _, b := range test.blobs {
				blobs = append(blobs, asContainerd16(b))
			}
			testCount(t, blobs, test.began, test.want)
		})
	}
}

func testCount(t *testing.T, blobs []*contentapi.Info, began time.Time, want *node.PullBytes) {
	t.Helper()
	server := &store{
		blobs:    blobs,
		arriving: []*contentapi.Status{{Ref: "layer-sha256:l0", Offset: 50}},
		texts:    map[string]string{"sha256:index": testIndex, "sha256:m": testManifest, "sha256:n": testManifest},
	}
	client := serve(t, func(r grpc.ServiceRegistrar) { contentapi.RegisterContentServer(r, server) })
	pulls := []node.Pull{{Ref: "registry.test/app:1", Began: began}, {Ref: "elsewhere.test/app:1", Began: testBegan}}
	if err := client.Count(t.Context(), pulls); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(pulls[0].Bytes); got != fmt.Sprint(want) || pulls[1].Bytes != nil {
		t.Errorf("got %s and %v, want %v and nothing", got, pulls[1].Bytes, want)
	}
}

func TestManifestThatIsNoJSONIsAnError(t *testing.T) {
	server := &store{
		blobs: []*contentapi.Info{manifestBlob("sha256:m", testBegan, "app")},
		texts: map[string]string{"sha256:m": "no JSON"},
	}
	client := serve(t, func(r grpc.ServiceRegistrar) { contentapi.RegisterContentServer(r, server) })
	pulls := []node.Pull{{Ref: "registry.test/app:1", Began: testBegan}}
	if err := client.Count(t.Context(), pulls); err == nil || pulls[0].Bytes != nil {
		t.Errorf("got %v and %v, want an error and nothing", err, pulls[0].Bytes)
	}
}

func TestCountIsUnimplementedByOtherRuntimes(t *testing.T) {
	client := serve(t, func(grpc.ServiceRegistrar) {})
	err := client.Count(t.Context(), []node.Pull{{Ref: "registry.test/app:1", Began: testBegan}})
	if got, want := status.Code(err), codes.Unimplemented; got != want {
		t.Errorf("got %s, want %s", got, want)
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
