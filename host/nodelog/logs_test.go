package nodelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// machine is one whose logs are files, with a journal that a script plays.
func machine(t *testing.T) Logs {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("containerd.log.1", "time=2026-05-01T11:00:00Z msg=old\n")
	return Logs{
		Journal: fakeJournal(t, showArgs), Agent: Place{File: write("agent.log", someLines)},
		Runtime: write("containerd.log", "time=2026-05-01T12:00:00Z msg=new\n"), Kernel: write("kmsg", "6,1,1500000,-;eth0: link up\n"),
	}
}

func TestLogsOfTheMachineAreListedWithTheirPlaces(t *testing.T) {
	l := machine(t)
	const journaled = "kernel journal, cron.service journal, sshd.service journal, user@0.service journal"
	cases := map[string]struct {
		logs Logs
		want string
	}{
		"with a journal":                 {l, "agent " + l.Agent.File + ", runtime " + l.Runtime + ", " + journaled},
		"the agent's in it":              {Logs{Journal: l.Journal, Agent: Place{Unit: "kubelet.service"}}, "agent journal, unit kubelet.service, " + journaled},
		"without one":                    {Logs{Agent: l.Agent, Kernel: l.Kernel}, "agent " + l.Agent.File + ", kernel " + l.Kernel},
		"nowhere that can be read":       {Logs{Agent: Place{Message: "a pipe"}, Kernel: "/none"}, "agent !a pipe, kernel !open /none: no such file or directory"},
		"in a journal that is not there": {Logs{Agent: Place{Unit: "kubelet.service"}, Kernel: l.Kernel}, "agent !the agent's log goes to the journal, and there is no journalctl, or nothing kept, kernel " + l.Kernel},
	}
	for name, c := range cases {
		all, err := c.logs.List(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, one := range all {
			got = append(got, one.Name+" "+one.Place+strings.Replace("!"+one.Message, "!", "!", 1))
		}
		text := strings.ReplaceAll(strings.Join(got, ", ")+",", "!,", ",")
		if text = strings.TrimSuffix(text, ","); text != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, text, c.want)
		}
	}
}

func TestLogsAreReadByName(t *testing.T) {
	one, back := int64(1), int64(-1)
	const journal = "--utc\n--no-pager\n--output=short-precise\n"
	cases := map[string]struct {
		query node.NodeLogQuery
		want  string
	}{
		"the agent's":                   {node.NodeLogQuery{Source: "agent", Tail: &one}, "{\"time\":\"2026-05-01T12:02:00Z\",\"msg\":\"three\"}\n"},
		"the runtime's, with its past":  {node.NodeLogQuery{Source: "runtime"}, "time=2026-05-01T11:00:00Z msg=old\ntime=2026-05-01T12:00:00Z msg=new\n"},
		"the kernel's":                  {node.NodeLogQuery{Source: "kernel", Boot: &back}, journal + "--boot=-1\n--dmesg\n"},
		"a unit's":                      {node.NodeLogQuery{Source: "sshd.service", Tail: &one}, journal + "--lines=1\n--unit=sshd.service\n"},
		"the last of a unit that match": {node.NodeLogQuery{Source: "sshd.service", Tail: &one, Pattern: regexp.MustCompile("^--[un]")}, "--unit=sshd.service\n"},
	}
	for name, c := range cases {
		var got sink
		if err := machine(t).Read(t.Context(), c.query, &got); err != nil || got.String() != c.want {
			t.Errorf("%s: got %q (%v), want %q", name, got.String(), err, c.want)
		}
		if got.flushed == 0 {
			t.Errorf("%s: nothing was flushed", name)
		}
	}
	without := machine(t)
	without.Journal = Journal{}
	var got sink
	if err := without.Read(t.Context(), node.NodeLogQuery{Source: "kernel"}, &got); err != nil || !strings.HasSuffix(got.String(), "Z kernel: eth0: link up\n") {
		t.Errorf("the kernel's without a journal: got %q (%v)", got.String(), err)
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	back := int64(-1)
	l := machine(t)
	silent := l
	silent.Agent, silent.Runtime = Place{Message: "it goes to a pipe"}, ""
	cases := map[string]struct {
		logs  Logs
		query node.NodeLogQuery
		want  error
	}{
		"one that there is not":         {l, node.NodeLogQuery{Source: "none.service"}, node.ErrNotFound},
		"a word":                        {l, node.NodeLogQuery{Source: "none"}, node.ErrNotFound},
		"a path":                        {l, node.NodeLogQuery{Source: "../../etc/passwd"}, node.ErrNotFound},
		"an option":                     {l, node.NodeLogQuery{Source: "--flush.service x"}, node.ErrNotFound},
		"a runtime that is not its own": {silent, node.NodeLogQuery{Source: "runtime"}, node.ErrNotFound},
		"one that goes to a pipe":       {silent, node.NodeLogQuery{Source: "agent"}, node.ErrNotReady},
		"an earlier boot of a file":     {l, node.NodeLogQuery{Source: "agent", Boot: &back}, node.ErrInvalid},
	}
	for name, c := range cases {
		var got sink
		if err := c.logs.Read(t.Context(), c.query, &got); !errors.Is(err, c.want) || got.Len() > 0 {
			t.Errorf("%s: got %v and %q, want %v", name, err, got.String(), c.want)
		}
	}
}

// told keeps what it is given and may be read meanwhile.
type told struct {
	mu   sync.Mutex
	text string
}

func (w *told) Flush() error { return nil }

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += string(p)
	return len(p), nil
}

func (w *told) read() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

func TestAFileIsFollowedAndMayBeEmptied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "agent.log")
		write := func(flags int, text string) {
			t.Helper()
			f, err := os.OpenFile(path, flags|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
		write(0, "one\ntwo\n")
		last := int64(1)
		ctx, cancel := context.WithCancel(t.Context())
		var got told
		ended := make(chan error)
		go func() {
			ended <- Logs{Agent: Place{File: path}}.Read(ctx, node.NodeLogQuery{Source: "agent", Tail: &last, Follow: true}, &got)
		}()
		step := func(want string) {
			t.Helper()
			time.Sleep(2 * pause)
			synctest.Wait()
			if got.read() != want {
				t.Errorf("got %q, want %q", got.read(), want)
			}
		}
		step("two\n")
		write(os.O_APPEND, "three\nfo")
		step("two\nthree\n")
		write(os.O_APPEND, "ur\n")
		step("two\nthree\nfour\n")
		write(os.O_TRUNC, "five\n")
		step("two\nthree\nfour\nfive\n")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("got %v at the end, want no error", err)
		}
	})
}

func TestWhereTheAgentLogs(t *testing.T) {
	const service = "0::/system.slice/kubelet.service/agent\n"
	const v1 = "5:memory:/x.service\n1:name=systemd:/system.slice/kubelet.service\n"
	file, pipe := uint32(unix.S_IFREG), uint32(unix.S_IFSOCK)
	cases := map[string]struct {
		mode            uint32
		name            string
		journal, groups string
		want            Place
	}{
		"to the journal":                     {pipe, "socket:[2]", "1:2", service, Place{Unit: "kubelet.service"}},
		"to the journal, with cgroups of v1": {pipe, "socket:[2]", "1:2", v1, Place{Unit: "kubelet.service"}},
		"to a file, as a child of a service": {file, "/var/log/kubelet.log", "1:3", service, Place{File: "/var/log/kubelet.log"}},
		"to a file":                          {file, "/var/log/kubelet.log", "", "", Place{File: "/var/log/kubelet.log"}},
		"nowhere":                            {unix.S_IFCHR, "/dev/null", "", "", Place{Message: "the agent's log goes to /dev/null"}},
	}
	for name, c := range cases {
		stderr := unix.Stat_t{Dev: 1, Ino: 2, Mode: c.mode}
		if got := ownPlace(stderr, c.name, nil, c.journal, c.groups); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	stderr := unix.Stat_t{Dev: 1, Ino: 2, Mode: unix.S_IFIFO}
	if got := ownPlace(stderr, "pipe:[2]", nil, "", service); got.File != "" || got.Unit != "" || !strings.Contains(got.Message, "a terminal or a pipe") {
		t.Errorf("to a pipe: got %+v", got)
	}
	if got := ownPlace(stderr, "", fs.ErrPermission, "", ""); got.Message == "" {
		t.Errorf("unknown: got %+v", got)
	}
}
