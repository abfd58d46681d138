package server

import (
	"context"
	"io"
	"time"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/runs"
)

// notedContainers notes for the audit log what commands came to and which ports were reached, on every transport.
type notedContainers struct{ runs.Containers }

var _ runs.Containers = notedContainers{}

// ExecSync runs a command and notes its exit code.
func (c notedContainers) ExecSync(
	ctx context.Context, container string, command []string, timeout time.Duration,
) (stdout, stderr []byte, exit int32, err error) {
	stdout, stderr, exit, err = c.Containers.ExecSync(ctx, container, command, timeout)
	if err == nil {
		auth.NoteOf(ctx).Exited(exit)
	}
	return stdout, stderr, exit, err
}

// Exec runs a command with live streams and notes its exit code.
func (c notedContainers) Exec(
	ctx context.Context, container string, command []string, streams node.Streams,
) (exit int32, err error) {
	exit, err = c.Containers.Exec(ctx, container, command, streams)
	if err == nil {
		auth.NoteOf(ctx).Exited(exit)
	}
	return exit, err
}

// PortForward notes the port and connects it.
func (c notedContainers) PortForward(ctx context.Context, sandbox string, port int32, client io.ReadWriter) error {
	auth.NoteOf(ctx).Forwarded(port)
	return c.Containers.PortForward(ctx, sandbox, port, client)
}
