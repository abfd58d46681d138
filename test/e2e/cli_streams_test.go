package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
	"nodal/test/pace"
)

func TestTheCommandLineReachesContainers(t *testing.T) {
	claim.Shows(t, "Ways in",
		"kubelet logs reads, greps and follows the logs of one pod or of several, each line with its pod; pods that come later are followed too",
		"kubelet exec passes input, a terminal, its size and the exit code on, and attach shows what a process writes",
		"keys leave a command that kubelet exec has given the terminal, and with attach the main process, which runs on",
		"kubelet port-forward leads a port of the machine to one of a pod, and cp copies files both ways",
	)
	n := start(t)
	box := shell("box", `echo one; echo two >&2; while :; do echo tick; sleep 1; done`)
	box.labels = map[string]string{"app": "talk"}
	other := shell("other", "echo from other; exec sleep 1000")
	other.labels = box.labels
	console := shell("console", "while :; do echo tick; sleep 1; done").yaml()
	n.apply(bundle(box, other, web("web")))
	n.apply(strings.Replace(console, "    image:", "    stdin: true\n    tty: true\n    image:", 1))
	for _, name := range []string{"box", "other", "web", "console"} {
		n.waitRunning(name)
	}
	n.wait("web", "web is ready", ready)
	t.Run("logs", func(t *testing.T) { n.readsLogs(t) })
	t.Run("exec", func(t *testing.T) { n.runsCommands(t) })
	t.Run("detach", func(t *testing.T) { n.leaves(t) })
	t.Run("attach", func(t *testing.T) {
		if line := n.firstLine(t, "tick", "attach", "box"); line != "tick" {
			t.Errorf("got %q, want tick", line)
		}
	})
	t.Run("port-forward", func(t *testing.T) {
		n.firstLineThen(t, "leads to", func(line string) {
			address, _, _ := strings.Cut(line, " ")
			response, err := http.Get("http://" + address)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "web") {
				t.Errorf("got %q, %v, want the pod's answer", body, err)
			}
		}, "port-forward", "web", "0:8080")
	})
	t.Run("cp", func(t *testing.T) { n.copies(t) })
}

func (n *node) readsLogs(t *testing.T) {
	for _, c := range []struct{ args, want, never string }{
		{"logs box", "one\n", "box/main"},
		{"logs box --grep ^two$", "two\n", "one"},
		{"logs box --tail 1", "\n", "one"},
		{"logs -l app=talk", "other/main from other\n", ""},
		{"logs box other --grep o", "box/main   one\n", "tick"},
	} {
		got := n.verb(strings.Fields(c.args)...)
		if !strings.Contains(got, c.want) || c.never != "" && strings.Contains(got, c.never) || strings.Contains(got, "\x1b") {
			t.Errorf("kubelet %s: got %q, want %q and not %q", c.args, got, c.want, c.never)
		}
	}
	lineWith, end := n.keepReading(t, "logs", "-f", "-l", "app=talk")
	lineWith("box/main   tick")
	late := shell("late", "echo from one that came later; exec sleep 1000")
	late.labels = map[string]string{"app": "talk"}
	n.apply(late.yaml())
	lineWith("late/main  from one that came later")
	lineWith("box/main   tick") // the first ones go on
	end()
	lineWith, end = n.keepReading(t, "logs", "-f", "-l", "app=hasty")
	hasty := shell("hasty", "cat /proc/sys/kernel/random/uuid; exit 1")
	hasty.labels = map[string]string{"app": "hasty"}
	n.apply(hasty.yaml())
	if first, second := lineWith("hasty/main "), lineWith("hasty/main "); first == second {
		t.Errorf("the log of one short run came twice: %s", first)
	}
	end()
	if _, failed, code := n.tryVerb("logs", "box", "-c", "nope"); code != 1 || !strings.Contains(failed, `no container "nope"; it has main`) {
		t.Errorf("no such container: got %d, %q", code, failed)
	}
}

func (n *node) runsCommands(t *testing.T) {
	out, failed, code := n.tryVerb("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 42")
	if out != "out\n" || failed != "err\n" || code != 42 {
		t.Errorf("got %q, %q, %d, want out, err, 42", out, failed, code)
	}
	got, failed, code := n.command(strings.Repeat("x", 100_000), n.Binary, "exec", "--socket", n.Socket, "-i", "box", "--", "wc", "-c")
	if strings.TrimSpace(got) != "100000" || code != 0 {
		t.Errorf("with input: got %q, %q, %d, want 100000", got, failed, code)
	}
	if _, failed, code := n.tryVerb("exec", "box", "--", "/no/such/program"); code == 0 || failed == "" {
		t.Errorf("no such program: got %d, %q", code, failed)
	}
	// script gives the verb a terminal of its own.
	inner := "stty rows 33 cols 101; " + n.Binary + " exec --socket " + n.Socket + " -it box -- sh -c 'tty; sleep 1; stty size; exit 5'"
	got, failed, code = n.command("", "script", "-qec", inner, "/dev/null")
	if !strings.Contains(got, "/dev/pts/") || !strings.Contains(got, "33 101") || code != 5 {
		t.Errorf("with a terminal: got %q, %q, %d, want its name, 33 101 and code 5", got, failed, code)
	}
}

func (n *node) leaves(t *testing.T) {
	n.leave(t, "exec", "it is here", "box -- sh -c 'echo it is here; exec sleep 1000'")
	n.leave(t, "attach", "tick", "console")
	n.firstLine(t, "tick", "logs", "console", "-f", "--tail", "0")
	if got := n.verb("get", "console", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"); got != "0" {
		t.Errorf("the process that was left has started %s times again", got)
	}
}

// leave types the keys that detach once a verb shows a text on its terminal.
func (n *node) leave(t *testing.T, verb, shows, words string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, "script", "-qec", n.Binary+" "+verb+" --socket "+n.Socket+" -it "+words, "/dev/null")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, shows); {
		if line, err = all.ReadString('\n'); err != nil {
			t.Fatalf("got %q, %v, want %s", line, err, shows)
		}
	}
	if _, err := io.WriteString(in, "\x10\x11"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(all)
	if failed := cmd.Wait(); err != nil || failed != nil || !strings.Contains(string(rest), "detached from pod") {
		t.Errorf("%s after ctrl-p ctrl-q: got %q, %v, %v", verb, rest, err, failed)
	}
}

func (n *node) copies(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "site", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "site", "sub", "page"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.verb("cp", filepath.Join(dir, "site"), "box:/tmp")
	if got := n.verb("exec", "box", "--", "cat", "/tmp/site/sub/page"); got != "hello" {
		t.Errorf("into the container: got %q, want hello", got)
	}
	n.verb("exec", "box", "--", "ln", "-s", "/etc/passwd", "/tmp/site/link")
	n.verb("cp", "box:/tmp/site", filepath.Join(dir, "back"))
	text, err := os.ReadFile(filepath.Join(dir, "back", "sub", "page"))
	if _, linked := os.Lstat(filepath.Join(dir, "back", "link")); err != nil || string(text) != "hello" || linked == nil {
		t.Errorf("from the container: got %q, %v, and that the link is there: %t", text, err, linked == nil)
	}
	n.verb("cp", "box:/tmp/site/sub/page", filepath.Join(dir, "one"))
	if text, err := os.ReadFile(filepath.Join(dir, "one")); err != nil || string(text) != "hello" {
		t.Errorf("one file: got %q, %v", text, err)
	}
	if _, failed, code := n.tryVerb("cp", "web:/etc/hosts", dir); code != 1 || !strings.Contains(failed, "cp needs it in the image") {
		t.Errorf("without tar: got %d, %q", code, failed)
	}
}

// firstLine returns the first line of a verb that has the text, and ends the verb.
func (n *node) firstLine(t *testing.T, text string, args ...string) (found string) {
	t.Helper()
	n.firstLineThen(t, text, func(line string) { found = line }, args...)
	return found
}

// firstLineThen calls do with the first line of a verb that has the text, and ends the verb.
func (n *node) firstLineThen(t *testing.T, text string, do func(line string), args ...string) {
	t.Helper()
	lines, end := n.keepReading(t, args...)
	do(lines(text))
	end()
}

// keepReading starts a verb that goes on. It returns what reads on to a line that has a text, and what ends the verb.
func (n *node) keepReading(t *testing.T, args ...string) (lineWith func(text string) string, end func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, n.Binary, append([]string{args[0], "--socket", n.Socket}, args[1:]...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lineWith = func(text string) string {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("kubelet %v: ended without %q: %v", args, text, cmd.Wait())
		return ""
	}
	return lineWith, func() {
		cancel()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
}
