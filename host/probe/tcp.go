package probe

import (
	"context"
	"time"

	"nodal/node"
)

// connect opens a connection to a port, and closes it again.
func (r reach) connect(ctx context.Context, probe node.Probe, timeout time.Duration) answer {
	at, err := place(probe.Address, probe.Ports, probe.Spec.TCPSocket.Host, probe.Spec.TCPSocket.Port)
	if err != nil {
		return unasked(err)
	}
	conn, err := r.dial(ctx, "tcp", at)
	if err != nil {
		return broken("connect to "+at, err, timeout)
	}
	// The connection has answered the question: its end does not count.
	_ = conn.Close()
	return answer{verdict: passing}
}
