package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/kubeletapi"
	"nodal/server/wire"
)

// NodeLogs reads the logs of the machine.
type NodeLogs interface {
	// List returns the logs that can be read by name. It returns what it has found even if it fails.
	List(context.Context) ([]node.NodeLog, error)
	// Read writes the part of a log that a query selects, until the context ends.
	Read(context.Context, node.NodeLogQuery, node.LogSink) error
}

// SystemLogs holds the parts that serve logs of the machine, and what the configuration permits.
type SystemLogs struct {
	ByName   NodeLogs
	Files    fs.FS // beneath /var/log
	Services kubeletapi.ServiceLogs
	Off      bool // enableSystemLogHandler is off
	Query    bool // enableSystemLogQuery is on
}

// nodeLogService serves the logs of the machine.
type nodeLogService struct {
	nodev1.UnimplementedNodeLogsServiceServer
	logs    SystemLogs
	stopped <-chan struct{}
}

var _ nodev1.NodeLogsServiceServer = (*nodeLogService)(nil)

const (
	// A log that is not followed is read within this time and size, as the kubelet's path /logs/ is.
	nodeLogTime  = kubeletapi.QueryTime
	nodeLogBytes = kubeletapi.QueryBytes

	maxTailLines = 100_000
	maxPattern   = 1024
)

// ListNodeLogs lists the logs.
func (s *nodeLogService) ListNodeLogs(ctx context.Context, _ *nodev1.ListNodeLogsRequest) (*nodev1.ListNodeLogsResponse, error) {
	if err := s.on(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodeLogTime)
	defer cancel()
	all, err := s.logs.ByName.List(ctx)
	answer := &nodev1.ListNodeLogsResponse{}
	if err != nil {
		answer.Message = err.Error()
	}
	for _, l := range all {
		answer.Logs = append(answer.Logs, &nodev1.NodeLog{Name: l.Name, Place: l.Place, Boots: l.Boots, Message: l.Message})
	}
	return answer, nil
}

// ReadNodeLog streams a log in pieces as they come.
func (s *nodeLogService) ReadNodeLog(
	r *nodev1.ReadNodeLogRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody],
) error {
	if err := s.on(); err != nil {
		return err
	}
	query, err := nodeLogQuery(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(stream.Context(), query.Follow)
	defer cancel()
	sender := &logSender{stream: stream}
	sink := &cutSink{sender, wire.Cut{To: sender, Left: nodeLogBytes, Note: kubeletapi.CutNote}}
	switch {
	case r.LimitBytes != nil:
		sink.cut.Left, sink.cut.Note = min(r.GetLimitBytes(), nodeLogBytes), ""
	case query.Follow:
		sink.cut.Left = math.MaxInt64
	}
	err = s.logs.ByName.Read(ctx, query, sink)
	stopped := query.Follow && ctx.Err() != nil && stream.Context().Err() == nil
	if errors.Is(err, wire.ErrEnough) || stopped {
		return nil
	}
	return err
}

// bounded ends a read in time, and one that follows when the server stops.
func (s *nodeLogService) bounded(ctx context.Context, follow bool) (context.Context, context.CancelFunc) {
	if !follow {
		return context.WithTimeoutCause(ctx, nodeLogTime, fmt.Errorf("the log was not read within %s; ask for less of it, "+
			"with sinceTime, untilTime or tailLines: %w", nodeLogTime, context.DeadlineExceeded))
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-s.stopped:
			cancel()
		}
	}()
	return ctx, cancel
}

func (s *nodeLogService) on() error {
	if s.logs.Off {
		return fmt.Errorf("enableSystemLogHandler is off: the node serves no logs of the machine; set it in the configuration file: %w", node.ErrDenied)
	}
	return nil
}

// nodeLogQuery checks a request.
func nodeLogQuery(r *nodev1.ReadNodeLogRequest) (node.NodeLogQuery, error) {
	q := node.NodeLogQuery{
		Source: r.GetSource(), Since: timeOf(r.GetSinceTime()), Until: timeOf(r.GetUntilTime()), Tail: r.TailLines, Boot: r.Boot,
		Follow: r.GetFollow(),
	}
	switch {
	case r.GetPattern() == "":
	case len(r.GetPattern()) > maxPattern:
		return q, fmt.Errorf("pattern: has %d bytes; at most %d are taken: %w", len(r.GetPattern()), maxPattern, node.ErrInvalid)
	default:
		var err error
		if q.Pattern, err = regexp.Compile(r.GetPattern()); err != nil {
			return q, fmt.Errorf("pattern: %w: %w", err, node.ErrInvalid)
		}
	}
	switch {
	case q.Tail != nil && (*q.Tail < 0 || *q.Tail > maxTailLines):
		return q, fmt.Errorf("tailLines %d: must be from 0 to %d: %w", *q.Tail, maxTailLines, node.ErrInvalid)
	case q.Boot != nil && (*q.Boot > 0 || *q.Boot < -maxTailLines):
		return q, fmt.Errorf("boot %d: must be 0, or less for an earlier one: %w", *q.Boot, node.ErrInvalid)
	case r.LimitBytes != nil && r.GetLimitBytes() < 1:
		return q, fmt.Errorf("limitBytes %d: must be greater than 0: %w", r.GetLimitBytes(), node.ErrInvalid)
	case !q.Since.IsZero() && !q.Until.IsZero() && q.Since.After(q.Until):
		return q, fmt.Errorf("untilTime: must not be before sinceTime: %w", node.ErrInvalid)
	case q.Follow && !q.Until.IsZero():
		return q, fmt.Errorf("follow and untilTime: give only one of them: %w", node.ErrInvalid)
	case q.Follow && q.Boot != nil && *q.Boot != 0:
		return q, fmt.Errorf("follow and boot %d: nothing is added to the log of an earlier boot; leave one out: %w", *q.Boot, node.ErrInvalid)
	case q.Follow && q.Tail != nil && q.Pattern != nil:
		return q, fmt.Errorf("follow, tailLines and pattern: give only two of them: %w", node.ErrInvalid)
	}
	return q, nil
}

// timeOf returns the zero time for none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// cutSink is a sink for no more than its cut lets through.
type cutSink struct {
	node.LogSink
	cut wire.Cut
}

func (c *cutSink) Write(p []byte) (int, error) { return c.cut.Write(p) }
