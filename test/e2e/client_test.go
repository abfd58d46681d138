package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"nodal/test/pace"
)

const patience = 60 * time.Second

// answer is the reply to a client.
type answer struct {
	code int // HTTP status; for grpcurl, its exit code
	body string
}

func (a answer) String() string { return strconv.Itoa(a.code) + " " + a.body }

// into decodes a JSON body.
func (a answer) into(n *node, v any) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		n.t.Fatalf("decode %q: %v", a.body, err)
	}
}

// curl sends a request over the socket; path begins with a slash.
func (n *node) curl(path string, args ...string) answer {
	n.t.Helper()
	return n.runCurl(append(args, "--unix-socket", n.Socket, "http://localhost"+path))
}

// curlTLS sends a request to the TLS port, with the token of a role unless it is empty.
func (n *node) curlTLS(role, path string, args ...string) answer {
	n.t.Helper()
	if role != "" {
		args = append(args, "-H", "Authorization: Bearer "+n.token(role))
	}
	return n.runCurl(append(args, "--cacert", n.CA(), "https://"+n.secure()+path))
}

func (n *node) runCurl(args []string) answer {
	n.t.Helper()
	out, failed, code := n.command("", "curl", append([]string{"-sS", "--noproxy", "*", "-w", "\n%{http_code}"}, args...)...)
	if code != 0 {
		n.t.Fatalf("curl %s: exit code %d: %s", strings.Join(args, " "), code, failed)
	}
	end := strings.LastIndexByte(out, '\n')
	status, err := strconv.Atoi(out[end+1:])
	if err != nil {
		n.t.Fatalf("read curl's status: %v", err)
	}
	return answer{status, out[:end]}
}

// grpcurl calls a method over the socket with a message of JSON.
func (n *node) grpcurl(method, message string) answer {
	n.t.Helper()
	return n.runGrpcurl(message, "-plaintext", "-unix", "-d", "@", n.Socket, method)
}

// grpcurlTLS calls a method on the TLS port with the token of a role.
func (n *node) grpcurlTLS(role, method, message string) answer {
	n.t.Helper()
	return n.runGrpcurl(message, "-cacert", n.CA(), "-H", "authorization: Bearer "+n.token(role), "-d", "@", n.secure(), method)
}

func (n *node) runGrpcurl(message string, args ...string) answer {
	n.t.Helper()
	program, err := grpcurl()
	if err != nil {
		n.t.Fatal(err)
	}
	out, failed, code := n.command(message, program, args...)
	return answer{code, out + failed}
}

// command runs a program to its end.
func (n *node) command(input, name string, args ...string) (out, failed string, code int) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		n.t.Fatalf("run %s: %v", name, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// apply posts a manifest with curl; it must be accepted.
func (n *node) apply(manifest string) {
	n.t.Helper()
	if got := n.curl("/v1/manifests", "--data-binary", manifest); got.code != 200 {
		n.t.Fatalf("apply: got %s, want 200", got)
	}
}

// jsonOf returns a value as JSON.
func (n *node) jsonOf(v any) string {
	n.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(data)
}
