package readme

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"nodal/test/agent"
)

// upstreamBlock is the command line under "In upstream's place".
var upstreamBlock = regexp.MustCompile("(?s)```\nbin/kubelet (.*?)\n```")

func TestUpstreamsCommandLineIsAccepted(t *testing.T) {
	text, err := os.ReadFile("../../docs/INSTALL.md")
	if err != nil {
		t.Fatal(err)
	}
	block := upstreamBlock.FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("docs/INSTALL.md shows no command line that begins with bin/kubelet")
	}
	args := strings.Fields(strings.ReplaceAll(block[1], "\\\n", ""))
	kubelet, err := agent.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// With --version the kubelet reads the flags and starts nothing.
	out, err := exec.Command(kubelet, append(args, "--version")...).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "Kubernetes v1.") {
		t.Errorf("kubelet %s --version: %v\n%s", strings.Join(args, " "), err, out)
	}
	out, err = exec.Command(kubelet, append(args, "--no-such-flag", "--version")...).CombinedOutput()
	if err == nil {
		t.Errorf("a flag that does not exist is taken too:\n%s", out)
	}
}
