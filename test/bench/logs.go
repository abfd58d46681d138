package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "nodal/api/gen/node/v1"
)

const megabyte = 1e6

// reader reads the log of a pod to its end and returns the size of its text.
type reader func(ctx context.Context, c *column, p pod) (int64, error)

// logs times the reading of a long log, over every protocol. It counts the text that the container
// wrote, without the marks of the runtime before each line.
func (b *suite) logs(ctx context.Context) error {
	pods := map[*column]pod{}
	err := b.each(func(c *column) error {
		p := b.newPods(c, 1)[0]
		p.args, p.once = []string{"log", strconv.Itoa(b.sizes.logBytes)}, true
		pods[c] = p
		if err := c.Post(ctx, p); err != nil {
			return err
		}
		return c.truth.logged(ctx, p)
	})
	if err != nil {
		return err
	}
	ways := []way{
		{"the file", readFile, aim{}},
		{"REST, socket", readSocket, atLeast(500, "MB/s")},
		{"REST, TLS", readREST, aim{}},
		{"/containerLogs, TLS", readContainerLogs, aim{}},
		{"gRPC, socket", readGRPC, aim{}},
	}
	best := make([]map[string]float64, len(ways))
	for range b.sizes.repeats {
		for i, w := range ways {
			if best[i] == nil {
				best[i] = map[string]float64{}
			}
			if err := b.throughput(ctx, pods, w.read, best[i]); err != nil {
				return err
			}
		}
	}
	for i, w := range ways[1:] {
		speed := best[i+1]
		speed[rawColumn] = best[0][rawColumn]
		b.add(fmt.Sprintf("log of %d MB by %s (raw: the file)", b.sizes.logBytes/megabyte, w.what), "MB/s", speed, w.aim)
	}
	return b.each(func(c *column) error { return c.clear(ctx, pods[c]) })
}

// way is one way to read a log; the first of the list is the baseline.
type way struct {
	what string
	read reader
	aim  aim
}

var errNoSuchWay = errors.New("this column has no such way")

// throughput keeps the best try, which other work disturbed least.
func (b *suite) throughput(ctx context.Context, pods map[*column]pod, read reader, best map[string]float64) error {
	return b.each(func(c *column) error {
		began := time.Now()
		n, err := read(ctx, c, pods[c])
		if errors.Is(err, errNoSuchWay) {
			return nil
		}
		if err == nil && n < int64(b.sizes.logBytes) {
			err = fmt.Errorf("a log of %d bytes came as %d", b.sizes.logBytes, n)
		}
		if err != nil {
			return err
		}
		best[c.name] = max(best[c.name], float64(b.sizes.logBytes)/megabyte/time.Since(began).Seconds())
		return nil
	})
}

// readFile reads the file as cat does.
func readFile(ctx context.Context, c *column, p pod) (int64, error) {
	if c.process != nil {
		return 0, errNoSuchWay
	}
	path, _, err := c.truth.log(ctx, p)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open the log: %w", err)
	}
	defer f.Close()
	return discard(struct{ io.Reader }{f})
}

func readSocket(ctx context.Context, c *column, p pod) (int64, error) {
	agent, ok := c.kubelet.(*nodal)
	if !ok {
		return 0, errNoSuchWay
	}
	w := &web{client: agent.socket}
	return w.drain(ctx, http.MethodGet, "http://socket"+restLogs(p))
}

func readREST(ctx context.Context, c *column, p pod) (int64, error) {
	if _, ok := c.kubelet.(*nodal); !ok {
		return 0, errNoSuchWay
	}
	return c.web.drain(ctx, http.MethodGet, c.web.secure+restLogs(p))
}

func restLogs(p pod) string {
	return fmt.Sprintf("/v1/namespaces/%s/pods/%s/containers/%s/logs", namespace, p.name, p.name)
}

func readContainerLogs(ctx context.Context, c *column, p pod) (int64, error) {
	if c.process == nil {
		return 0, errNoSuchWay
	}
	return c.web.drain(ctx, http.MethodGet, fmt.Sprintf("%s/containerLogs/%s/%s%s/%s", c.web.secure, namespace, p.name, c.suffix, p.name))
}

func readGRPC(ctx context.Context, c *column, p pod) (int64, error) {
	agent, ok := c.kubelet.(*nodal)
	if !ok {
		return 0, errNoSuchWay
	}
	stream, err := agent.logs.ReadLogs(ctx, &nodev1.ReadLogsRequest{Namespace: namespace, Name: p.name, Container: p.name})
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	var total int64
	for {
		body, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("read the log: %w", err)
		}
		total += int64(len(body.Data))
	}
}

// log returns the log file of a pod's container, and whether the container has ended.
func (t truth) log(ctx context.Context, p pod) (path string, ended bool, err error) {
	filter := &runtimev1.ContainerFilter{LabelSelector: map[string]string{containerLabel: p.name}}
	reply, err := t.cri.ListContainers(ctx, &runtimev1.ListContainersRequest{Filter: filter})
	if err != nil || len(reply.Containers) == 0 {
		return "", false, err
	}
	got, err := t.cri.ContainerStatus(ctx, &runtimev1.ContainerStatusRequest{ContainerId: reply.Containers[0].Id})
	if err != nil {
		return "", false, fmt.Errorf("inspect the container of pod %s: %w", p.name, err)
	}
	return got.Status.LogPath, got.Status.State == runtimev1.ContainerState_CONTAINER_EXITED, nil
}

// logged waits until a pod's container has ended and its log is complete.
func (t truth) logged(ctx context.Context, p pod) error {
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		_, ended, err := t.log(ctx, p)
		return ended, err
	})
	if err != nil {
		return fmt.Errorf("wait for the log of pod %s: %w", p.name, err)
	}
	return nil
}
