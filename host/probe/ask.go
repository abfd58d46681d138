package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

var errNoHandler = errors.New("the probe has no handler")

// answer asks a container once.
func (p *Prober) answer(ctx context.Context, probe node.Probe) answer {
	timeout := max(time.Second, seconds(probe.Spec.TimeoutSeconds))
	if probe.Spec.Exec != nil {
		return p.exec(ctx, probe, timeout)
	}
	to := p.inside
	if probe.HostNetwork {
		to = p.outside
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case probe.Spec.HTTPGet != nil:
		return to.get(ctx, probe, timeout)
	case probe.Spec.TCPSocket != nil:
		return to.connect(ctx, probe, timeout)
	case probe.Spec.GRPC != nil:
		return to.check(ctx, probe, timeout)
	}
	return unasked(errNoHandler)
}

// place returns the address to ask: the pod's, unless the manifest names a host.
func place(pod string, ports []corev1.ContainerPort, host string, port intstr.IntOrString) (string, error) {
	number, err := node.Port(port, ports)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = pod
	}
	return net.JoinHostPort(host, strconv.Itoa(int(number))), nil
}

// broken returns the answer for a connection that failed.
func broken(what string, err error, timeout time.Duration) answer {
	if errors.Is(err, errForbidden) {
		return unasked(fmt.Errorf("%s: %w", what, errForbidden))
	}
	var timedOut interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timedOut) && timedOut.Timeout() {
		return fails("%s: no answer within %s", what, timeout)
	}
	return fails("%s: %s", what, reason(err))
}

// reason returns an error's text without our own port and without the request. So equal failures have equal texts and
// are counted together.
func reason(err error) string {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		without := *op
		without.Source = nil
		return without.Error()
	}
	return err.Error()
}
