package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// imageNode is the other end of the command.
type imageNode struct {
	nodev1.UnimplementedImagesServiceServer
	refuse error // before anything is read
	name   string
	read   int
}

func (n *imageNode) ImportImages(stream grpc.BidiStreamingServer[nodev1.ImportImagesRequest, nodev1.ImportImagesResponse]) error {
	if n.refuse != nil {
		return n.refuse
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n.name += message.GetName()
		n.read += len(message.GetChunk())
	}
	for _, m := range []*nodev1.ImportImagesResponse{
		{Output: &nodev1.ImportImagesResponse_Progress{Progress: &nodev1.ImportProgress{BytesRead: 3 << 20}}},
		{Output: &nodev1.ImportImagesResponse_Progress{Progress: &nodev1.ImportProgress{Reference: "docker.io/library/app:1"}}},
		{Output: &nodev1.ImportImagesResponse_Result{Result: &nodev1.ImportResult{Images: []*nodev1.ImportedImage{
			{Reference: "docker.io/library/app:1", Digest: "sha256:m", Size: 1 << 20},
		}}}},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// listingNode has two images.
type listingNode struct {
	nodev1.UnimplementedImagesServiceServer
}

func (listingNode) ListImages(context.Context, *nodev1.ListImagesRequest) (*nodev1.ListImagesResponse, error) {
	return &nodev1.ListImagesResponse{Images: []*nodev1.Image{
		{Id: "sha256:a", References: []string{"app:1", "app:2"}, Digests: []string{"app@sha256:n"}, Size: 2 << 20},
		{Id: "sha256:b", Digests: []string{"app@sha256:m"}},
	}}, nil
}

func (listingNode) ListPulls(context.Context, *nodev1.ListPullsRequest) (*nodev1.ListPullsResponse, error) {
	began := timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))
	return &nodev1.ListPullsResponse{Pulls: []*nodev1.Pull{
		{Reference: "app:1", BeganAt: began, Bytes: &nodev1.PullBytes{Present: 1 << 20, Total: 3 << 20}, Waiters: []*nodev1.PullWaiter{
			{Namespace: "default", Name: "web", Container: "a"}, {Namespace: "default", Name: "web", Container: "b"},
		}},
		{Reference: "app:2", BeganAt: began},
		{Reference: "app:3"},
	}}, nil
}

// removingNode has one image that is in use, and one that is not.
type removingNode struct {
	nodev1.UnimplementedImagesServiceServer
}

func (removingNode) RemoveImage(_ context.Context, request *nodev1.RemoveImageRequest) (*nodev1.RemoveImageResponse, error) {
	if request.GetImage() == "busy:1" {
		return nil, status.Error(codes.FailedPrecondition, "remove image busy:1: it is used by the pods default/web")
	}
	return &nodev1.RemoveImageResponse{Image: &nodev1.Image{Id: "sha256:a", References: []string{"app:1", "app:2"}}}, nil
}

// pullingNode pulls an image once its caller has asked how far it is.
type pullingNode struct {
	nodev1.UnimplementedImagesServiceServer
	asked chan bool
}

func (n pullingNode) PullImage(ctx context.Context, r *nodev1.PullImageRequest) (*nodev1.PullImageResponse, error) {
	if r.GetImage() == "away:1" {
		return nil, status.Error(codes.FailedPrecondition, "pull image away:1: ErrImagePull: no such host")
	}
	<-n.asked
	<-n.asked // what was said the first time has been shown
	return &nodev1.PullImageResponse{Image: &nodev1.Image{Id: "sha256:a", Size: 2 << 20}}, nil
}

func (n pullingNode) ListPulls(context.Context, *nodev1.ListPullsRequest) (*nodev1.ListPullsResponse, error) {
	select {
	case n.asked <- true:
	default:
	}
	half := &nodev1.PullBytes{Present: 1 << 20, Total: 2 << 20}
	return &nodev1.ListPullsResponse{Pulls: []*nodev1.Pull{{Reference: "other:1"}, {Reference: "app:1", Bytes: half}}}, nil
}

// serveNode has a node answer on a socket.
func serveNode(t *testing.T, n nodev1.ImagesServiceServer) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nodal-") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "node.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	nodev1.RegisterImagesServiceServer(s, n)
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	return socket
}

// command runs "kubelet images ..." and returns what it said.
func command(in io.Reader, args ...string) (code int, out, failed string) {
	var stdout, stderr bytes.Buffer
	code, _ = Run([]Verb{imagesVerb()}, append([]string{"images"}, args...), Console{In: in, Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestTheCommandImportsAFileOrStandardInput(t *testing.T) {
	tarball := strings.Repeat("x", 2*chunk+1)
	file := filepath.Join(t.TempDir(), "app.tar")
	if err := os.WriteFile(file, []byte(tarball), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "-"} {
		n := &imageNode{}
		code, out, told := command(strings.NewReader(tarball), "import", "--socket", serveNode(t, n), "--name", "app:1", path)
		if want := "docker.io/library/app:1 sha256:m 1.0 MiB\n"; code != 0 || out != want {
			t.Errorf("%s: got code %d, %q, want 0, %q", path, code, out, want)
		}
		for _, want := range []string{"3.0 MiB read", "importing docker.io/library/app:1"} {
			if !strings.Contains(told, want) {
				t.Errorf("%s: told %q, want %q in it", path, told, want)
			}
		}
		if n.name != "app:1" || n.read != len(tarball) {
			t.Errorf("%s: the node got name %q and %d bytes, want app:1 and %d", path, n.name, n.read, len(tarball))
		}
	}
}

func TestTheCommandListsImages(t *testing.T) {
	code, out, _ := command(nil, "list", "--socket", serveNode(t, listingNode{}))
	want := "" +
		"NAME          ID  SIZE     OTHER NAMES\n" +
		"app:1         a   2.0 MiB  app:2\n" +
		"app@sha256:m  b   0.0 MiB\n"
	if code != 0 || out != want {
		t.Errorf("got code %d\n%s\nwant 0\n%s", code, out, want)
	}
}

func TestTheCommandListsPulls(t *testing.T) {
	code, out, _ := command(nil, "pulls", "--socket", serveNode(t, listingNode{}))
	want := "" +
		"REFERENCE  SINCE                PRESENT             PODS\n" +
		"app:1      2026-01-02 03:04:05  1.0 MiB of 3.0 MiB  default/web\n" +
		"app:2      2026-01-02 03:04:05  unknown\n" +
		"app:3      queued               unknown\n"
	if code != 0 || out != want {
		t.Errorf("got code %d\n%s\nwant 0\n%s", code, out, want)
	}
}

func TestTheCommandPullsImages(t *testing.T) {
	code, out, told := command(nil, "pull", "--socket", serveNode(t, pullingNode{asked: make(chan bool, 2)}), "away:1", "app:1")
	if code != 1 || out != "app:1 sha256:a 2.0 MiB\n" {
		t.Errorf("got code %d, %q, want 1 and the image", code, out)
	}
	if !strings.Contains(told, "app:1 [############............] 50%") || !strings.Contains(told, "no such host") || strings.Contains(told, "other:1") {
		t.Errorf("told %q, want how far it is and why the other is away", told)
	}
}

func TestPullsAreShownAsTheyGo(t *testing.T) {
	pull := func(present, total int64) *nodev1.Pull {
		return &nodev1.Pull{Reference: "app:1\x1b[2J", BeganAt: timestamppb.Now(), Bytes: &nodev1.PullBytes{Present: present, Total: total}}
	}
	const begun, half = `app:1\x1b[2J pulling` + "\n", `app:1\x1b[2J [############............] 50% 1.0 MiB of 2.0 MiB` + "\n"
	steps := [][]*nodev1.Pull{{{Reference: "app:2"}}, {pull(0, 0)}, {pull(1<<20, 2<<20)}, {pull(1<<20, 2<<20)}, {pull(3<<20, 2<<20)}, nil}
	for onTerminal, want := range map[bool][]string{
		false: {"app:2 queued\n", begun, half, "", `app:1\x1b[2J [########################] 100% 3.0 MiB of 2.0 MiB` + "\n", ""},
		true:  {"app:2 queued\n", "\x1b[1A\x1b[J" + begun, "\x1b[1A\x1b[J" + half, "\x1b[1A\x1b[J" + half, "\x1b[1A\x1b[J" + `app:1\x1b[2J [########################] 100% 3.0 MiB of 2.0 MiB` + "\n", "\x1b[1A\x1b[J"},
	} {
		shown := &bars{onTerminal: onTerminal, said: map[string]string{}}
		for i, pulls := range steps {
			if got := shown.next(pulls); got != want[i] {
				t.Errorf("on a terminal %t, step %d: got %q, want %q", onTerminal, i, got, want[i])
			}
		}
	}
}

func TestAnImageIsFoundByItsNamesAndItsID(t *testing.T) {
	socket := serveNode(t, listingNode{})
	get := func(name string) string {
		out, failed, _ := runVerb("get", "images", name, "-o", "jsonpath={.id}", "--socket", socket)
		return out + failed
	}
	for name, want := range map[string]string{
		"app:1": "sha256:a", "app:2": "sha256:a", "app@sha256:m": "sha256:b", "sha256:b": "sha256:b",
		"app:9": "kubelet get: image \"app:9\": not found on the node; kubelet get images lists them\n",
	} {
		if got := get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, failed, code := runVerb("delete", "image", "app:1", "--socket", socket); code != 2 || !strings.Contains(failed, "kubelet images rm") {
		t.Errorf("delete image: got %d, %q", code, failed)
	}
}

func TestTheCommandRemovesUnusedImages(t *testing.T) {
	code, out, failed := command(nil, "rm", "--socket", serveNode(t, removingNode{}), "busy:1", "app:1")
	if want := "removed app:1 app:2 sha256:a\n"; code != 1 || out != want || !strings.Contains(failed, "used by the pods default/web") {
		t.Errorf("got code %d, %q, %q, want 1, %q and which pods use the other", code, out, failed, want)
	}
}

func TestTheCommandNamesItsFault(t *testing.T) {
	refusing := serveNode(t, &imageNode{refuse: status.Error(codes.FailedPrecondition, "the runtime is not the agent's own")})
	taking := serveNode(t, &imageNode{})
	for _, c := range []struct {
		name string
		in   io.Reader
		args []string
		code int
		want string
	}{
		{"the node refuses", strings.NewReader("x"), []string{"import", "--socket", refusing, "-"}, 1, "not the agent's own"},
		{"no such file", nil, []string{"import", "--socket", taking, "/no/such/file"}, 1, "no such file"},
		{"the pipe breaks", iotest.ErrReader(errors.New("broken")), []string{"import", "--socket", taking, "-"}, 1, "read the tarball: broken"},
		{"no agent", strings.NewReader("x"), []string{"import", "--socket", "/no/such/socket", "-"}, 1, "/no/such/socket"},
		{"no file given", nil, []string{"import"}, 2, "want one FILE for import, got 0"},
		{"two files", nil, []string{"import", "a.tar", "b.tar"}, 2, "want one FILE for import, got 2"},
		{"no image given", nil, []string{"rm"}, 2, "want at least one IMAGE for rm"},
		{"no image to pull", nil, []string{"pull"}, 2, "want at least one IMAGE for pull"},
		{"no reference", nil, []string{"pull", "--socket", taking, "No Such"}, 2, "is not of the form"},
		{"no word", nil, nil, 2, "command missing"},
		{"an unknown word", nil, []string{"remove"}, 2, `unknown command "remove": want ls`},
		{"a word too many", nil, []string{"list", "app:1"}, 2, `unexpected argument "app:1"`},
		{"a dry run of what has none", nil, []string{"rm", "--dry-run", "app:1"}, 2, "--dry-run is a flag of prune, not of rm"},
		{"a name for nothing", nil, []string{"list", "--name=app:1"}, 2, "--name is a flag of import, not of ls"},
		{"an unknown flag", nil, []string{"list", "--all"}, 2, "--all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, failed := command(c.in, c.args...)
			if code != c.code || !strings.Contains(failed, c.want) {
				t.Errorf("got code %d, %q, want %d with %q", code, failed, c.code, c.want)
			}
		})
	}
}
