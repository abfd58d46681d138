package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Kubectl returns a command that runs kubectl as the admin.
func (p *Plane) Kubectl(ctx context.Context, args ...string) (*exec.Cmd, error) {
	config, err := p.Kubeconfig(Admin)
	cmd := exec.CommandContext(ctx, p.Program("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+p.Dir)
	return cmd, err
}

func (p *Plane) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	cmd, err := p.Kubectl(ctx, args...)
	if err != nil {
		return "", err
	}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}
