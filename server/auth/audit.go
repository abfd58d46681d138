package auth

import (
	"context"
	"log/slog"
	"time"
)

// call is one request on its way through, for the audit log.
type call struct {
	id      Identity
	verb    Verb
	path    string
	started time.Time
}

// auditBegin writes a line when an exec or the like begins, and nothing for other requests.
// It may last for hours, and the agent may end before it: then auditEnd writes no line.
func (a *Authenticator) auditBegin(ctx context.Context, c call) {
	if c.verb == Exec {
		a.auditLine(ctx, c, "started")
	}
}

// auditEnd writes the outcome of a request and its duration, and nothing for reads.
func (a *Authenticator) auditEnd(ctx context.Context, c call, outcome string) {
	if c.verb != Read {
		a.auditLine(ctx, c, outcome, slog.Duration("took", time.Since(c.started)))
	}
}

func (a *Authenticator) auditLine(ctx context.Context, c call, outcome string, more ...slog.Attr) {
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", append([]slog.Attr{
		slog.String("user", c.id.Name),
		slog.String("role", string(c.id.Role)),
		slog.String("via", c.id.Via),
		slog.String("verb", string(c.verb)),
		slog.String("path", c.path),
		slog.String("outcome", outcome),
	}, more...)...)
}
