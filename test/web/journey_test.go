package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

// patience is for the whole story, which takes a third of it on two busy cores.
const patience = 4 * time.Minute

func TestAUserDoesEverythingInABrowser(t *testing.T) {
	rt := rig.Containerd(t)
	d := daemon.Start(t, rt)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "journey.mjs")
	cmd.Env = append(os.Environ(),
		"LINK="+d.Invite(), "SECOND_LINK="+d.Invite(), "IMAGE="+rt.Image("busybox"),
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
