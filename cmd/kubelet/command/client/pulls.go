package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
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

// pull pulls images one after the other, and shows how far each is. It goes on after a failure.
func (i *imaging) pull(ctx context.Context, s *session, names []string) error {
	var failed error
	for _, name := range names {
		image, err := i.pullOne(ctx, s, name)
		if err != nil {
			if failed != nil {
				s.note(failed)
			}
			failed = err
			continue
		}
		fmt.Fprintln(s.Out, cell(fmt.Sprintf("%s %s %s", name, image.GetId(), sizeOf(image.GetSize()))))
	}
	return failed
}

// pullOne pulls an image. Its progress goes to standard error: the image is the output.
func (i *imaging) pullOne(ctx context.Context, s *session, name string) (*nodev1.Image, error) {
	ref, err := node.NormalReference(name)
	if err != nil {
		return nil, misuse("%v", err)
	}
	type end struct {
		reply *nodev1.PullImageResponse
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		reply, err := i.client.PullImage(ctx, &nodev1.PullImageRequest{Image: name})
		ended <- end{reply, err}
	}()
	_, onTerminal := terminal(s.Err)
	shown := &bars{onTerminal: onTerminal, said: map[string]string{}}
	tick := time.NewTicker(pullsInterval)
	defer tick.Stop()
	for {
		select {
		case e := <-ended:
			fmt.Fprint(s.Err, shown.next(nil))
			return e.reply.GetImage(), e.err
		case <-tick.C:
		}
		// Without an answer there is no bar; the pull itself says what is wrong.
		reply, _ := i.client.ListPulls(ctx, &nodev1.ListPullsRequest{})
		fmt.Fprint(s.Err, shown.next(pullsOf(reply.GetPulls(), ref)))
	}
}

// pullsOf returns the pulls of one image.
func pullsOf(all []*nodev1.Pull, ref string) (found []*nodev1.Pull) {
	for _, p := range all {
		if p.GetReference() == ref {
			found = append(found, p)
		}
	}
	return found
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
