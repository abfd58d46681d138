package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/rig"
)

func TestTheClusterTakesThePodAndGoes(t *testing.T) {
	rig.Require(t)
	t.Chdir("../..")
	before := rig.Snapshot()
	dir, err := os.MkdirTemp("/var/lib", "nodal-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	c := cluster{example{kubelet: os.Getenv(agent.BinaryEnv), dir: dir, out: write}, ".cache/parts"}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.stayUp(ctx)
		write.Close()
	}()
	said := readUntil(read, "Ctrl-C removes all of it.")
	go io.Copy(io.Discard, read) // until the pipe is closed
	if config := between(said, "export KUBECONFIG=", "\n"); config == "" {
		t.Errorf("it did not come up:\n%s", said)
	} else {
		kubectl := func(args ...string) string {
			cmd := exec.CommandContext(ctx, c.parts+"/kubectl", append([]string{"--kubeconfig", config}, args...)...)
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, text)
			}
			return string(text)
		}
		kubectl("apply", "-f", manifest)
		kubectl("wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=60s")
		kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
		// The page is written after the start.
		if page := kubectl("exec", "web", "--", "sh", "-c", "until cat /tmp/index.html; do sleep 0.1; done"); !strings.Contains(page, "hello from a pod") {
			t.Errorf("the pod has the page %q", page)
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := rig.Leaks(before); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// readUntil reads text up to some words, or to the end.
func readUntil(r io.Reader, words string) string {
	var said strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(said.String(), words); {
		n, err := r.Read(buffer)
		said.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	return said.String()
}
