package probe

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"nodal/node"
)

// Config holds the parts of a prober.
type Config struct {
	Exec Execer
	Tell func(node.Event) // reports answers that are no success
}

// Execer runs commands in containers. An error that wraps context.DeadlineExceeded means that the command has exceeded
// its time. Any other error says nothing about the container.
type Execer interface {
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, exit int32, err error)
}

// Prober runs the probes of all pods.
type Prober struct {
	Config
	began   time.Time
	results chan node.Probed
	inside  reach // of pods with a network of their own
	outside reach // of pods in the host's network

	mu     sync.Mutex
	pods   map[node.Key]map[name]*inquiry
	closed bool
}

// reach holds the connections that the probes of a pod may use.
type reach struct {
	dial  dialFunc
	http  http.RoundTripper
	http2 http.RoundTripper // over plain connections
}

// name identifies a probe within a pod.
type name struct {
	id   string
	kind node.ProbeKind
}

// inquiry is one probe with its timetable and its answers so far.
type inquiry struct {
	node.Probe
	key    node.Key
	streak streak
	news   news

	// The prober's lock guards what follows.
	timer  *time.Timer
	due    time.Time
	cancel context.CancelFunc // of the question under way
	gone   bool
	count  node.ProbeCount
}

// New makes a prober without probes.
func New(c Config) *Prober {
	return &Prober{
		Config: c, began: time.Now(), results: make(chan node.Probed),
		inside: newReach(false), outside: newReach(true),
		pods: map[node.Key]map[name]*inquiry{},
	}
}

// Results returns the channel of news about containers. The news waits for a reader.
func (p *Prober) Results() <-chan node.Probed { return p.results }

// Set replaces the probes of a pod that have to run.
func (p *Prober) Set(key node.Key, probes []node.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.pods[key]
	if p.closed || len(old) == 0 && len(probes) == 0 {
		return
	}
	next := make(map[name]*inquiry, len(probes))
	for _, probe := range probes {
		n := name{probe.ID, probe.Kind}
		if next[n] = old[n]; next[n] == nil {
			next[n] = p.begin(key, probe)
		}
	}
	for n, q := range old {
		if next[n] == nil {
			q.end()
		}
	}
	p.pods[key] = next
	if len(next) == 0 {
		delete(p.pods, key)
	}
}

// Close ends all probes. It drops answers that are under way.
func (p *Prober) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, inquiries := range p.pods {
		for _, q := range inquiries {
			q.end()
		}
	}
	p.pods, p.closed = nil, true
}

// begin plans the first question of a probe.
func (p *Prober) begin(key node.Key, probe node.Probe) *inquiry {
	now := time.Now()
	q := &inquiry{Probe: probe, key: key, news: newNews(), due: p.first(probe, now)}
	q.count = node.ProbeCount{Key: key, UID: probe.UID, Container: probe.Container, Kind: probe.Kind}
	q.timer = time.AfterFunc(q.due.Sub(now), func() { p.ask(q) })
	return q
}

func (q *inquiry) end() {
	q.gone = true
	q.timer.Stop()
	if q.cancel != nil {
		q.cancel()
	}
}

// first returns the time of a probe's first question, which is the end of its initial delay. The probes of runs that
// the agent found when it started are spread.
func (p *Prober) first(probe node.Probe, now time.Time) time.Time {
	delay, every := seconds(probe.Spec.InitialDelaySeconds), period(probe)
	due := probe.StartedAt.Add(delay)
	switch {
	case due.After(now.Add(delay)): // the run began in the future: the clock was set back
		return now.Add(delay)
	case due.After(now):
		return now.Add(due.Sub(now)) // by the monotonic clock: all that follows is computed from it
	case probe.StartedAt.Before(p.began) && now.Sub(p.began) < every:
		return now.Add(rand.N(every))
	}
	return now
}

// ask asks one question and weighs the answer.
func (p *Prober) ask(q *inquiry) {
	ctx, wanted := p.enter(q)
	if !wanted {
		return
	}
	begin := time.Now()
	a := p.answer(ctx, q.Probe)
	if ctx.Err() != nil {
		return // the prober is closed, and the answer has no reader
	}
	now := time.Now()
	p.tally(q, a, now.Sub(begin))
	if e, ok := q.news.of(q, a, now); ok {
		p.Tell(e)
	}
	if word, ok := q.streak.add(q.Spec, a); ok {
		select {
		case p.results <- node.Probed{Key: q.key, Container: q.Container, ID: q.ID, Kind: q.Kind, OK: word == passing, At: now}:
		case <-ctx.Done():
			return
		}
		if q.Kind == node.StartupProbe || q.Kind == node.LivenessProbe && word == failing {
			p.leave(q) // there is nothing more to learn of this run
			return
		}
	}
	p.again(q)
}

func (p *Prober) tally(q *inquiry, a answer, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch a.verdict {
	case passing:
		q.count.Successes++
		q.count.Took.Add(took)
	case failing:
		q.count.Failures++
	default:
		q.count.Unknown++
	}
}

// Counts returns the answers of the probes that have to run, in no order. A count ends with
// its run, and that of a startup probe with its success.
func (p *Prober) Counts() []*node.ProbeCount {
	p.mu.Lock()
	defer p.mu.Unlock()
	var counts []*node.ProbeCount
	for _, inquiries := range p.pods {
		for _, q := range inquiries {
			count := q.count
			counts = append(counts, &count)
		}
	}
	return counts
}

func (p *Prober) enter(q *inquiry) (ctx context.Context, wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.gone {
		return nil, false
	}
	ctx, q.cancel = context.WithCancel(context.Background())
	return ctx, true
}

func (p *Prober) leave(q *inquiry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.cancel()
}

// again plans the next question: a period after this one was due, or now if the answer took longer.
func (p *Prober) again(q *inquiry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.cancel()
	if q.gone {
		return
	}
	now := time.Now()
	if q.due = q.due.Add(period(q.Probe)); q.due.Before(now) {
		q.due = now
	}
	q.timer.Reset(q.due.Sub(now))
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func period(probe node.Probe) time.Duration {
	return max(time.Second, seconds(probe.Spec.PeriodSeconds))
}
