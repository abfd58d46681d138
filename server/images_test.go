package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// scriptedImages reads a tarball and does what the test says.
type scriptedImages struct {
	listed []node.LocalImage
	pulls  []node.Pull
	named  string
	begin  func(tell func(node.ImportProgress)) error // before anything is read
	read   int
	end    error
}

var _ Images = (*scriptedImages)(nil)

func (i *scriptedImages) List(context.Context) ([]node.LocalImage, error) { return i.listed, nil }

func (i *scriptedImages) Pulls(context.Context) []node.Pull { return i.pulls }

func (i *scriptedImages) Pull(_ context.Context, image string) (node.LocalImage, error) {
	return node.LocalImage{ID: "id of " + image, References: []string{image}}, i.end
}

func (i *scriptedImages) PrunePlan(context.Context) ([]node.ImageRemoval, error) {
	return []node.ImageRemoval{{Image: i.listed[0], Why: "nothing uses it"}}, nil
}

func (i *scriptedImages) Prune(ctx context.Context) ([]node.ImageRemoval, error) {
	pruned, err := i.PrunePlan(ctx)
	i.listed = nil
	return pruned, err
}

func (i *scriptedImages) Remove(_ context.Context, image string) (node.LocalImage, error) {
	at := slices.IndexFunc(i.listed, func(l node.LocalImage) bool { return slices.Contains(l.References, image) })
	switch {
	case at < 0:
		return node.LocalImage{}, fmt.Errorf("there is none: %w", node.ErrNotFound)
	case i.end != nil:
		return node.LocalImage{}, i.end
	}
	gone := i.listed[at]
	i.listed = slices.Delete(i.listed, at, at+1)
	return gone, nil
}

func (i *scriptedImages) Import(_ context.Context, tarball io.Reader, asked node.Import) ([]node.ImportedImage, error) {
	i.named = asked.Name
	if i.begin != nil {
		if err := i.begin(asked.Tell); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(tarball)
	i.read = len(text)
	if err == nil {
		err = i.end
	}
	if err == nil {
		err = asked.May("docker.io/library/app:1")
	}
	if err != nil {
		return nil, err
	}
	return []node.ImportedImage{{Reference: "docker.io/library/app:1", Digest: "sha256:m", ID: "sha256:c", Size: int64(len(text))}}, nil
}

func withImages(images Images) func(*Config) { return func(c *Config) { c.Machine.Images = images } }

func TestImagesAreListed(t *testing.T) {
	n := newNode(t, withImages(&scriptedImages{listed: []node.LocalImage{{ID: "sha256:a", References: []string{"app:1"}, Digests: []string{"app@sha256:b"}, Size: 7, Pinned: true}}}))
	got := n.do(t, "GET", "/v1/images", "")
	for _, want := range []string{`"id":"sha256:a"`, `"references":["app:1"]`, `"digests":["app@sha256:b"]`, `"size":"7"`, `"pinned":true`} {
		if got.status != http.StatusOK || !strings.Contains(strings.ReplaceAll(got.body, " ", ""), want) {
			t.Errorf("got %d %s, want 200 with %s", got.status, got.body, want)
		}
	}
}

func TestAnImageIsPulledForACaller(t *testing.T) {
	images := &scriptedImages{pulls: []node.Pull{{Ref: "app:1", Waiters: []node.PullWaiter{{}}}}}
	n := newNode(t, withImages(images))
	if got := n.do(t, "POST", "/v1/images:pull", `{"image":"app:1"}`); got.status != 200 || !strings.Contains(got.body, `"id":"id of app:1"`) {
		t.Errorf("got %d %s, want 200 and the image", got.status, got.body)
	}
	if got := n.do(t, "GET", "/v1/images:pulls", ""); !strings.Contains(got.body, `"reference":"app:1"`) || strings.Contains(got.body, "waiters") {
		t.Errorf("a pull that a caller waits for: got %s, want it without pods", got.body)
	}
	if got := n.do(t, "POST", "/v1/images:pull", `{}`); got.status != 400 || !strings.Contains(got.body, "image is required") {
		t.Errorf("no image: got %d %s", got.status, got.body)
	}
	images.end = fmt.Errorf("ErrImagePull: no such host: %w", node.ErrConflict)
	if got := n.do(t, "POST", "/v1/images:pull", `{"image":"app:1"}`); got.status != 409 || !strings.Contains(got.body, "pull image app:1: ErrImagePull: no such host") {
		t.Errorf("the registry refuses: got %d %s", got.status, got.body)
	}
}

func TestPullsAreListedWithProgressAndWaiters(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := node.PullWaiter{Pod: node.Key{Namespace: "default", Name: "web"}, UID: "u1", Container: "main"}
	n := newNode(t, withImages(&scriptedImages{pulls: []node.Pull{
		{Ref: "app:1", Asked: at, Began: at.Add(time.Second), Waiters: []node.PullWaiter{web}, Bytes: &node.PullBytes{Total: 7}},
		{Ref: "app:2", Asked: at},
	}}))
	const want = `{"pulls":[` +
		`{"reference":"app:1","askedAt":"2026-01-02T03:04:05Z","beganAt":"2026-01-02T03:04:06Z",` +
		`"waiters":[{"namespace":"default","name":"web","uid":"u1","container":"main"}],"bytes":{"total":"7"}},` +
		`{"reference":"app:2","askedAt":"2026-01-02T03:04:05Z"}]}`
	got := n.do(t, "GET", "/v1/images:pulls", "")
	if text := strings.ReplaceAll(strings.TrimSpace(got.body), " ", ""); got.status != http.StatusOK || text != want {
		t.Errorf("got %d %s, want 200 %s", got.status, text, want)
	}
}

func TestImagesArePrunedAsPlanned(t *testing.T) {
	images := &scriptedImages{listed: []node.LocalImage{{ID: "sha256:a", References: []string{"app:1"}, Size: 7}}}
	n := newNode(t, withImages(images))
	const want = `{"images":[{"image":{"id":"sha256:a","references":["app:1"],"size":"7"},"reason":"nothingusesit"}]}`
	for _, ask := range [][2]string{{"GET", "/v1/images:prunePlan"}, {"POST", "/v1/images:prune"}} {
		got := n.do(t, ask[0], ask[1], "")
		if text := strings.ReplaceAll(strings.TrimSpace(got.body), " ", ""); got.status != http.StatusOK || text != want {
			t.Errorf("%s: got %d %s, want 200 %s", ask, got.status, text, want)
		}
	}
	if images.listed != nil {
		t.Error("nothing was removed")
	}
}

func TestAnImageIsRemovedByName(t *testing.T) {
	images := &scriptedImages{listed: []node.LocalImage{{ID: "sha256:a", References: []string{"registry.test/app:1"}, Size: 7}}}
	n := newNode(t, withImages(images), func(c *Config) { c.Front.Auth = newAuth(t, false) })
	remove := func(role, query string) answer {
		return n.do(t, "DELETE", "/v1/images"+query, "", "Authorization", tokenOf(t, role))
	}
	images.end = fmt.Errorf("pod default/web uses it: %w", node.ErrConflict)
	for _, c := range []struct {
		name, role, query string
		status            int
		want              string
	}{
		{"a viewer may not", "viewer", "?image=registry.test/app:1", 403, "viewer"},
		{"without saying which", "operator", "", 400, "image is required"},
		{"one that is not there", "operator", "?image=registry.test/other:1", 404, "there is none"},
		{"one in use", "operator", "?image=registry.test/app:1", 409, "pod default/web uses it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := remove(c.role, c.query); got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, c.status, c.want)
			}
		})
	}
	images.end = nil
	if got := remove("operator", "?image=registry.test/app:1"); got.status != 200 || !strings.Contains(got.body, "sha256:a") || len(images.listed) != 0 {
		t.Errorf("got %d %s and %d images left, want 200 with what was removed", got.status, got.body, len(images.listed))
	}
}

func TestATarballIsImportedAsABody(t *testing.T) {
	images := &scriptedImages{begin: func(tell func(node.ImportProgress)) error { tell(node.ImportProgress{Read: 5}); return nil }}
	n := newNode(t, withImages(images))
	body := strings.Repeat("x", 768<<10+1) // more than three messages
	got := n.do(t, "POST", "/v1/images:import?name=app:1", body)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(got.body, " ", "")), "\n")
	want := []string{
		`{"progress":{"bytesRead":"5"}}`,
		fmt.Sprintf(`{"result":{"images":[{"reference":"docker.io/library/app:1","digest":"sha256:m","id":"sha256:c","size":"%d"}]}}`, len(body)),
	}
	if got.status != http.StatusOK || !slices.Equal(lines, want) {
		t.Errorf("got %d %q, want 200 %q", got.status, lines, want)
	}
	if images.named != "app:1" || images.read != len(body) {
		t.Errorf("got name %q and %d bytes, want app:1 and %d", images.named, images.read, len(body))
	}
	if kind := got.header.Get("Content-Type"); kind != "application/x-ndjson" {
		t.Errorf("got content type %q, want application/x-ndjson", kind)
	}
}

func TestAnImportThatFailsSaysWhy(t *testing.T) {
	refused := fmt.Errorf("the runtime is not this node's own: %w", node.ErrConflict)
	corrupt := fmt.Errorf("a layer is corrupt: %w", node.ErrInvalid)
	for _, c := range []struct {
		name   string
		images *scriptedImages
		body   string
		status int
		want   string
	}{
		{"before anything is read", &scriptedImages{begin: func(func(node.ImportProgress)) error { return refused }}, "tarball", 409, "not this node's own"},
		{"at the end", &scriptedImages{end: corrupt}, "tarball", 400, "a layer is corrupt"},
		{"after the first line", &scriptedImages{begin: func(tell func(node.ImportProgress)) error { tell(node.ImportProgress{Read: 5}); return corrupt }}, "tarball", 200, `{"error":{`},
		{"without a body", &scriptedImages{}, "", 400, "there is no tarball"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, withImages(c.images))
			got := n.do(t, "POST", "/v1/images:import", c.body)
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, c.status, c.want)
			}
		})
	}
}

func TestAnImportNeedsTheRightToWrite(t *testing.T) {
	n := newNode(t, withImages(&scriptedImages{}), func(c *Config) { c.Front.Auth = newAuth(t, false) })
	for role, want := range map[string]int{"viewer": 403, "operator": 200} {
		if got := n.do(t, "POST", "/v1/images:import", "tarball", "Authorization", tokenOf(t, role)); got.status != want {
			t.Errorf("%s: got %d %s, want %d", role, got.status, got.body, want)
		}
		if got := n.do(t, "GET", "/v1/images", "", "Authorization", tokenOf(t, role)); got.status != 200 {
			t.Errorf("%s lists: got %d, want 200", role, got.status)
		}
	}
}

// TestProgressComesWhileTheBodyStillGoes needs a real connection: the client
// sends the rest only when it has seen the first line.
func TestProgressComesWhileTheBodyStillGoes(t *testing.T) {
	images := &scriptedImages{begin: func(tell func(node.ImportProgress)) error { tell(node.ImportProgress{Read: 1}); return nil }}
	n := newNode(t, withImages(images))
	server := httptest.NewServer(n.server.HTTP())
	defer server.Close()
	reader, writer := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/images:import", reader)
	if err != nil {
		t.Fatal(err)
	}
	go writer.Write([]byte("first"))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	line := make([]byte, 10)
	if _, err := io.ReadFull(response.Body, line); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	rest, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(rest), `"result"`) || images.read != len("firstsecond") {
		t.Errorf("got %s (error %v) for %d bytes, want a result for 11", rest, err, images.read)
	}
}

// TestAnAnswerDoesNotWaitForTheBody has the import refused while the client still sends.
func TestAnAnswerDoesNotWaitForTheBody(t *testing.T) {
	refused := fmt.Errorf("the runtime is not this node's own: %w", node.ErrConflict)
	n := newNode(t, withImages(&scriptedImages{begin: func(func(node.ImportProgress)) error { return refused }}))
	server := httptest.NewServer(n.server.HTTP())
	defer server.Close()
	reader, writer := io.Pipe()
	defer writer.Close()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/images:import", reader)
	if err != nil {
		t.Fatal(err)
	}
	go writer.Write([]byte("first"))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 409 {
		t.Errorf("got %d %s (error %v), want 409", response.StatusCode, text, err)
	}
}

func TestABodyThatBreaksOffIsNotImported(t *testing.T) {
	images := &scriptedImages{}
	n := newNode(t, withImages(images))
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/images:import",
		io.MultiReader(strings.NewReader("half"), brokenReader{}))
	w := httptest.NewRecorder()
	n.server.HTTP().ServeHTTP(w, r)
	if w.Code == http.StatusOK || strings.Contains(w.Body.String(), "result") {
		t.Errorf("got %d %s, want an error", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestATarballIsImportedByGRPC(t *testing.T) {
	images := &scriptedImages{}
	client := nodev1.NewImagesServiceClient(newNode(t, withImages(images)).dial(t))
	stream, err := client.ImportImages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []*nodev1.ImportImagesRequest{{Name: "app:1"}, {Chunk: bytes.Repeat([]byte{1}, 1<<20)}, {Chunk: []byte("end")}} {
		if err := stream.Send(message); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	reply, err := stream.Recv()
	if err != nil || reply.GetResult().GetImages()[0].GetSize() != 1<<20+3 || images.named != "app:1" {
		t.Errorf("got %v (error %v) named %q, want one image of 1048579 bytes named app:1", reply, err, images.named)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the result: got %v, want the end", err)
	}
}

func TestANameComesInTheFirstMessageOnly(t *testing.T) {
	client := nodev1.NewImagesServiceClient(newNode(t, withImages(&scriptedImages{})).dial(t))
	stream, err := client.ImportImages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []*nodev1.ImportImagesRequest{{Chunk: []byte("a")}, {Name: "app:1"}} {
		if err := stream.Send(message); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, want an invalid argument", err)
	}
}

func TestAnImportEndsWhenTheAgentStops(t *testing.T) {
	n := newNode(t, withImages(&scriptedImages{}))
	stream, err := nodev1.NewImagesServiceClient(n.dial(t)).ImportImages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&nodev1.ImportImagesRequest{Chunk: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	n.server.Stop()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

// silent is a client that sends one chunk and then nothing.
type silent struct {
	grpc.BidiStreamingServer[nodev1.ImportImagesRequest, nodev1.ImportImagesResponse]
	ctx  context.Context
	sent bool
}

func (s *silent) Context() context.Context { return s.ctx }

func (s *silent) Recv() (*nodev1.ImportImagesRequest, error) {
	if !s.sent {
		s.sent = true
		return &nodev1.ImportImagesRequest{Chunk: []byte("first")}, nil
	}
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}

func TestASilentClientIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		service := &imageService{images: &scriptedImages{}, idle: time.Minute, stopped: make(chan struct{})}
		begin := time.Now()
		err := service.ImportImages(&silent{ctx: ctx})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %s, want a timeout after a minute", err, time.Since(begin))
		}
	})
}

func TestAConnectionServesRequestsAfterAnImport(t *testing.T) {
	n := newNode(t, withImages(&scriptedImages{}))
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	for range 100 { // a request in twenty was cancelled
		imported, err := front.Client().Post(front.URL+"/v1/images:import", "application/x-tar", strings.NewReader("tarball"))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, imported.Body)
		imported.Body.Close()
		listed, err := front.Client().Get(front.URL + "/v1/images:pulls")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(listed.Body)
		listed.Body.Close()
		if err != nil || listed.StatusCode != http.StatusOK {
			t.Fatalf("after an import: got %d %s, %v, want 200", listed.StatusCode, text, err)
		}
	}
}
