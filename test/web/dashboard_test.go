package web

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

var screenshots = flag.String("screenshots", "", "take the pictures of docs/screenshots into this directory, and run no stories")

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

// patience bounds a whole story. The longest takes a quarter of it on two busy cores.
const patience = 8 * time.Minute

func TestTheDashboardInABrowser(t *testing.T) {
	claim.Shows(t, "Ways in",
		"a browser does everything: apply, usage, logs, terminals, roll back, images and objects",
		"a browser imports a tarball and prunes images, with a plan first",
		"an admin makes, sees and revokes tokens in the dashboard; a new one is shown once, and others have no such page",
		"an admin cordons the node in the dashboard, which shows since when it takes no pods, and why",
		"a line of a log has an address of its own in the dashboard",
		"the logs of several pods are one in the dashboard, searched by words or an expression that the address holds",
		"several pods are deleted at once in the dashboard, with a list of what goes with each and what stays",
		"events are found in the dashboard by kind, reason and words, which the address holds",
		"pods stand in groups in the dashboard, and its tables are saved as CSV and JSON",
		"a match in a log has lines around it in the dashboard, and long lines wrap",
		"a container for debugging starts beside another in the dashboard, and a terminal opens in it",
		"an edit in the dashboard overwrites nothing that others have changed since it was read",
		"the pods of several nodes stand in one list of the dashboard, which reads the others through this node, as a viewer, and changes nothing there",
		"a page of a pod opens in a window from the dashboard, with all of its files, and has no way into the node",
		"a sign-in link that is pasted into the open page signs in",
		"the dashboard has the figures, runs, probes, events and changes of a pod on one time axis, over a crash of the node too, and says why a run ended as a text to copy",
		"the dashboard's commands work as shown, and do what the page does",
		"the dashboard shows the fault of a manifest in the directory at once",
		"the dashboard shows the plugins of the node, and which devices pods can have",
		"the dashboard shows which settings the running node took from its files, which wait for a restart, and why files are rejected",
		"the dashboard's first page is small, and soon painted on a slow machine",
		"the dashboard follows ten thousand lines of a log a second",
		"the dashboard outlives cut connections, a slow network, a crash of the node and a revoked token, and says so",
		"the dashboard shows what a container prints, and runs none of it",
		"an action on a pod in the dashboard never reaches a successor of the same name",
		"five hundred pods scroll in the dashboard, and on a common machine the work for a frame fits into a sixtieth of a second",
		"the documents are a click away from the dashboard, have a search, and fit a phone",
		"the dashboard fits a phone, and offers each role only what it may do",
		"the read-only port has the dashboard as a view, which polls")
	if *screenshots != "" {
		takeScreenshots(t)
		return
	}
	manifests, drops, config := t.TempDir(), t.TempDir(), t.TempDir()
	s := stage{daemon.StartAlone(t, "--pod-manifest-path", manifests, "--config-dir", drops, "--nodes-file", nodesFile(config),
		"--cdi-devices=nodal.test/gpu:shares=2", "--cdi-spec-dirs="+specs(t)), manifests, drops, config, startNeighbour(t)}
	s.tell(t, "weight")
	tarball := saveBusybox(t)
	s.tell(t, "journey", "IMAGE=nodal.test/busybox:1", "TARBALL="+tarball)
	s.tell(t, "journey_node", "IMAGE=nodal.test/busybox:1", "TARBALL="+tarball)
	s.Import("busybox")
	s.tell(t, "desk", "IMAGE=nodal.test/busybox:1")
	s.Import("probe")
	s.tell(t, "flood", "IMAGE=nodal.test/probe:1")
	s.Import("busybox")
	s.tell(t, "views", "IMAGE=nodal.test/busybox:1", "PATH="+programs(t))
	s.tell(t, "nodes", "FAR_TOKEN="+filepath.Join(s.far.Dir, "credentials/viewer.token"))
	s.tell(t, "faults", "IMAGE=nodal.test/busybox:1")
}

// specs makes a directory with the spec of a device.
func specs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "cdiVersion: 0.5.0\nkind: nodal.test/gpu\ndevices: [{name: gpu0, containerEdits: {deviceNodes: [{path: /dev/null}]}}]\n"
	if err := os.WriteFile(filepath.Join(dir, "gpu.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func takeScreenshots(t *testing.T) {
	into, err := filepath.Abs(*screenshots)
	if err != nil {
		t.Fatal(err)
	}
	config := t.TempDir()
	s := stage{Daemon: daemon.StartAlone(t, "--hostname-override", "edge-1", "--nodes-file", nodesFile(config)), far: startNeighbour(t)}
	if err := introduce(s.far, config); err != nil {
		t.Fatal(err)
	}
	s.Import("busybox")
	s.tell(t, "screenshots", "SCREENSHOTS="+into)
}

// stage is the node under test, the directories from which it reads manifests, drop-ins of its configuration and other
// nodes, and another node.
type stage struct {
	*daemon.Daemon
	manifests, drops, config string

	far *daemon.Daemon
}

// tell runs one story as a subtest.
func (s stage) tell(t *testing.T, story string, env ...string) {
	t.Run(story, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", story+".mjs")
		cmd.Env = append(os.Environ(), "LINK="+s.Invite(), "SECOND_LINK="+s.Invite(), "PROFILE="+t.TempDir(),
			"VIEWER_TOKEN="+filepath.Join(s.Dir, "credentials/viewer.token"),
			"DOOR="+door(t, local(s.Port)), "VIEW=http://"+local(s.View), "VIEW_DOOR="+door(t, local(s.View)))
		cmd.Env = append(cmd.Env, env...)
		cmd.Stderr = t.Output()
		// The first process of a PID namespace ends all others with it, so no browser is left
		// behind.
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end, err := s.answer(t.Output(), out, in)
		if err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the story ends badly (%v): %s", err, end)
		}
	})
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// programs returns a PATH with the clients whose commands the dashboard shows.
func programs(t *testing.T) string {
	t.Helper()
	grpcurl, err := agent.Grpcurl()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Abs("../../.cache/parts") // the control plane's programs include kubectl
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{filepath.Dir(grpcurl), parts, os.Getenv("PATH")}, string(filepath.ListSeparator))
}

// saveBusybox writes a tarball in docker save's format, for the browser to import.
func saveBusybox(t *testing.T) (path string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "busybox.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rig.Save(file, "busybox"), file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// answer grants a story's wishes until it ends. It returns the step that failed and why, or the
// last step.
func (s stage) answer(log io.Writer, out io.Reader, in io.Writer) (end string, err error) {
	lines := bufio.NewScanner(out)
	var failed, last string
	for lines.Scan() {
		last = lines.Text()
		fmt.Fprintln(log, last)
		if why, ok := strings.CutPrefix(last, "FAIL "); ok {
			failed = why
		}
		if wish, ok := strings.CutPrefix(last, "@"); ok {
			if err := s.grant(wish); err != nil {
				return last, err
			}
			if _, err := fmt.Fprintln(in, "done"); err != nil {
				return last, fmt.Errorf("tell the story that it is done: %w", err)
			}
		}
	}
	return cmp.Or(failed, fmt.Sprintf("after %q", last)), lines.Err()
}

// grant does what a story cannot do by itself.
func (s stage) grant(wish string) error {
	switch wish {
	case "kill":
		s.Kill()
	case "launch":
		s.Launch()
	case "revoke":
		if err := os.Remove(filepath.Join(s.Dir, "pki/tokens/viewer.json")); err != nil {
			return fmt.Errorf("revoke the viewer's token: %w", err)
		}
	case "spoil":
		if err := os.WriteFile(filepath.Join(s.manifests, "bad.yaml"), []byte("kind: Pot"), 0o600); err != nil {
			return fmt.Errorf("write a bad manifest: %w", err)
		}
	case "mend":
		if err := os.Remove(filepath.Join(s.manifests, "bad.yaml")); err != nil {
			return fmt.Errorf("remove the bad manifest: %w", err)
		}
	case "introduce":
		return introduce(s.far, s.config)
	case "settle":
		return post(s.far, "later")
	case "vanish":
		s.far.Kill()
	case "configure":
		return s.configure("maxPods: 99\nserializeImagePulls: false\n")
	case "misconfigure":
		return s.configure("maxPods: [\n")
	case "reconfigure":
		return s.configure("maxPods: 98\n")
	default:
		return fmt.Errorf("the story asks for %q", wish)
	}
	return nil
}

// configure writes a drop-in of the node's configuration.
func (s stage) configure(fields string) error {
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + fields
	if err := os.WriteFile(filepath.Join(s.drops, "50.conf"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a drop-in: %w", err)
	}
	return nil
}
