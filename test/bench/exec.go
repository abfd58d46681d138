package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "nodal/api/gen/node/v1"
)

// exec times a command that does nothing, over every protocol.
func (b *suite) exec(ctx context.Context) error {
	pods := map[*column]pod{}
	err := b.each(func(c *column) error {
		p := b.newPods(c, 1)[0]
		p.image, p.command, p.args = c.rt.Image("busybox"), []string{"sleep"}, []string{"3600"}
		pods[c] = p
		_, err := c.run(ctx, p)
		return err
	})
	if err != nil {
		return err
	}
	ways := []struct {
		what string
		run  command
		aim  aim
	}{
		{"ExecSync", execSync, aim{}},
		{"gRPC", runGRPC, timesRaw(1 / 0.9)},
		{"POST /run", runPath, aim{}},
		{"a gRPC stream", runStream, aim{}},
	}
	took := make([]samples, len(ways))
	for range 2 * b.sizes.singles {
		for i, w := range ways {
			if took[i] == nil {
				took[i] = samples{}
			}
			if err := b.command(ctx, pods, w.run, took[i]); err != nil {
				return err
			}
		}
	}
	for i, w := range ways[1:] {
		mine := took[i+1]
		mine[rawColumn] = took[0][rawColumn]
		b.add("run true by "+w.what+" (raw: ExecSync)", "ms", mine.p50(), w.aim)
	}
	return b.each(func(c *column) error { return c.clear(ctx, pods[c]) })
}

// command runs true in a pod.
type command func(ctx context.Context, c *column, p pod) error

func (b *suite) command(ctx context.Context, pods map[*column]pod, run command, took samples) error {
	return b.each(func(c *column) error {
		began := time.Now()
		err := run(ctx, c, pods[c])
		if errors.Is(err, errNoSuchWay) {
			return nil
		}
		took.add(c.name, time.Since(began))
		return err
	})
}

func execSync(ctx context.Context, c *column, p pod) error {
	r, ok := c.kubelet.(*raw)
	if !ok {
		return errNoSuchWay
	}
	state, err := r.state(p.name)
	if err != nil {
		return err
	}
	reply, err := r.cri.ExecSync(ctx, &runtimev1.ExecSyncRequest{ContainerId: state.container, Cmd: []string{"true"}, Timeout: 30})
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return exitCode(reply.ExitCode)
}

func runGRPC(ctx context.Context, c *column, p pod) error {
	agent, ok := c.kubelet.(*nodal)
	if !ok {
		return errNoSuchWay
	}
	reply, err := agent.exec.Run(ctx, &nodev1.RunRequest{Namespace: namespace, Name: p.name, Container: p.name, Command: []string{"true"}})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return exitCode(reply.ExitCode)
}

func runPath(ctx context.Context, c *column, p pod) error {
	if c.process == nil {
		return errNoSuchWay
	}
	_, err := c.web.drain(ctx, http.MethodPost, fmt.Sprintf("%s/run/%s/%s%s/%s?cmd=true", c.web.secure, namespace, p.name, c.suffix, p.name))
	return err
}

func runStream(ctx context.Context, c *column, p pod) error {
	agent, ok := c.kubelet.(*nodal)
	if !ok {
		return errNoSuchWay
	}
	stream, err := agent.exec.Exec(ctx)
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	start := &nodev1.ExecStart{Namespace: namespace, Name: p.name, Container: p.name, Command: []string{"true"}}
	if err := stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	var code int32 = -1
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return exitCode(code)
		}
		if err != nil {
			return fmt.Errorf("exec: %w", err)
		}
		if end, ok := reply.Output.(*nodev1.ExecResponse_ExitCode); ok {
			code = end.ExitCode
		}
	}
}

func exitCode(code int32) error {
	if code != 0 {
		return fmt.Errorf("true ended with code %d", code)
	}
	return nil
}
