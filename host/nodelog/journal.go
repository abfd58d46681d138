package nodelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nodal/node"
)

// Journal is systemd's journal on this machine, as journalctl shows it.
type Journal struct {
	Program string   // journalctl; tests have their own
	Dirs    []string // where journald keeps it: none of them exists on a machine without one
}

// selection is the part of the journal that is shown.
type selection struct {
	units  []string
	kernel bool
	since  time.Time
	until  time.Time
	tail   *int
	boot   *int
	grep   string
	follow bool
}

// args returns the arguments of journalctl. Whatever comes from a caller stands behind the name of an option. Times are
// seconds since 1970, because journalctl takes others for those of the machine's time zone.
func (s selection) args() []string {
	args := []string{"--utc", "--no-pager", "--output=short-precise"}
	add := func(wanted bool, option, value string) {
		if wanted {
			args = append(args, "--"+option+"="+value)
		}
	}
	add(!s.since.IsZero(), "since", seconds(s.since))
	add(!s.until.IsZero(), "until", seconds(s.until))
	if s.tail != nil {
		add(true, "lines", strconv.Itoa(*s.tail))
	}
	for _, unit := range s.units {
		add(true, "unit", unit)
	}
	add(s.grep != "", "grep", s.grep)
	if s.boot != nil {
		add(true, "boot", strconv.Itoa(*s.boot))
	}
	if s.kernel {
		args = append(args, "--dmesg")
	}
	if s.follow {
		args = append(args, "--follow")
	}
	if s.follow && s.tail == nil {
		args = append(args, "--no-tail") // by itself, it begins ten lines before the end
	}
	return args
}

func seconds(t time.Time) string { return fmt.Sprintf("@%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// there reports whether there is a journal. journalctl itself shows an empty one where there is none.
func (j Journal) there() bool {
	if _, err := exec.LookPath(j.Program); err != nil {
		return false
	}
	return slices.ContainsFunc(j.Dirs, func(dir string) bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) > 0
	})
}

// copy writes the selected part to w. The error holds what journalctl says of it.
func (j Journal) copy(ctx context.Context, s selection, w io.Writer) error {
	return j.run(ctx, w, s.args()...)
}

// unsafe matches the characters that upstream allows in no name of a service.
var unsafe = regexp.MustCompile(`[^a-zA-Z\-_.:0-9@]+`)

// units returns the units of systemd that have lines in the journal, sorted. Those are left out whose names no query
// could hold.
func (j Journal) units(ctx context.Context) ([]string, error) {
	var list bytes.Buffer
	if err := j.run(ctx, &list, "--field=_SYSTEMD_UNIT"); err != nil {
		return nil, err
	}
	units := slices.DeleteFunc(strings.Fields(list.String()), unsafe.MatchString)
	slices.Sort(units)
	return slices.Compact(units), nil
}

// run runs journalctl. It ends with the context, and when w takes no more.
func (j Journal) run(ctx context.Context, w io.Writer, args ...string) error {
	var complaint head
	cmd := exec.CommandContext(ctx, j.Program, args...)
	out := &watched{w: w}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, &complaint, time.Second
	err := cmd.Run()
	var exited *exec.ExitError
	switch said := strings.TrimSpace(string(complaint.text)); {
	case out.err != nil:
		return out.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exited) && said == "":
		return nil // as it ends if no line matches
	case errors.As(err, &exited):
		return fmt.Errorf("read the journal: %s: %w", said, node.ErrInvalid)
	case err != nil:
		return fmt.Errorf("run %s: %w", j.Program, err)
	}
	return nil
}

// watched remembers the error of its writer: the program that writes there ends by a signal then.
type watched struct {
	w   io.Writer
	err error
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.err = err
	return n, err
}

// head keeps the beginning of what is written to it.
type head struct{ text []byte }

const longestComplaint = 4 << 10

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), longestComplaint-len(h.text))]...)
	return len(p), nil
}
