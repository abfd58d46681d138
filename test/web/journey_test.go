package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

// patience is for the whole story, which takes a third of it on two busy cores.
const patience = 4 * time.Minute

func TestAUserDoesEverythingInABrowser(t *testing.T) {
	claim.Shows(t, "Ways in",
		"a browser does everything: apply, usage, logs, terminals, roll back, images and what pods use",
		"a browser imports a tarball and prunes images, with a plan first",
		"a line of a log has an address of its own in the dashboard")
	d := daemon.StartAlone(t)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "journey.mjs")
	cmd.Env = append(os.Environ(),
		"LINK="+d.Invite(), "SECOND_LINK="+d.Invite(), "IMAGE=nodal.test/busybox:1", "TARBALL="+saveBusybox(t),
		"VIEWER_TOKEN="+filepath.Join(d.Dir, "credentials/viewer.token"), "PROFILE="+t.TempDir())
	cmd.Stderr = t.Output()
	// The browser is the script's child and ends with it, unless that is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
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
	if err := answer(t, d, out, in); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the story ends badly: %v", err)
	}
}

// saveBusybox writes a tarball as docker save does, for the browser to import.
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

// answer does what the story asks for, until it ends.
func answer(t *testing.T, d *daemon.Daemon, out io.Reader, in io.Writer) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		t.Log(lines.Text())
		wish, ok := strings.CutPrefix(lines.Text(), "@")
		if !ok {
			continue
		}
		switch wish {
		case "kill":
			d.Kill()
		case "launch":
			d.Launch()
		default:
			return fmt.Errorf("the story asks for %q", wish)
		}
		if _, err := fmt.Fprintln(in, "done"); err != nil {
			return fmt.Errorf("tell the story that it is done: %w", err)
		}
	}
	return lines.Err()
}
