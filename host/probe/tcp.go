package probe

import (
	"context"

	"nodal/node"
)

// connect opens a connection to a port, and closes it again.
func (r reach) connect(ctx context.Context, probe node.Probe) answer {
	at, err := place(probe.Address, probe.Ports, probe.Spec.TCPSocket.Host, probe.Spec.TCPSocket.Port)
	if err != nil {
		return unasked(err)
	}
	conn, err := r.dial(ctx, "tcp", at)
	if err != nil {
		return broken(err)
	}
	// The connection has answered the question: its end does not count.
	_ = conn.Close()
	return answer{verdict: passing}
}
