package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// Logs reads what containers wrote.
type Logs interface {
	// Read writes the log of a run to sink. With Follow it goes on until
	// Exited is closed and the log is read to its end. A log that is not there
	// is node.ErrNotFound.
	Read(ctx context.Context, run node.LogRun, options node.LogOptions, sink node.LogSink) error
}

// logService streams logs. Which run is meant is decided in logs_run.go.
type logService struct {
	nodev1.UnimplementedLogsServiceServer
	store   *store.Store
	site    node.Site
	logs    Logs
	now     func() time.Time
	stopped <-chan struct{}
}

var _ nodev1.LogsServiceServer = (*logService)(nil)

const logContentType = "text/plain; charset=utf-8"

// ReadLogs streams a log in pieces as they come from the file.
func (s *logService) ReadLogs(r *nodev1.ReadLogsRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	options, err := s.options(r)
	if err != nil {
		return err
	}
	wanted := logWanted{
		key:       node.Key{Namespace: r.GetNamespace(), Name: r.GetName()},
		container: r.GetContainer(), previous: r.GetPrevious(),
	}
	run, err := s.find(wanted)
	if err != nil {
		return err
	}
	return s.read(stream.Context(), run, options, &logSender{stream: stream})
}

// logSender sends each piece of a log as a message. gRPC has encoded it, and the
// in-process connection copied it, before Send returns.
type logSender struct {
	stream grpc.ServerStreamingServer[httpbody.HttpBody]
	begun  bool
}

var _ node.LogSink = (*logSender)(nil)

func (l *logSender) Write(p []byte) (int, error) {
	if err := l.stream.Send(&httpbody.HttpBody{ContentType: logContentType, Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends a first message, so that whoever follows a silent container learns at once that it works.
func (l *logSender) Flush() error {
	if l.begun {
		return nil
	}
	l.begun = true
	return l.stream.Send(&httpbody.HttpBody{ContentType: logContentType})
}

func (s *logService) options(r *nodev1.ReadLogsRequest) (node.LogOptions, error) {
	o := node.LogOptions{
		Tail: r.TailLines, LimitBytes: r.LimitBytes, Timestamps: r.GetTimestamps(), Follow: r.GetFollow(),
	}
	switch r.GetStream() {
	case nodev1.LogStream_LOG_STREAM_STDOUT:
		o.Stream = node.LogStdout
	case nodev1.LogStream_LOG_STREAM_STDERR:
		o.Stream = node.LogStderr
	}
	if r.GetSinceTime() != nil {
		o.Since = r.GetSinceTime().AsTime()
	}
	switch {
	case r.SinceSeconds != nil && r.GetSinceTime() != nil:
		return o, fmt.Errorf("sinceSeconds and sinceTime: give only one of them: %w", node.ErrInvalid)
	case r.SinceSeconds != nil && r.GetSinceSeconds() < 1:
		return o, fmt.Errorf("sinceSeconds %d: must be greater than 0: %w", r.GetSinceSeconds(), node.ErrInvalid)
	case r.TailLines != nil && r.GetTailLines() < 0:
		return o, fmt.Errorf("tailLines %d: must be at least 0: %w", r.GetTailLines(), node.ErrInvalid)
	case r.LimitBytes != nil && r.GetLimitBytes() < 1:
		return o, fmt.Errorf("limitBytes %d: must be greater than 0: %w", r.GetLimitBytes(), node.ErrInvalid)
	}
	if r.SinceSeconds != nil {
		o.Since = secondsBefore(s.now(), r.GetSinceSeconds())
	}
	return o, nil
}

// secondsBefore does not overflow: a request for the last million years gets all.
func secondsBefore(now time.Time, seconds int64) time.Time {
	return time.Unix(max(now.Unix()-seconds, 0), int64(now.Nanosecond()))
}

// read reads a run's log, and ends when the run, the client or the agent does.
func (s *logService) read(ctx context.Context, of loggedRun, o node.LogOptions, sink node.LogSink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.Follow {
		exited := make(chan struct{})
		o.Exited = exited
		go func() {
			if s.untilExit(ctx, of) {
				close(exited)
				return
			}
			cancel(errStopping)
		}()
	}
	run := node.LogRun{
		Key: of.key, UID: of.run.UID, Container: of.run.Name,
		Attempt: of.run.Attempt, Path: of.run.LogPath, ID: of.run.ID,
	}
	err := s.logs.Read(ctx, run, o, sink)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}
