package e2e

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/claim"
	"nodal/test/pace"
)

// read reads a whole log over gRPC.
func (n *node) read(r *nodev1.ReadLogsRequest) string {
	n.t.Helper()
	text, err := n.tryRead(r)
	if err != nil {
		n.t.Fatalf("read a log: %v", err)
	}
	return text
}

// tryRead does the same, for any goroutine.
func (n *node) tryRead(r *nodev1.ReadLogsRequest) (string, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(3*patience)) // a reader that follows waits for the writer
	defer cancel()
	r.Namespace = "default"
	stream, err := nodev1.NewLogsServiceClient(n.conn).ReadLogs(ctx, r)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for {
		piece, err := stream.Recv()
		if err == io.EOF {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
		text.Write(piece.GetData())
	}
}

func TestLogsAreReadEveryWay(t *testing.T) {
	claim.Shows(t, "Logs",
		"a log is read whole, by last lines, by bytes, since a time, by stream and with timestamps",
		"logs are served over REST, gRPC and the path that kubelets have for them",
	)
	n := start(t)
	p := shell("talk", "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three; exec sleep 1000")
	n.apply(p.yaml())
	n.waitRunning("talk")
	const rest, plain = "/v1/namespaces/default/pods/talk/containers/main/logs", "/containerLogs/default/talk/main"
	n.eventually("the last line", func() bool { return strings.Contains(n.curl(rest).body, "three") })
	for _, c := range []struct{ name, path, want string }{
		{"whole", rest, "one\ntwo\nthree\n"},
		{"the last lines", rest + "?tailLines=2", "two\nthree\n"},
		{"so many bytes", rest + "?limitBytes=5", "one\nt"},
		{"recent lines", rest + "?sinceSeconds=600", "one\ntwo\nthree\n"},
		{"future lines", rest + "?sinceTime=2199-01-01T00:00:00Z", ""},
		{"standard error alone", rest + "?stream=LOG_STREAM_STDERR", "two\n"},
		{"whole, on the kubelet's path", plain, "one\ntwo\nthree\n"},
		{"the last lines, on the kubelet's path", plain + "?tailLines=1", "three\n"},
		{"standard output alone, on the kubelet's path", plain + "?stream=Stdout", "one\nthree\n"},
	} {
		if got := n.curl(c.path); got.code != 200 || got.body != c.want {
			t.Errorf("%s: got %s, want 200 %q", c.name, got, c.want)
		}
	}
	two := int64(2)
	if got, want := n.read(&nodev1.ReadLogsRequest{Name: "talk", Container: "main", TailLines: &two}), "two\nthree\n"; got != want {
		t.Errorf("over gRPC: got %q, want %q", got, want)
	}
	for line := range strings.Lines(n.curl(rest + "?timestamps=true").body) {
		at, text, _ := strings.Cut(line, " ")
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil || text == "" {
			t.Errorf("the line %q does not begin with a time: %v", line, err)
		}
	}
}

func TestFollowedLogEndsWithItsRunAndThePreviousOneIsKept(t *testing.T) {
	claim.Shows(t, "Logs",
		"a followed log ends with its run",
		"the log of the previous run is kept, even during a back-off",
	)
	n := start(t)
	n.apply(shell("brief", "for i in 1 2 3; do echo line $i; sleep 0.2; done").yaml())
	n.wait("brief", "the first run", func(p *corev1.Pod) bool { return containerStatus(p, "main").State.Running != nil })
	if got, want := n.read(&nodev1.ReadLogsRequest{Name: "brief", Container: "main", Follow: true}), "line 1\nline 2\nline 3\n"; got != want {
		t.Errorf("following gave %q, want %q", got, want)
	}
	const rest, plain = "/v1/namespaces/default/pods/brief/containers/main/logs", "/containerLogs/default/brief/main"
	n.wait("brief", "the second run", func(p *corev1.Pod) bool { // or after the run that follows it, which is brief too
		s := containerStatus(p, "main")
		return s.RestartCount >= 1 && (s.State.Running != nil || waits(p, "CrashLoopBackOff"))
	})
	for _, path := range []string{rest, plain} {
		if got, want := n.curl(path+"?previous=true").body, "line 1\nline 2\nline 3\n"; got != want {
			t.Errorf("%s of the previous run: got %q, want %q", path, got, want)
		}
	}
	n.wait("brief", "the backoff before the third", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff"
	})
	for _, path := range []string{rest, plain, rest + "?previous=true", plain + "?previous=true"} {
		if got, want := n.curl(path).body, "line 1\nline 2\nline 3\n"; got != want {
			t.Errorf("%s in a backoff: got %q, want %q", path, got, want)
		}
	}
}

func TestALogThatLeadsElsewhereIsRefused(t *testing.T) {
	claim.Shows(t, "Logs", "a link, a pipe or a directory in a log's place is refused with the reason, also to a follower")
	n := start(t)
	n.apply(shell("talk", "echo mine; exec sleep 1000").yaml())
	p := n.waitRunning("talk")
	other := n.file("other.log", "2026-01-02T15:04:05.000000000Z stdout F secret\n")
	log := filepath.Join(n.PodLogs(), "default_talk_"+string(p.UID), "main/0.log")
	if err := os.Rename(log, log+".kept"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plant func() error
		want  string
	}{
		{func() error { return os.Symlink(other, log) }, "symbolic link"},
		{func() error { return os.Link(other, log) }, "hard link"},
		{func() error { return syscall.Mkfifo(log, 0o600) }, "named pipe"},
		{func() error { return os.Mkdir(log, 0o700) }, "directory"},
	} {
		if err := c.plant(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v1/namespaces/default/pods/talk/containers/main/logs", "/containerLogs/default/talk/main"} {
			for _, query := range []string{"", "?follow=true"} {
				got := n.curl(path + query)
				if got.code != 400 || !strings.Contains(got.body, c.want) || strings.Contains(got.body, "secret") {
					t.Errorf("%s in its place, %s: got %s, want 400 and why", c.want, path+query, got)
				}
			}
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRequestsForMissingLogsHaveTheirOwnCodes(t *testing.T) {
	claim.Shows(t, "Logs", "a missing log has its own error code")
	n := start(t)
	n.apply(web("quiet").yaml())
	n.waitRunning("quiet")
	for _, c := range []struct {
		name, path string
		want       int
	}{
		{"an unknown pod", "/v1/namespaces/default/pods/nobody/containers/main/logs", 404},
		{"an unknown container", "/v1/namespaces/default/pods/quiet/containers/nothing/logs", 404},
		{"no previous run", "/v1/namespaces/default/pods/quiet/containers/main/logs?previous=true", 404},
		{"an invalid number", "/v1/namespaces/default/pods/quiet/containers/main/logs?tailLines=many", 400},
		{"a negative number", "/v1/namespaces/default/pods/quiet/containers/main/logs?tailLines=-1", 400},
		{"an unknown pod, on the kubelet's path", "/containerLogs/default/nobody/main", 404},
		{"an unknown container, on the kubelet's path", "/containerLogs/default/quiet/nothing", 404},
		{"no previous run, on the kubelet's path", "/containerLogs/default/quiet/main?previous=true", 400},
	} {
		if got := n.curl(c.path); got.code != c.want {
			t.Errorf("%s: got %s, want %d", c.name, got, c.want)
		}
	}
}
