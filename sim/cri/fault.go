package cri

import (
	"cmp"
	"context"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// FaultKind is a way for a call to go wrong.
type FaultKind string

// The ways for a call to go wrong.
const (
	ErrorBefore FaultKind = "error-before" // no effect, an error
	ErrorAfter  FaultKind = "error-after"  // the effect, then an error all the same
	LostReply   FaultKind = "lost-reply"   // the effect, then silence until the client gives up
	Hang        FaultKind = "hang"         // no effect, silence until the client gives up
	Late        FaultKind = "late"         // silence until the client gave up; the effect comes Delay after that
	Delay       FaultKind = "delay"        // the effect and the reply come after Delay
	SlowReply   FaultKind = "slow-reply"   // the effect at once, its reply after Delay: what it says may be stale
)

// Rule selects unary calls and the way in which they go wrong.
type Rule struct {
	Method string                 // pattern of path.Match: "StartContainer", "List*", "*"
	Match  func(request any) bool // narrows the calls further; nil matches all
	Nth    int                    // only the nth matching call, counted from 1
	Every  int                    // each nth matching call; Nth and Every 0: all matching calls
	Kind   FaultKind
	Code   codes.Code    // of ErrorBefore and ErrorAfter; Unavailable unless set
	Delay  time.Duration // of Late, Delay and SlowReply
}

// Faults is a set of rules. The first that fires for a call decides; each
// counts the calls that it matches. Choose decides for the calls that no rule fires
// for; nil lets them pass.
type Faults struct {
	Rules  []Rule
	Choose func(method string) Rule
}

// Inject replaces the rules and resets their counts. No rules: no faults.
func (s *Server) Inject(faults Faults) { s.faults.replace(faults) }

type injector struct {
	mu     sync.Mutex
	rules  []Rule
	seen   []int
	choose func(method string) Rule
}

func (i *injector) replace(faults Faults) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules, i.choose = faults.Rules, faults.Choose
	i.seen = make([]int, len(faults.Rules))
}

// next counts the call and returns the rule that fires, or the zero Rule.
func (i *injector) next(method string, request any) Rule {
	i.mu.Lock()
	defer i.mu.Unlock()
	var fired Rule
	for n, rule := range i.rules {
		if !rule.matches(method, request) {
			continue
		}
		i.seen[n]++
		if fired.Kind == "" && rule.fires(i.seen[n]) {
			fired = rule
		}
	}
	if fired.Kind == "" && i.choose != nil {
		return i.choose(method)
	}
	return fired
}

func (r Rule) matches(method string, request any) bool {
	if ok, err := path.Match(r.Method, method); err != nil || !ok {
		return false
	}
	return r.Match == nil || r.Match(request)
}

func (r Rule) fires(call int) bool {
	switch {
	case r.Nth > 0:
		return call == r.Nth
	case r.Every > 0:
		return call%r.Every == 0
	}
	return true
}

func (r Rule) err(method string) error {
	return status.Errorf(cmp.Or(r.Code, codes.Unavailable), "injected %s of %s", r.Kind, method)
}

// intercept applies the fault that the rules choose for a call.
func (s *Server) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	method := path.Base(info.FullMethod)
	rule := s.faults.next(method, request)
	switch rule.Kind {
	case ErrorBefore:
		return nil, rule.err(method)
	case Hang:
		return nil, hang(ctx)
	case Late, Delay:
		return s.postpone(ctx, rule, method, func(ctx context.Context) (any, error) { return handle(ctx, request) })
	}

	reply, err := handle(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case rule.Kind == ErrorAfter:
		return nil, rule.err(method)
	case rule.Kind == LostReply:
		return nil, hang(ctx)
	case rule.Kind == SlowReply:
		return reply, sleep(ctx, rule.Delay)
	}
	return reply, nil
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// postpone runs the call after a delay, which may start when the client gives up.
func (s *Server) postpone(
	ctx context.Context, rule Rule, method string, run func(context.Context) (any, error),
) (any, error) {
	wait := func() error { return sleep(ctx, rule.Delay) }
	if rule.Kind == Late {
		detached, cancel := s.detach(ctx)
		defer cancel()
		gone := ctx.Done()
		wait = func() error {
			<-gone
			return sleep(detached, rule.Delay)
		}
		ctx = detached
	}
	// A creating call waits by itself, because it holds its name meanwhile.
	if method == "RunPodSandbox" || method == "CreateContainer" {
		return run(context.WithValue(ctx, stallKey{}, wait))
	}
	if err := wait(); err != nil {
		return nil, err
	}
	return run(ctx)
}

// detach returns a context that ends with the runtime's process, not with the client's call.
func (s *Server) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	life := s.currentLife()
	go func() {
		select {
		case <-life:
			cancel()
		case <-detached.Done():
		}
	}()
	return detached, cancel
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

type stallKey struct{}

// stall waits for the delay that postpone left to a creating call.
func stall(ctx context.Context) error {
	wait, ok := ctx.Value(stallKey{}).(func() error)
	if !ok {
		return nil
	}
	return wait()
}
