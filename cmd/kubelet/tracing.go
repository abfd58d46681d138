package main

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
	"nodal/server"
)

// tracing tells of pods' steps, of the runtime's calls that they make, and of
// requests. A nil one is off: then nobody is handed anything to call.
type tracing struct {
	spans   *trace.Tracer
	started time.Time

	mu      sync.Mutex
	stories map[types.UID]*story
}

// story is what has to be known to tell of a pod as a whole.
type story struct {
	request trace.Parent // that posted the pod; zero: nobody knows
	told    bool
}

var _ reconciler.Tracer = (*tracing)(nil)

func newTracing(cfg *config.Config, log *slog.Logger) (*tracing, error) {
	if cfg.Tracing == nil {
		return nil, nil
	}
	spans, err := trace.New(trace.Config{
		Endpoint: cfg.Tracing.Endpoint, PerMillion: cfg.Tracing.PerMillion, Node: cfg.NodeName, Version: version, Log: log,
	})
	if err != nil {
		return nil, err
	}
	return &tracing{spans: spans, started: time.Now(), stories: map[types.UID]*story{}}, nil
}

func (t *tracing) run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.spans.Run(ctx)
	return t.spans.Close()
}

func (t *tracing) tracer() reconciler.Tracer {
	if t == nil {
		return nil
	}
	return t
}

// Step is a part of the pod's trace.
func (t *tracing) Step(ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action) (context.Context, func(error)) {
	at := t.spans.Pod(string(pod.UID()))
	if !at.Sampled {
		return ctx, func(error) {}
	}
	ctx, span := t.spans.Start(trace.WithParent(ctx, at), node.KindOf(a), trace.Internal, append(ofPod(pod), ofAction(got, a)...)...)
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

// Ready ends what the pod's trace is about.
func (t *tracing) Ready(pod *node.Pod) { t.whole(pod) }

// whole tells of the pod's start as a whole, once. A pod that was there before the
// agent has been told of, or never will be.
func (t *tracing) whole(pod *node.Pod) {
	at := t.spans.Pod(string(pod.UID()))
	if !at.Sampled || pod.Accepted.Before(t.started) {
		return
	}
	t.mu.Lock()
	s := t.story(pod.UID())
	told, request := s.told, s.request
	s.told = true
	t.mu.Unlock()
	if told {
		return
	}
	var causes []trace.Parent
	if request != (trace.Parent{}) {
		causes = append(causes, request)
	}
	t.spans.Whole(at, "StartPod", pod.Accepted, time.Now(), causes, ofPod(pod)...)
}

// story is called with mu held.
func (t *tracing) story(uid types.UID) *story {
	s := t.stories[uid]
	if s == nil {
		s = &story{}
		t.stories[uid] = s
	}
	return s
}

func ofPod(pod *node.Pod) []slog.Attr {
	key := pod.Key()
	return []slog.Attr{
		slog.String("k8s.namespace.name", key.Namespace), slog.String("k8s.pod.name", key.Name), slog.String("k8s.pod.uid", string(pod.UID())),
	}
}

// ofAction tells which run of which container an action is about.
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

// calls follow what is asked of the runtime on behalf of a step or a request.
func (t *tracing) calls() func(context.Context, string) (context.Context, func(error)) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context, method string) (context.Context, func(error)) {
		ctx, span := t.spans.Start(ctx, strings.TrimPrefix(method, "/"), trace.Client, slog.String("rpc.system", "grpc"))
		if span != nil { // for a runtime that tells of its own part
			ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", span.At().String())
		}
		return ctx, span.End
	}
}

// requests follow what clients ask for, and remember which of them brought pods.
func (t *tracing) requests() server.Trace {
	if t == nil {
		return nil
	}
	return func(ctx context.Context, name, traceparent string, about ...slog.Attr) (context.Context, func(any, error)) {
		ctx, span := t.spans.Start(trace.WithParent(ctx, t.spans.Request(traceparent)), name, trace.Server, about...)
		return ctx, func(answer any, err error) {
			if span != nil && err == nil {
				t.remember(answer, span.At())
			}
			span.End(err)
		}
	}
}

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
