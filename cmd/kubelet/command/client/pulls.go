package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// pullsInterval keeps two looks at the pulls apart.
const pullsInterval = 500 * time.Millisecond

// follow shows the pulls until none is left: bars in place on a terminal, elsewhere a line for each change.
func (i *imaging) follow(ctx context.Context, s *session) error {
	_, onTerminal := terminal(s.Out)
	shown := &bars{onTerminal: onTerminal, said: map[string]string{}}
	tick := time.NewTicker(pullsInterval)
	defer tick.Stop()
	for {
		reply, err := i.client.ListPulls(ctx, &nodev1.ListPullsRequest{})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(s.Out, shown.next(reply.GetPulls())); err != nil {
			return err
		}
		if len(reply.GetPulls()) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// bars shows how far pulls are.
type bars struct {
	onTerminal bool
	lines      int               // that are on the terminal
	said       map[string]string // of each reference, elsewhere
}

// next returns what to write for the present pulls.
func (b *bars) next(pulls []*nodev1.Pull) string {
	var out strings.Builder
	if b.onTerminal && b.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\x1b[J", b.lines) // back to the first of our lines, and clear them
	}
	b.lines = 0
	for _, p := range pulls {
		line := progressOf(p)
		if b.onTerminal {
			line = shortened(line, tableWidth)
		} else if b.said[p.GetReference()] == line {
			continue
		}
		b.said[p.GetReference()] = line
		out.WriteString(line + "\n")
		b.lines++
	}
	return out.String()
}

// barWidth is the number of characters in a bar.
const barWidth = 24

// progressOf shows a pull as a line.
func progressOf(p *nodev1.Pull) string {
	present, total := p.GetBytes().GetPresent(), p.GetBytes().GetTotal()
	how := "queued"
	switch {
	case total > 0:
		done := int(min(barWidth, max(0, present*barWidth/total)))
		how = fmt.Sprintf("[%s%s] %d%% %s of %s", strings.Repeat("#", done), strings.Repeat(".", barWidth-done),
			min(100, max(0, present*100/total)), sizeOf(present), sizeOf(total))
	case p.GetBeganAt() != nil:
		how = "pulling"
	}
	return cell(p.GetReference() + " " + how)
}
