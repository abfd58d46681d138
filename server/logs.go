package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
	"nodal/server/runs"
	"nodal/server/wire"
)

// logService lists and streams logs. Package runs finds the run and reads its log.
type logService struct {
	nodev1.UnimplementedLogsServiceServer
	runs runs.Logs
	now  func() time.Time
}

var _ nodev1.LogsServiceServer = (*logService)(nil)

// ReadLogs streams a log in pieces as they come from the file.
func (s *logService) ReadLogs(r *nodev1.ReadLogsRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	options, err := s.options(r)
	if err != nil {
		return err
	}
	run, err := s.runs.Find(runs.Wanted{
		Key:       node.Key{Namespace: r.GetNamespace(), Name: r.GetName()},
		Container: r.GetContainer(), Previous: r.GetPrevious(),
		UID: types.UID(r.GetUid()), Attempt: attempt(r), Kept: r.GetKept(),
	})
	if err != nil {
		return err
	}
	return s.runs.Read(stream.Context(), run, options, &logSender{stream: stream})
}

// attempt returns the run that is asked for; nil means the newest.
func attempt(r *nodev1.ReadLogsRequest) *uint32 {
	if r.Attempt == nil {
		return nil
	}
	return new(uint32(r.GetAttempt()))
}

// ListLogs returns of which runs there are logs.
func (s *logService) ListLogs(ctx context.Context, r *nodev1.ListLogsRequest) (*nodev1.ListLogsResponse, error) {
	all, err := s.runs.List(func(key node.Key) bool {
		return auth.Sees(ctx, key.Namespace) && (r.GetNamespace() == "" || key.Namespace == r.GetNamespace()) &&
			(r.GetName() == "" || key.Name == r.GetName())
	})
	if err != nil {
		return nil, err
	}
	answer := &nodev1.ListLogsResponse{}
	for _, log := range all {
		answer.Logs = append(answer.Logs, &nodev1.LogOfRun{
			Namespace: log.Run.Key.Namespace, Name: log.Run.Key.Name, Uid: string(log.Run.UID), Container: log.Run.Container,
			Attempt: int32(log.Run.Attempt), Bytes: log.Bytes, WrittenAt: timestamppb.New(log.Written), Kept: log.Run.Kept, Deleted: log.Deleted,
		})
	}
	return answer, nil
}

// logSender sends each piece of a log as a message. gRPC has encoded it, and the
// in-process connection copied it, before Send returns.
type logSender struct {
	stream grpc.ServerStreamingServer[httpbody.HttpBody]
	begun  bool
}

var _ node.LogSink = (*logSender)(nil)

func (l *logSender) Write(p []byte) (int, error) {
	if err := l.stream.Send(&httpbody.HttpBody{ContentType: wire.PlainText, Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends a first message, so that a client that follows a silent container learns at
// once that it is connected.
func (l *logSender) Flush() error {
	if l.begun {
		return nil
	}
	l.begun = true
	return l.stream.Send(&httpbody.HttpBody{ContentType: wire.PlainText})
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
	case r.GetAttempt() < 0:
		return o, fmt.Errorf("attempt %d: must be at least 0: %w", r.GetAttempt(), node.ErrInvalid)
	case r.LimitBytes != nil && r.GetLimitBytes() < 1:
		return o, fmt.Errorf("limitBytes %d: must be greater than 0: %w", r.GetLimitBytes(), node.ErrInvalid)
	}
	if r.SinceSeconds != nil {
		o.Since = runs.SecondsBefore(s.now(), r.GetSinceSeconds())
	}
	return o, nil
}
