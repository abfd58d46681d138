package tracing

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
	"nodal/host/trace"
	"nodal/node"
	"nodal/reconciler"
	requests "nodal/server/trace"
)

// Hooks are the functions that the agent's parts call for each span. Without a collector all but Run are nil, so that
// nothing is called.
type Hooks struct {
	Steps    reconciler.Tracer
	Calls    func(ctx context.Context, method string) (context.Context, func(error)) // of the runtime
	Requests requests.Trace                                                          // to the node
	Run      func(context.Context) error                                             // sends until the context ends
}

// New returns the hooks for a collector. Without a configuration it returns none.
func New(settings *config.Tracing, nodeName, version string, log *slog.Logger) (Hooks, error) {
	if settings == nil {
		return Hooks{Run: func(context.Context) error { return nil }}, nil
	}
	spans, err := trace.New(trace.Config{
		Endpoint: settings.Endpoint, PerMillion: settings.PerMillion, Node: nodeName, Version: version, Log: log,
	})
	if err != nil {
		return Hooks{}, err
	}
	t := &tracing{spans: spans, started: time.Now(), stories: map[types.UID]*story{}}
	run := func(ctx context.Context) error {
		spans.Run(ctx)
		return spans.Close()
	}
	return Hooks{Steps: t, Calls: t.call, Requests: t.request, Run: run}, nil
}

// tracing makes a trace of each pod, with spans for its steps and for the calls of the runtime that they make.
type tracing struct {
	spans   *trace.Tracer
	started time.Time

	mu      sync.Mutex
	stories map[types.UID]*story
}

var _ reconciler.Tracer = (*tracing)(nil)

// story is the state of a pod's trace.
type story struct {
	request trace.Parent // that posted the pod; zero if unknown
	sent    bool         // the span of the pod as a whole was sent
}

// Step begins the span of an action, as a part of the pod's trace.
func (t *tracing) Step(
	ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action,
) (context.Context, func(error)) {
	at := t.spans.Pod(string(pod.UID()))
	if !at.Sampled {
		return ctx, func(error) {}
	}
	about := append(ofPod(pod), ofAction(got, a)...)
	ctx, span := t.spans.Start(trace.WithParent(ctx, at), node.KindOf(a), trace.Internal, about...)
	return ctx, func(err error) {
		span.End(err)
		_, ended := a.(node.SetResult)
		_, gone := a.(node.Release)
		if ended || gone {
			t.whole(pod)
		}
		if gone {
			t.mu.Lock()
			delete(t.stories, pod.UID())
			t.mu.Unlock()
		}
	}
}

// Ready ends the span of the pod as a whole.
func (t *tracing) Ready(pod *node.Pod) { t.whole(pod) }

// whole sends the span of the pod's start as a whole, once. It sends none for a pod that is older than this process: an
// earlier one has sent it, or its beginning is lost.
func (t *tracing) whole(pod *node.Pod) {
	at := t.spans.Pod(string(pod.UID()))
	if !at.Sampled || pod.Accepted.Before(t.started) {
		return
	}
	t.mu.Lock()
	s := t.story(pod.UID())
	sent, request := s.sent, s.request
	s.sent = true
	t.mu.Unlock()
	if sent {
		return
	}
	var causes []trace.Parent
	if request != (trace.Parent{}) {
		causes = append(causes, request)
	}
	t.spans.Whole(at, "StartPod", pod.Accepted, time.Now(), causes, ofPod(pod)...)
}

// story returns the story of a pod. It is called with mu held.
func (t *tracing) story(uid types.UID) *story {
	s := t.stories[uid]
	if s == nil {
		s = &story{}
		t.stories[uid] = s
	}
	return s
}

// ofPod returns the attributes of a pod.
func ofPod(pod *node.Pod) []slog.Attr {
	key := pod.Key()
	return []slog.Attr{
		slog.String("k8s.namespace.name", key.Namespace),
		slog.String("k8s.pod.name", key.Name),
		slog.String("k8s.pod.uid", string(pod.UID())),
	}
}

// ofAction returns the attributes of the run that an action concerns.
func ofAction(got *node.Observed, a node.Action) []slog.Attr {
	var attributes []slog.Attr
	about := a.About()
	if about.Container != "" {
		attributes = append(attributes, slog.String("k8s.container.name", about.Container))
	}
	if attempt, ok := about.AttemptIn(got); ok {
		attributes = append(attributes, slog.Int64("attempt", int64(attempt)))
	}
	return attributes
}

// call begins the span of a call of the runtime, which a step or a request makes.
func (t *tracing) call(ctx context.Context, method string) (context.Context, func(error)) {
	ctx, span := t.spans.Start(ctx, strings.TrimPrefix(method, "/"), trace.Client, slog.String("rpc.system", "grpc"))
	if span != nil { // the runtime may add spans of its own
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", span.At().String())
	}
	return ctx, span.End
}

// request begins the span of a client's request, and remembers the requests that bring pods.
func (t *tracing) request(
	ctx context.Context, name, traceparent string, about ...slog.Attr,
) (context.Context, func(any, error)) {
	ctx, span := t.spans.Start(trace.WithParent(ctx, t.spans.Request(traceparent)), name, trace.Server, about...)
	return ctx, func(answer any, err error) {
		if span != nil && err == nil {
			t.remember(answer, span.At())
		}
		span.End(err)
	}
}

// remember stores the request as the cause of each pod that it created.
func (t *tracing) remember(reply any, request trace.Parent) {
	var outcomes []*nodev1.Outcome
	switch reply := reply.(type) {
	case *nodev1.ApplyResponse:
		outcomes = reply.GetOutcomes()
	case *nodev1.PutPodResponse:
		outcomes = []*nodev1.Outcome{reply.GetOutcome()}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range outcomes {
		made := o.GetResult() == nodev1.Result_RESULT_CREATED || o.GetResult() == nodev1.Result_RESULT_REPLACED
		if uid := o.GetUid(); made && uid != "" && t.spans.Pod(uid).Sampled {
			t.story(types.UID(uid)).request = request
		}
	}
}
