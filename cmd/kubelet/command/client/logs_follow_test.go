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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// talkingNode has a watch that a test writes, and a log for each run that this has shown as running or ended.
type talkingNode struct {
	nodev1.UnimplementedPodsServiceServer
	nodev1.UnimplementedLogsServiceServer
	watch []shown
	mu    sync.Mutex
	logs  []string // of which runs there are some
	asked []string
}

// shown is a message of the watch, and the run that begins before it is sent.
type shown struct {
	message *nodev1.WatchPodsResponse
	begins  string
}

func (n *talkingNode) WatchPods(_ *nodev1.WatchPodsRequest, stream grpc.ServerStreamingServer[nodev1.WatchPodsResponse]) error {
	for _, m := range n.watch {
		n.mu.Lock()
		n.logs = append(n.logs, m.begins)
		n.mu.Unlock()
		if err := stream.Send(m.message); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func (n *talkingNode) ReadLogs(r *nodev1.ReadLogsRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := fmt.Sprintf("%s/%s %d", r.GetName(), r.GetContainer(), r.GetAttempt())
	if r.GetUid() != "uid-"+r.GetName() || !slices.Contains(n.logs, of) {
		return status.Error(codes.NotFound, "no log of that run")
	}
	n.asked = append(n.asked, fmt.Sprintf("%s tail %d", of, r.GetTailLines()))
	return stream.Send(&httpbody.HttpBody{Data: []byte(of + "\n")})
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

func TestFollowersTakeEachRunOnceAndPodsThatComeLater(t *testing.T) {
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
	n := &talkingNode{watch: []shown{
		{pod(added, "a", 3, "running"), "a/main 3"},
		{pod(added, "b", 0, "waiting"), ""},
		{&nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_SYNCED}, ""},
		{pod(modified, "a", 3, "running"), ""}, // the same run
		{pod(modified, "b", 0, "running"), "b/main 0"},
		{pod(modified, "a", 4, "terminated"), ""}, // the run before has ended, and is counted
		{pod(modified, "a", 4, "running"), "a/main 4"},
		{pod(modified, "a", 4, "running"), "a/main 5"}, // a run that was too short for the watch
		{pod(modified, "a", 6, "terminated"), "a/main 6"},
		{pod(added, "later", 0, "terminated"), "later/main 0"},
		{pod(deleted, "later", 0, "terminated"), ""},
		{pod(added, "later", 0, "running"), ""}, // another pod of the name, of which a test needs no other UID
		{pod(added, "hasty", 1, "terminated"), "hasty/main 0"},
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
	out := &counting{want: 8, done: cancel}
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
	want := []string{
		"a/main 3 tail 7", "a/main 4 tail 0", "a/main 5 tail 0", "a/main 6 tail 0", "b/main 0 tail 0", "hasty/main 0 tail 0",
		"later/main 0 tail 0", "later/main 0 tail 0",
	}
	if !slices.Equal(n.asked, want) {
		t.Errorf("it has got\n%s\nwant\n%s", strings.Join(n.asked, "\n"), strings.Join(want, "\n"))
	}
	var ofA []string
	for line := range strings.Lines(out.String()) {
		if of := strings.Fields(line); of[0] == "a/main" {
			ofA = append(ofA, of[len(of)-1])
		}
	}
	if got := strings.Join(ofA, " "); got != "3 4 5 6" {
		t.Errorf("the runs of one container come as %s, want 3 4 5 6", got)
	}
}
