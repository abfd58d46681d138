package probe

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
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
	if probe.Spec.HTTPGet != nil {
		return to.get(ctx, probe, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case probe.Spec.TCPSocket != nil:
		return to.connect(ctx, probe)
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
func broken(err error) answer {
	if errors.Is(err, errForbidden) {
		return unasked(err)
	}
	return fails("%s", reason(err))
}

// reason returns an error's text without our own port. So equal failures have equal texts and are counted together.
func reason(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Source != nil {
		without := *op
		without.Source = nil
		return strings.Replace(err.Error(), op.Error(), without.Error(), 1)
	}
	return err.Error()
}
