package server

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// scriptedNodeLogs remembers the query and writes what the test says.
type scriptedNodeLogs struct {
	query node.NodeLogQuery
	ctx   context.Context
	read  func(context.Context, node.LogSink) error
}

func (l *scriptedNodeLogs) List(context.Context) ([]node.NodeLog, error) {
	return []node.NodeLog{
		{Name: "agent", Message: "it goes to a pipe"}, {Name: "sshd.service", Place: "journal", Boots: true},
	}, errors.New("the journal is damaged")
}

func (l *scriptedNodeLogs) Read(ctx context.Context, q node.NodeLogQuery, sink node.LogSink) error {
	l.query, l.ctx = q, ctx
	if l.read != nil {
		return l.read(ctx, sink)
	}
	_, err := io.WriteString(sink, "one line\n")
	return err
}

func TestLogsOfTheMachineAreForAdmins(t *testing.T) {
	var logs scriptedNodeLogs
	n := newNode(t, func(c *Config) { c.Front.Auth, c.Machine.System = newAuth(t, false), SystemLogs{ByName: &logs} })
	cases := []struct {
		role, path string
		status     int
		want       string
	}{
		{"admin", "/v1/node/logs", 200, `{"logs":[{"name":"agent","message":"it goes to a pipe"},{"name":"sshd.service","place":"journal","boots":true}],"message":"the journal is damaged"}`},
		{"admin", "/v1/node/logs/sshd.service", 200, "one line\n"},
		{"operator", "/v1/node/logs", 403, "may not administer the node"},
		{"operator", "/v1/node/logs/kernel", 403, "may not administer the node"},
		{"viewer", "/v1/node/logs/kernel", 403, "may not administer the node"},
		{"viewer", "/logs/", 403, "Forbidden (user=viewer, verb=get, resource=nodes, subresource(s)=[log])"},
	}
	for _, c := range cases {
		got := n.do(t, "GET", c.path, "", "Authorization", tokenOf(t, c.role))
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s of %s: got %d %s, want %d %s", c.path, c.role, got.status, got.body, c.status, c.want)
		}
	}
}

func TestPartsOfLogsOfTheMachine(t *testing.T) {
	var logs scriptedNodeLogs
	n := newNode(t, func(c *Config) { c.Machine.System.ByName = &logs })
	for query, want := range map[string]string{
		"":                          "",
		"tailLines=5&pattern=a%7Cb": "",
		"boot=-1&sinceTime=2026-05-01T11:00:00Z&untilTime=2026-05-01T12:00:00Z": "",
		"follow=true&tailLines=5":              "",
		"tailLines=-1":                         "tailLines -1: must be from 0 to 100000",
		"tailLines=100001":                     "tailLines 100001: must be from 0 to 100000",
		"boot=1":                               "boot 1: must be 0, or less for an earlier one",
		"limitBytes=0":                         "limitBytes 0: must be greater than 0",
		"pattern=(":                            "pattern: error parsing regexp",
		"pattern=" + strings.Repeat("a", 1025): "pattern: has 1025 bytes; at most 1024 are taken",
		"sinceTime=2026-05-01T12:00:00Z&untilTime=2026-05-01T11:00:00Z": "untilTime: must not be before sinceTime",
		"follow=true&untilTime=2026-05-01T11:00:00Z":                    "follow and untilTime: give only one of them",
		"follow=true&boot=-1":               "nothing is added to the log of an earlier boot",
		"follow=true&tailLines=5&pattern=a": "follow, tailLines and pattern: give only two of them",
		"lines=5":                           "lines",
	} {
		got := n.do(t, "GET", "/v1/node/logs/agent?"+query, "")
		if want == "" && (got.status != 200 || got.body != "one line\n") || want != "" && (got.status != 400 || !strings.Contains(got.body, want)) {
			t.Errorf("%s: got %d %s, want %q", query, got.status, got.body, want)
		}
	}
	n.do(t, "GET", "/v1/node/logs/user@0.service?tailLines=5&boot=-1&pattern=x&sinceTime=2026-05-01T11:00:00Z", "")
	q := logs.query
	if q.Source != "user@0.service" || *q.Tail != 5 || *q.Boot != -1 || q.Pattern.String() != "x" || q.Since.IsZero() || q.Follow {
		t.Errorf("the log is asked for by %+v", q)
	}
}

func TestLogsOfTheMachineMayBeOff(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Machine.System = SystemLogs{ByName: &scriptedNodeLogs{}, Off: true} })
	for _, path := range []string{"/v1/node/logs", "/v1/node/logs/kernel"} {
		if got := n.do(t, "GET", path, ""); got.status != 403 || !strings.Contains(got.body, "enableSystemLogHandler is off") {
			t.Errorf("%s: got %d %s, want 403", path, got.status, got.body)
		}
	}
}

func TestALogOfTheMachineIsCutOff(t *testing.T) {
	var refused error
	logs := scriptedNodeLogs{read: func(_ context.Context, sink node.LogSink) error {
		for refused == nil {
			_, refused = io.WriteString(sink, strings.Repeat("0123456789", 1000))
		}
		return refused
	}}
	n := newNode(t, func(c *Config) { c.Machine.System.ByName = &logs })
	if got := n.do(t, "GET", "/v1/node/logs/agent?limitBytes=12", ""); got.status != 200 || got.body != "012345678901" {
		t.Errorf("got %d %q, want twelve bytes", got.status, got.body)
	}
	refused = nil
	got := n.do(t, "GET", "/v1/node/logs/agent", "")
	if got.status != 200 || !strings.HasSuffix(got.body, "\nthe log is longer; ask for less of it, with sinceTime, untilTime or tailLines\n") || len(got.body) > nodeLogBytes+200 {
		t.Errorf("got %d and %d bytes, want %d and a note", got.status, len(got.body), nodeLogBytes)
	}
}

func TestALogOfTheMachineTakesNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := scriptedNodeLogs{read: func(ctx context.Context, sink node.LogSink) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		s := &nodeLogService{logs: SystemLogs{ByName: &logs}}
		began := time.Now()
		err := s.ReadNodeLog(&nodev1.ReadNodeLogRequest{Source: "agent"}, &sentBodies{ctx: t.Context()})
		if took := time.Since(began); took != nodeLogTime || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v after %s, want that it ends after %s", err, took, nodeLogTime)
		}
	})
}

func TestAFollowedLogOfTheMachineEndsWithItsCallerAndWithTheServer(t *testing.T) {
	begun := make(chan struct{}, 1)
	logs := scriptedNodeLogs{read: func(ctx context.Context, sink node.LogSink) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	n := newNode(t, func(c *Config) { c.Machine.System.ByName = &logs })
	client := nodev1.NewNodeLogsServiceClient(n.dial(t))
	ctx, leave := context.WithCancel(t.Context())
	stream, err := client.ReadNodeLog(ctx, &nodev1.ReadNodeLogRequest{Source: "agent", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	leave()
	<-logs.ctx.Done() // or the test never ends
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("got %v, want that the call was cancelled", err)
	}
	if stream, err = client.ReadNodeLog(t.Context(), &nodev1.ReadNodeLogRequest{Source: "agent", Follow: true}); err != nil {
		t.Fatal(err)
	}
	<-begun
	n.server.Stop()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v when the server stops, want the end", err)
	}
}

// sentBodies takes what a call sends.
type sentBodies struct {
	grpc.ServerStreamingServer[httpbody.HttpBody]
	ctx context.Context
}

func (s *sentBodies) Context() context.Context { return s.ctx }

func (s *sentBodies) Send(*httpbody.HttpBody) error { return nil }
