package nodelog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// fakeJournal is a journal that a script plays. It has two units, and shows its arguments for a line each.
func fakeJournal(t *testing.T, script string) Journal {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "journalctl")
	text := "#!/bin/sh\nif [ \"$1\" = --field=_SYSTEMD_UNIT ]; then printf 'sshd.service\\nuser@0.service\\nodd\\\\x2d.mount\\ncron.service\\n'; exit; fi\n" + script
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "journal")
	if err := os.MkdirAll(filepath.Join(kept, "machine"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Journal{Program: program, Dirs: []string{filepath.Join(dir, "none"), kept}}
}

const showArgs = `for a in "$@"; do echo "$a"; done`

func TestWhatIsAskedOfTheJournal(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 7000, time.UTC)
	seven, before := 7, -1
	cases := map[string]struct {
		part selection
		want string
	}{
		"all of it":                {selection{}, ""},
		"a name like an option":    {selection{units: []string{"-x", "a b"}}, "--unit=-x --unit=a b"},
		"a pattern like an option": {selection{grep: "--flush"}, "--grep=--flush"},
		"a time":                   {selection{since: at, until: at.Add(time.Second)}, "--since=@1777636800.000007 --until=@1777636801.000007"},
		"the last lines":           {selection{tail: &seven}, "--lines=7"},
		"an earlier boot":          {selection{boot: &before}, "--boot=-1"},
		"the kernel's":             {selection{kernel: true}, "--dmesg"},
		"what comes":               {selection{follow: true}, "--follow --no-tail"},
		"the last and what comes":  {selection{follow: true, tail: &seven}, "--lines=7 --follow"},
	}
	for name, c := range cases {
		got, found := strings.CutPrefix(strings.Join(c.part.args(), " "), "--utc --no-pager --output=short-precise")
		if !found || strings.TrimSpace(got) != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestUnitsOfTheJournal(t *testing.T) {
	got, err := fakeJournal(t, "").units(t.Context())
	if want := []string{"cron.service", "sshd.service", "user@0.service"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestAMachineWithoutAJournalHasNone(t *testing.T) {
	j := fakeJournal(t, "")
	if !j.there() {
		t.Error("the journal is not found")
	}
	for name, without := range map[string]Journal{
		"journald has kept nothing": {Program: j.Program, Dirs: j.Dirs[:1]},
		"there is no journalctl":    {Program: j.Program + "-none", Dirs: j.Dirs},
	} {
		if without.there() {
			t.Errorf("%s: the journal counts as there", name)
		}
	}
}

func TestWhatJournalctlSaysOfAFault(t *testing.T) {
	err := fakeJournal(t, "echo Failed to parse timestamp >&2; exit 1").copy(t.Context(), selection{}, io.Discard)
	if !errors.Is(err, node.ErrInvalid) || !strings.Contains(err.Error(), "Failed to parse timestamp") {
		t.Errorf("got %v, want the words of journalctl", err)
	}
	if err := fakeJournal(t, "exit 1").copy(t.Context(), selection{}, io.Discard); err != nil {
		t.Errorf("no line matches: got %v, want no error", err)
	}
	if err := fakeJournal(t, "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1").copy(t.Context(), selection{}, io.Discard); err == nil || len(err.Error()) > longestComplaint+200 {
		t.Errorf("a long complaint is kept whole")
	}
}

// gone refuses what is written, as the connection of a caller does that has left.
type gone struct{}

var errGone = errors.New("gone")

func (gone) Write([]byte) (int, error) { return 0, errGone }

func TestJournalctlEndsWithItsCaller(t *testing.T) {
	for name, read := range map[string]func(Journal) error{
		"the context ends": func(j Journal) error {
			ctx, cancel := context.WithCancel(t.Context())
			return j.copy(ctx, selection{follow: true}, writing(func([]byte) { cancel() }))
		},
		"the connection is gone": func(j Journal) error { return j.copy(t.Context(), selection{follow: true}, gone{}) },
	} {
		pid := filepath.Join(t.TempDir(), "pid")
		err := read(fakeJournal(t, "echo $$ >"+pid+"\nexec yes line\n"))
		if !errors.Is(err, errGone) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		number, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(number))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: journalctl still runs (%v)", name, err)
		}
	}
}

// writing calls a function with what is written.
type writing func([]byte)

func (w writing) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestServicesOfTheJournalAndOfFiles(t *testing.T) {
	seven := 7
	files := tree(t)
	cases := map[string]struct {
		query node.ServiceLogQuery
		want  string
	}{
		"of the journal":        {node.ServiceLogQuery{Services: []string{"sshd"}}, "--utc\n--no-pager\n--output=short-precise\n--unit=sshd\n"},
		"with a part":           {node.ServiceLogQuery{Services: []string{"sshd"}, Tail: &seven, Pattern: "a|b"}, "--utc\n--no-pager\n--output=short-precise\n--lines=7\n--unit=sshd\n--grep=a|b\n"},
		"a part of a name":      {node.ServiceLogQuery{Services: []string{"ssh"}}, "\nlog not found for ssh\n"},
		"of a file":             {node.ServiceLogQuery{Services: []string{"sys"}}, "of sys\n"},
		"of a file by its name": {node.ServiceLogQuery{Services: []string{"sys.log"}}, "of sys\n"},
		"of a directory":        {node.ServiceLogQuery{Services: []string{"app"}}, "of app\n"},
		"of two files":          {node.ServiceLogQuery{Services: []string{"sys", "app"}}, "of sys\nof app\n"},
		"of a file outside":     {node.ServiceLogQuery{Services: []string{"out"}}, "\nerror getting log for out: "},
		"a FIFO":                {node.ServiceLogQuery{Services: []string{"fifo"}}, "\nerror getting log for fifo: "},
		"the directory above":   {node.ServiceLogQuery{Services: []string{".."}}, "\nerror getting log for ..: "},
		"a part of a file":      {node.ServiceLogQuery{Services: []string{"sys"}, Tail: &seven}, "\noptions present and query resolved to log files for [sys]\ntry without specifying options\n"},
	}
	for name, c := range cases {
		var got bytes.Buffer
		s := Services{Journal: fakeJournal(t, showArgs), Files: files}
		if err := s.Copy(t.Context(), c.query, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(got.String(), c.want) || strings.HasSuffix(c.want, "\n") && got.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, got.String(), c.want)
		}
	}
}
