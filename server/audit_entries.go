package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	entries "nodal/node/audit"
	"nodal/server/audit"
	"nodal/server/wire"
)

// auditService shows the audit log.
type auditService struct {
	nodev1.UnimplementedAuditServiceServer
	log     *audit.Log // nil if nothing is kept
	stopped <-chan struct{}
}

var _ nodev1.AuditServiceServer = (*auditService)(nil)

const (
	usualAuditEntries = 100
	mostAuditEntries  = 1000
)

// ListAuditEntries returns the newest entries that match.
func (s *auditService) ListAuditEntries(
	ctx context.Context, r *nodev1.ListAuditEntriesRequest,
) (*nodev1.ListAuditEntriesResponse, error) {
	filter, limit, err := s.wanted(r)
	if err != nil {
		return nil, err
	}
	found, _, err := s.log.Newest(ctx, filter, limit)
	if err != nil {
		return nil, err
	}
	answer := &nodev1.ListAuditEntriesResponse{}
	for _, e := range found {
		answer.Entries = append(answer.Entries, auditEntryOf(e))
	}
	return answer, nil
}

// WatchAuditEntries sends the newest entries that match, a marker, and then each new entry.
func (s *auditService) WatchAuditEntries(
	r *nodev1.WatchAuditEntriesRequest, stream grpc.ServerStreamingServer[nodev1.WatchAuditEntriesResponse],
) error {
	filter, limit, err := s.wanted(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-s.stopped:
			cancel(wire.ErrStopping)
		case <-ctx.Done():
		}
	}()
	kept, at, err := s.log.Newest(ctx, filter, limit)
	if err != nil {
		return err
	}
	send := func(e entries.Entry) error {
		return stream.Send(&nodev1.WatchAuditEntriesResponse{Entry: auditEntryOf(e)})
	}
	for _, e := range kept {
		if err := send(e); err != nil {
			return err
		}
	}
	if err := stream.Send(&nodev1.WatchAuditEntriesResponse{}); err != nil {
		return err
	}
	return s.log.Follow(ctx, filter, at, send)
}

// auditRequest holds the fields that both requests have.
type auditRequest interface {
	GetUser() string
	GetKind() string
	GetNamespace() string
	GetName() string
	GetUid() string
	GetVerb() string
	GetSince() *timestamppb.Timestamp
	GetLimit() int32
}

func (s *auditService) wanted(r auditRequest) (f entries.Filter, limit int, err error) {
	if s.log == nil {
		return f, 0, fmt.Errorf("audit log: it is off; see --audit-policy: %w", node.ErrConflict)
	}
	limit = int(r.GetLimit())
	if limit == 0 {
		limit = usualAuditEntries
	}
	if limit < 0 || limit > mostAuditEntries {
		return f, 0, fmt.Errorf("limit %d: must be between 1 and %d: %w", limit, mostAuditEntries, node.ErrInvalid)
	}
	f = entries.Filter{
		User: r.GetUser(), Verb: entries.Verb(r.GetVerb()),
		Object: entries.Object{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName(), UID: r.GetUid()},
	}
	if r.GetSince() != nil {
		f.Since = r.GetSince().AsTime()
	}
	return f, limit, nil
}

var auditStages = map[entries.Stage]nodev1.AuditStage{
	entries.Received: nodev1.AuditStage_AUDIT_STAGE_RECEIVED,
	entries.Done:     nodev1.AuditStage_AUDIT_STAGE_DONE,
	entries.Refused:  nodev1.AuditStage_AUDIT_STAGE_REFUSED,
	entries.LeftOut:  nodev1.AuditStage_AUDIT_STAGE_LEFT_OUT,
}

func auditEntryOf(e entries.Entry) *nodev1.AuditEntry {
	entry := &nodev1.AuditEntry{
		Time: timestamppb.New(e.Time), Id: e.ID, Stage: auditStages[e.Stage],
		User: e.User, Role: e.Role, Via: e.Via, Groups: e.Groups, From: e.From, Credential: e.Credential,
		Verb: string(e.Verb), Method: e.Method, MoreObjects: int32(e.MoreObjects), Container: e.Container,
		Ports: e.Ports, Decision: e.Decision, Outcome: e.Outcome, ExitCode: e.ExitCode,
		LeftOut: e.LeftOut, Reason: e.Reason, Request: auditRequestOf(e.Request),
	}
	if e.Object != nil {
		entry.Object = auditObjectOf(*e.Object)
	}
	for _, o := range e.Objects {
		entry.Objects = append(entry.Objects, auditObjectOf(o))
	}
	if c := e.Command; c != nil {
		entry.Command = &nodev1.AuditCommand{Sha256: c.SHA256, Words: int32(c.Words), Bytes: int32(c.Bytes)}
	}
	if e.Stage == entries.Done {
		entry.Took = durationpb.New(time.Duration(e.TookMS) * time.Millisecond)
	}
	return entry
}

func auditObjectOf(o entries.Object) *nodev1.AuditObject {
	return &nodev1.AuditObject{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Uid: o.UID, Revision: o.Revision}
}

// auditRequestOf returns a request that was kept, or nil.
func auditRequestOf(text json.RawMessage) *structpb.Struct {
	shown := &structpb.Struct{}
	if len(text) == 0 || protojson.Unmarshal(text, shown) != nil {
		return nil
	}
	return shown
}
