package command

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// auditNode is the other end of the command.
type auditNode struct {
	nodev1.UnimplementedAuditServiceServer
	asked   *nodev1.WatchAuditEntriesRequest
	kept    []*nodev1.AuditEntry
	further []*nodev1.AuditEntry
}

func (n *auditNode) WatchAuditEntries(
	r *nodev1.WatchAuditEntriesRequest, stream grpc.ServerStreamingServer[nodev1.WatchAuditEntriesResponse],
) error {
	n.asked = r
	for _, e := range append(append(n.kept, nil), n.further...) {
		if err := stream.Send(&nodev1.WatchAuditEntriesResponse{Entry: e}); err != nil {
			return err
		}
	}
	return nil
}

func TestAuditPrintsEntriesInLines(t *testing.T) {
	noon, exit := timestamppb.New(time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local)), int32(7)
	web := &nodev1.AuditObject{Kind: "Pod", Namespace: "default", Name: "web"}
	n := &auditNode{kept: []*nodev1.AuditEntry{
		{Time: noon, Stage: nodev1.AuditStage_AUDIT_STAGE_DONE, User: "alice", From: "192.0.2.1:5000", Verb: "exec",
			Method: "/node.v1.ExecService/Run", Object: web, Decision: "allowed", Outcome: "OK", ExitCode: &exit},
		{Time: noon, Stage: nodev1.AuditStage_AUDIT_STAGE_RECEIVED, User: "uid:0", From: "socket", Verb: "write",
			Method: "/node.v1.ManifestsService/Apply", Objects: []*nodev1.AuditObject{web, {Kind: "PersistentVolume", Name: "disk"}}, MoreObjects: 3},
		{Time: noon, Stage: nodev1.AuditStage_AUDIT_STAGE_REFUSED, From: "192.0.2.9:1", Method: "GET /\x1b[2J", Decision: "denied", Outcome: "401"},
		{Time: noon, Stage: nodev1.AuditStage_AUDIT_STAGE_LEFT_OUT, From: "192.0.2.9", LeftOut: 99, Reason: "too many refused requests"},
	}, further: []*nodev1.AuditEntry{{Time: noon, Stage: nodev1.AuditStage_AUDIT_STAGE_DONE, User: "later", Outcome: "OK"}}}
	socket := filepath.Join(t.TempDir(), "node.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodev1.RegisterAuditServiceServer(server, n)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	const want = `2026-05-01 12:00:00  alice  192.0.2.1:5000  exec  ExecService/Run  Pod default/web  OK, exit code 7
2026-05-01 12:00:00  uid:0  socket  write  ManifestsService/Apply  Pod default/web, PersistentVolume disk, 3 more  begins
2026-05-01 12:00:00  -  192.0.2.9:1    "GET /\x1b[2J"  -  denied: 401
2026-05-01 12:00:00  192.0.2.9  99 entries are missing: too many refused requests
`
	for _, c := range []struct{ flag, more string }{{"--limit=5", ""}, {"--follow", "later"}} {
		var out, failed bytes.Buffer
		code, _ := Run([]string{"audit", "--socket", socket, "--name=web", "-n", "default", "--since=1h", c.flag}, Console{Out: &out, Err: &failed})
		rest, ok := strings.CutPrefix(out.String(), want)
		if code != 0 || !ok || !strings.Contains(rest, c.more) || (c.more == "") != (rest == "") {
			t.Errorf("%s: got %d, %q\n%s", c.flag, code, &failed, &out)
		}
		if n.asked.GetName() != "web" || n.asked.GetNamespace() != "default" || time.Since(n.asked.GetSince().AsTime()) < time.Hour {
			t.Errorf("%s: asked for %v", c.flag, n.asked)
		}
	}
	for _, args := range [][]string{{"audit", "what"}, {"audit", "--limit=many"}} {
		if code, _ := Run(args, Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}); code != 2 {
			t.Errorf("%v: got %d, want 2", args, code)
		}
	}
}
