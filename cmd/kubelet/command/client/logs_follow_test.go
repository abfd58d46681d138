package client

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
)

// talkingNode has a watch that a test writes, and a log for each container.
type talkingNode struct {
	nodev1.UnimplementedPodsServiceServer
	nodev1.UnimplementedLogsServiceServer
	watch []*nodev1.WatchPodsResponse
	mu    sync.Mutex
	asked []string
}

func (n *talkingNode) WatchPods(_ *nodev1.WatchPodsRequest, stream grpc.ServerStreamingServer[nodev1.WatchPodsResponse]) error {
	for _, m := range n.watch {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func (n *talkingNode) ReadLogs(r *nodev1.ReadLogsRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	n.mu.Lock()
	n.asked = append(n.asked, fmt.Sprintf("%s/%s tail %d", r.GetName(), r.GetContainer(), r.GetTailLines()))
	count := len(n.asked)
	n.mu.Unlock()
	return stream.Send(&httpbody.HttpBody{Data: []byte(fmt.Sprintf("line %d\n", count))})
}

// counting tells how many lines were written.
type counting struct {
	bytes.Buffer
	want int
	done func()
}

func (c *counting) Write(p []byte) (int, error) {
	defer func() {
		if strings.Count(c.String(), "\n") == c.want {
			c.done()
		}
	}()
	return c.Buffer.Write(p)
}

func TestFollowersTakePodsThatComeLater(t *testing.T) {
	pod := func(change nodev1.WatchType, name string, restarts int, state string) *nodev1.WatchPodsResponse {
		return &nodev1.WatchPodsResponse{Type: change, Pod: &nodev1.Pod{Namespace: "default", Name: name, Uid: "uid-" + name, Object: object(t, map[string]any{
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main"}}},
			"status": map[string]any{"containerStatuses": []any{map[string]any{
				"name": "main", "restartCount": restarts, "state": map[string]any{state: map[string]any{}},
			}}},
		})}}
	}
	const added, modified, deleted = nodev1.WatchType_WATCH_TYPE_ADDED, nodev1.WatchType_WATCH_TYPE_MODIFIED, nodev1.WatchType_WATCH_TYPE_DELETED
	n := &talkingNode{watch: []*nodev1.WatchPodsResponse{
		pod(added, "a", 0, "running"),
		pod(added, "b", 0, "waiting"),
		{Type: nodev1.WatchType_WATCH_TYPE_SYNCED},
		pod(modified, "a", 0, "running"), // the same run
		pod(modified, "b", 0, "running"), // begins
		pod(modified, "a", 1, "running"), // runs again
		pod(added, "later", 0, "terminated"),
		pod(deleted, "later", 0, "terminated"),
		pod(added, "later", 0, "running"), // another pod of the name, of which a test needs no other UID
	}}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "node.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodev1.RegisterPodsServiceServer(server, n)
	nodev1.RegisterLogsServiceServer(server, n)
	go server.Serve(listener)
	t.Cleanup(server.Stop)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &counting{want: 5, done: cancel}
	var failed bytes.Buffer
	s := &session{Console: Console{strings.NewReader(""), out, &failed}}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	do := logsVerb().Bind(flags)
	s.reach.bind(flags)
	if err := flags.Parse([]string{"-f", "-l", "app=talk", "--tail", "7", "--socket", listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	s.reach.socket.given = true
	defer s.close()
	if err := do(ctx, s, nil); err != nil || failed.Len() > 0 {
		t.Errorf("got %v, %s", err, &failed)
	}
	slices.Sort(n.asked)
	if got, want := strings.Join(n.asked, "\n"), "a/main tail 0\na/main tail 7\nb/main tail 0\nlater/main tail 0\nlater/main tail 0"; got != want {
		t.Errorf("it has asked for\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{"a/main line ", "b/main line ", "later/main line "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out, want)
		}
	}
}
