package probe

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"nodal/node"
)

// exec runs a command in the container: exit code 0 is a success.
func (p *Prober) exec(ctx context.Context, probe node.Probe, timeout time.Duration) answer {
	out, failed, code, err := p.Exec.ExecSync(ctx, probe.ID, probe.Spec.Exec.Command, timeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fails("command timed out: %q timed out after %s", strings.Join(probe.Spec.Exec.Command, " "), timeout)
	case unheard(err):
		return answer{}
	case err != nil:
		return unasked(err)
	case code != 0 && len(bytes.TrimSpace(out))+len(bytes.TrimSpace(failed)) == 0:
		return fails("the command ended with exit code %d", code) // Kubernetes gives no reason
	case code != 0:
		return fails("%s%s", out, failed)
	}
	return answer{verdict: passing}
}

// unheard reports whether an error means that the runtime or the container is away. Other parts report that.
func unheard(err error) bool {
	return errors.Is(err, node.ErrUnavailable) || errors.Is(err, node.ErrUnknown) || errors.Is(err, node.ErrNotFound)
}
