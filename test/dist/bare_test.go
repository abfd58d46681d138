package dist

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/host/service"
	"nodal/test/pace"
	"nodal/test/rig"
)

// TestOneFileMakesANodeOfABareMachine installs the binary into a root directory with nothing but a
// hosts file, and runs the command of the unit.
func TestOneFileMakesANodeOfABareMachine(t *testing.T) {
	rig.Require(t)
	b := newBare(t, built(binary))
	if got := output(t, "./bare.sh", b.root, service.Program, "check"); strings.Contains(got, "FAILED") {
		t.Fatalf("the machine is good enough, and the check says\n%s", got)
	}
	b.wantPods(t, []string{"busybox"})
}

// wantPods starts the agent, imports images and runs a pod.
func (b bare) wantPods(t *testing.T, images []string, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(time.Minute))
	defer cancel()
	manager := b.listen(t, "run/manager")
	b.start(t, append(b.agent(), flags...)...)
	awaitWord(t, manager, "READY=1")

	for _, short := range images {
		output(t, b.program, "images", "import", "--socket", b.socket(), image(t, short))
	}
	b.write(t, "etc/nodal/manifests/web.yaml", b.example)
	b.awaitReady(ctx, t, "web-bare")
	page := func() string { return b.ask(ctx, t, "POST", "/run/default/web-bare/web?cmd=cat+/tmp/index.html") }
	got := page()
	for deadline := time.Now().Add(pace.Of(30 * time.Second)); got != "hello from a pod\n" && time.Now().Before(deadline); {
		got = page() // the page is written after the start
	}
	if got != "hello from a pod\n" {
		t.Errorf("got %q from the pod", got)
	}
	if got := b.ask(ctx, t, "GET", "/docs/examples/web.yaml"); got != string(b.example) {
		t.Errorf("the example of /docs is not the one that was packed: %s", got)
	}
}

// bare is a machine made of one file.
type bare struct {
	root    string
	program string // path of the installed program
	example []byte // a manifest
}

func newBare(t *testing.T, program string) bare {
	t.Helper()
	before := rig.Snapshot()
	// Not below /tmp, which may be on a file system without overlay.
	root, err := os.MkdirTemp("/var/lib", "nodal-bare-")
	if err != nil {
		t.Fatal(err)
	}
	b := bare{root, program, read(t, "../../docs/examples/web.yaml")}
	t.Cleanup(func() {
		if out, err := exec.Command("./bare.sh", root, service.Program, "clean", "--root-dir="+b.node()).CombinedOutput(); err != nil {
			t.Errorf("clean: %v\n%s", err, out)
		}
		for _, path := range []string{b.node(), "/var/log/pods", "/var/log/containers"} {
			if _, err := os.Lstat(filepath.Join(root, path)); err == nil {
				t.Errorf("clean leaves %s", path)
			}
		}
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	output(t, program, "install", "--root", root)
	b.write(t, "etc/hosts", []byte("127.0.0.1 localhost\n"))
	return b
}

// agent returns the command of the unit, for a node of this name.
func (b bare) agent() []string {
	return []string{service.Program, "--config=" + service.Settings, "--hostname-override=bare", "--root-dir=" + b.node()}
}

// node returns the node's directory. Its name is unique, because cgroups are named after it and lie
// outside the root directory.
func (b bare) node() string { return "/var/lib/" + filepath.Base(b.root) }

func (b bare) socket() string { return filepath.Join(b.root, "run/nodal/node.sock") }

func (b bare) write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.root, path), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// listen receives the messages that systemd would get from the service.
func (b bare) listen(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(b.root, filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(b.root, path), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	return manager
}

func awaitWord(t *testing.T, manager *net.UnixConn, want string) {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(pace.Of(30 * time.Second))); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	n, err := manager.Read(buffer)
	if got := string(buffer[:n]); err != nil || got != want {
		t.Fatalf("got %q, %v, want %s", got, err, want)
	}
}

// start runs the agent until the test ends, then everything that it started ends too.
func (b bare) start(t *testing.T, command ...string) {
	t.Helper()
	var log bytes.Buffer
	agent := exec.Command("./bare.sh", append([]string{b.root}, command...)...)
	agent.Env = append(os.Environ(), "NOTIFY_SOCKET=/run/manager")
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Process.Kill(); err != nil {
			t.Errorf("the agent ended by itself: %v", err)
		}
		_ = agent.Wait() // it was killed
		if t.Failed() {
			t.Logf("the agent's log:\n%s", log.String())
		}
	})
}

// image writes an image as a tarball and returns its path.
func image(t *testing.T, short string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := rig.Save(f, short); err != nil {
		t.Fatal(err)
	}
	return path
}

func (b bare) do(ctx context.Context, t *testing.T, method, path string) *http.Response {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", b.socket())
		},
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://node"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func (b bare) ask(ctx context.Context, t *testing.T, method, path string) string {
	t.Helper()
	body, err := io.ReadAll(b.do(ctx, t, method, path).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// awaitReady reads the node's watch until a pod is ready.
func (b bare) awaitReady(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	lines := bufio.NewScanner(b.do(ctx, t, "GET", "/v1/pods:watch").Body)
	lines.Buffer(nil, 1<<20)
	last := ""
	for lines.Scan() {
		last = lines.Text()
		if strings.Contains(last, `"name":"`+name+`"`) && strings.Contains(last, `"ready":true`) {
			return
		}
	}
	t.Fatalf("%s does not become ready: %v; last: %s", name, lines.Err(), last)
}
