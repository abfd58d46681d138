package probe

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// verdict is the meaning of an answer for a container.
type verdict uint8

const (
	nothing verdict = iota
	passing
	failing
)

// answer is the result of one question. The text names the fault, even if it does not count.
type answer struct {
	verdict verdict
	text    string
}

func fails(format string, args ...any) answer {
	return answer{failing, fmt.Sprintf(format, args...)}
}

// unasked returns the answer for a question that could not be asked.
func unasked(err error) answer { return answer{nothing, err.Error()} }

// streak counts equal answers in a row.
type streak struct {
	of    verdict
	count int32
	said  verdict // the last one that was delivered
}

// add counts an answer, and reports whether it is news: the threshold is reached, and the last news was different.
func (s *streak) add(spec *corev1.Probe, a answer) (verdict, bool) {
	if a.verdict == nothing {
		return nothing, false
	}
	if a.verdict != s.of {
		s.of, s.count = a.verdict, 0
	}
	s.count++
	threshold := spec.FailureThreshold
	if a.verdict == passing {
		threshold = spec.SuccessThreshold
	}
	if s.count < threshold || s.said == a.verdict {
		return nothing, false
	}
	s.said = a.verdict
	return a.verdict, true
}

// news turns failures into events: several at first, and then one a minute.
type news struct {
	limit  *rate.Limiter
	untold int32
}

const (
	tellAtOnce = 5
	tellEvery  = time.Minute
	longest    = 1 << 10 // bytes of an event's message
)

func newNews() news { return news{limit: rate.NewLimiter(rate.Every(tellEvery), tellAtOnce)} }

func (n *news) of(q *inquiry, a answer, now time.Time) (node.Event, bool) {
	if a.text == "" {
		return node.Event{}, false
	}
	n.untold++
	if !n.limit.AllowN(now, 1) {
		return node.Event{}, false
	}
	e := node.Event{
		Time: now, Warning: true, Reason: "Unhealthy", Key: q.key, UID: q.UID, Container: q.Container, Count: n.untold,
	}
	what := "failed"
	switch a.verdict {
	case passing:
		e.Reason, what = "ProbeWarning", "warning"
	case nothing:
		what = "errored and resulted in unknown state"
	}
	e.Message = fmt.Sprintf("%s probe %s: %s", q.Kind, what, short(a.text))
	n.untold = 0
	return e, true
}

// short cuts a text to the length that an event may have.
func short(text string) string {
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "?"))
}
