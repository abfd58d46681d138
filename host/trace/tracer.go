package trace

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Config describes the collector and the share of traces that are sent.
type Config struct {
	Endpoint   string // of the collector: host:port
	PerMillion int32  // the share of pods, and of requests without a trace of their own, that is sampled
	Node       string
	Version    string
	Log        *slog.Logger
}

// Kind says which end of a call a span is.
type Kind = tracepb.Span_SpanKind

// The kinds that the agent uses.
const (
	Internal Kind = tracepb.Span_SPAN_KIND_INTERNAL
	Server   Kind = tracepb.Span_SPAN_KIND_SERVER
	Client   Kind = tracepb.Span_SPAN_KIND_CLIENT
)

// queued limits the spans that wait for the collector: a burst of a hundred pods.
const queued = 4096

// Tracer makes spans and sends them to a collector. Its methods may be called from any goroutine.
type Tracer struct {
	config    Config
	conn      *grpc.ClientConn
	collector collectorpb.TraceServiceClient
	queue     chan *Span
	dropped   atomic.Uint64
}

// New makes a tracer; Run sends its spans. A missing collector is no error.
func New(c Config) (*Tracer, error) {
	conn, err := grpc.NewClient(c.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("set up connection to the collector of traces %q: %w", c.Endpoint, err)
	}
	return &Tracer{
		config: c, conn: conn, collector: collectorpb.NewTraceServiceClient(conn), queue: make(chan *Span, queued),
	}, nil
}

// Span is something that takes time. Its methods may be called on nil.
type Span struct {
	tracer     *Tracer
	at         Parent // its trace and its own number
	parent     [8]byte
	name       string
	kind       Kind
	begin, end time.Time
	attributes []slog.Attr
	links      []Parent
	failure    string // empty after a success
}

// Request returns the trace that a request belongs to: the one that it came with, or
// its own.
func (t *Tracer) Request(traceparent string) Parent {
	if p, ok := ParseParent(traceparent); ok {
		return p
	}
	p := Parent{Trace: newTrace()}
	p.Sampled = t.samples(p)
	return p
}

// Pod returns the trace of the pod with this UID.
func (t *Tracer) Pod(uid string) Parent {
	p := podParent(uid)
	p.Sampled = t.samples(p)
	return p
}

// samples reports whether a trace is sampled, by its number. Some bits of a UUID are not random; they are not among the
// first six bytes.
func (t *Tracer) samples(p Parent) bool {
	const most = 1 << 48
	number := binary.BigEndian.Uint64(p.Trace[:8]) >> 16
	return number < uint64(t.config.PerMillion)*(most/1_000_000) || t.config.PerMillion >= 1e6
}

// Start begins a span below the one of ctx. It returns nil if ctx has none, or one of a trace that is not sampled.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind, attributes ...slog.Attr) (context.Context, *Span) {
	parent := parentOf(ctx)
	if !parent.Sampled {
		return ctx, nil
	}
	s := &Span{
		tracer: t, at: Parent{Trace: parent.Trace, Span: newSpan(), Sampled: true}, parent: parent.Span,
		name: name, kind: kind, begin: time.Now(), attributes: attributes,
	}
	return WithParent(ctx, s.at), s
}

// At returns the parent for the parts of the span.
func (s *Span) At() Parent {
	if s == nil {
		return Parent{}
	}
	return s.at
}

// End ends the span, as a failure if there is an error.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	s.end = time.Now()
	if err != nil {
		s.failure = err.Error()
	}
	s.tracer.put(s)
}

// Whole sends the first span of a trace, which contains the others, once it is over. causes are the spans that led to
// it.
func (t *Tracer) Whole(at Parent, name string, begin, end time.Time, causes []Parent, attributes ...slog.Attr) {
	if !at.Sampled {
		return
	}
	t.put(&Span{tracer: t, at: at, name: name, kind: Internal, begin: begin, end: end, links: causes, attributes: attributes})
}

func (t *Tracer) put(s *Span) {
	select {
	case t.queue <- s:
	default:
		t.dropped.Add(1)
	}
}

// Dropped counts the spans that were not sent to the collector.
func (t *Tracer) Dropped() uint64 { return t.dropped.Load() }

// Close ends the connection.
func (t *Tracer) Close() error {
	if err := t.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to the collector of traces: %w", err)
	}
	return nil
}
