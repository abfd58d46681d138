package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"nodal/node"
)

const hookAgent = "kube-lifecycle/" + node.KubernetesMinor

var (
	errNoHook    = errors.New("there is nothing to run: hooks have no tcpSocket")
	errNoAddress = errors.New("the pod's address is not known")
)

// Run runs a hook to its end. The hook has certainly failed if the error is a *node.Failure; after another error its
// end is unknown. Its output and answer may be secret, and are discarded.
func (p *Prober) Run(ctx context.Context, key node.Key, hook node.RunHook) error {
	limit := ctx
	if !hook.Until.IsZero() {
		var cancel context.CancelFunc
		limit, cancel = context.WithDeadline(ctx, hook.Until)
		defer cancel()
	}
	err := p.run(limit, key, hook)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limit.Err() != nil, unheard(err) && due(limit):
		return hook.Failure(errors.New("it did not end within the grace period"))
	case hook.Spec.Exec != nil && unheard(err):
		return fmt.Errorf("run the %s hook of container %s: %w", hook.Kind, hook.Container, err)
	}
	return hook.Failure(err)
}

// due reports whether a deadline is over, or nearly so. The runtime knows it too, and may break off a moment before us.
func due(ctx context.Context) bool {
	const moment = 100 * time.Millisecond
	deadline, bound := ctx.Deadline()
	return bound && time.Until(deadline) < moment
}

func (p *Prober) run(ctx context.Context, key node.Key, hook node.RunHook) error {
	switch spec := hook.Spec; {
	case spec.Exec != nil:
		return p.command(ctx, hook)
	case spec.HTTPGet != nil:
		return p.request(ctx, key, hook)
	case spec.Sleep != nil:
		return sleep(ctx, node.Seconds(spec.Sleep.Seconds))
	}
	return errNoHook
}

// command runs a command in the container, for as long as it takes.
func (p *Prober) command(ctx context.Context, hook node.RunHook) error {
	timeout := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok { // the runtime then ends the command too
		timeout = max(time.Second, time.Until(deadline))
	}
	_, _, code, err := p.Exec.ExecSync(ctx, hook.ID, hook.Spec.Exec.Command, timeout)
	if err == nil && code != 0 {
		err = fmt.Errorf("the command ended with exit code %d", code)
	}
	return err
}

// request makes an HTTP request; any answer is a success. If the server answers HTTPS in plain text, request repeats
// it in plain text, as Kubernetes does.
func (p *Prober) request(ctx context.Context, key node.Key, hook node.RunHook) error {
	get := hook.Spec.HTTPGet
	if get.Host == "" && hook.Address == "" {
		return errNoAddress
	}
	at, err := place(hook.Address, hook.Ports, get.Host, get.Port)
	if err != nil {
		return err
	}
	to := p.inside
	if hook.HostNetwork {
		to = p.outside
	}
	request, err := newRequest(ctx, get, at, hookAgent)
	if err != nil {
		return err
	}
	err = call(to.client(get), request)
	if !errors.Is(err, http.ErrSchemeMismatch) {
		return err
	}
	request = request.Clone(ctx)
	request.URL.Scheme = "http"
	request.Header.Del("Authorization")
	if err = call(to.client(get), request); err == nil {
		p.Tell(node.Event{
			Time: time.Now(), Warning: true, Reason: "LifecycleHTTPFallback", Key: key, UID: hook.UID, Container: hook.Container,
			Message: fmt.Sprintf("the %s hook of container %s asks for HTTPS, but its server answers HTTP; used HTTP", hook.Kind, hook.Container),
		})
	}
	return err
}

func call(client *http.Client, request *http.Request) error {
	response, err := client.Do(request)
	if err != nil {
		return err // which names the URL
	}
	defer response.Body.Close()
	// Read the answer: a server that is cut off in the middle of one would log an error.
	_, _ = io.CopyN(io.Discard, response.Body, mostBody)
	return nil
}

// sleep waits for a time, or until the context ends with the container.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
