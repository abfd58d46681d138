package cri

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The streams of a log file.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// maxLogChunk is the longest part of a line that containerd puts into one entry; the
// rest follows in entries of its own.
const maxLogChunk = 16 << 10

// logFile is a container's log in the CRI format. It always has a path; where no file is written it
// drops all lines.
type logFile struct {
	path string
	file *os.File
}

// open makes no directories: that is the kubelet's part.
func (l *logFile) open() error {
	if l.path == "" {
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("open container log: %w", err)
	}
	l.close()
	l.file = file
	return nil
}

// begin opens the file and writes the lines that a program prints at its start.
func (l *logFile) begin(lines []logLine) error {
	if err := l.open(); err != nil {
		return err
	}
	for _, line := range lines {
		if err := l.write(line); err != nil {
			l.close()
			return err
		}
	}
	return nil
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close() // every line is written through already
		l.file = nil
	}
}

func (l *logFile) write(line logLine) error {
	if l.file == nil {
		return nil
	}
	text := line.text
	for len(text) > maxLogChunk {
		if err := l.entry(line.stream, "P", text[:maxLogChunk]); err != nil {
			return err
		}
		text = text[maxLogChunk:]
	}
	return l.entry(line.stream, "F", text)
}

func (l *logFile) entry(stream, tag, text string) error {
	_, err := fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, text)
	if err != nil {
		return fmt.Errorf("append to container log: %w", err)
	}
	return nil
}

// ReopenContainerLog starts a new file after the old one was moved away.
func (s *Server) ReopenContainerLog(
	_ context.Context, request *runtime.ReopenContainerLogRequest,
) (*runtime.ReopenContainerLogResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		return nil, containerMissing(request.GetContainerId())
	}
	if !c.running() {
		return nil, status.Error(codes.Unknown, "container is not running")
	}
	if s.config.WriteLogs {
		if err := c.log.open(); err != nil {
			return nil, status.Error(codes.Unknown, err.Error())
		}
	}
	return &runtime.ReopenContainerLogResponse{}, nil
}
