package daemon

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	nodev1 "nodal/api/gen/node/v1"
)

// Curl runs curl on a path over the unix socket and returns the body. The
// status code is the second result.
func (d *Daemon) Curl(path string, args ...string) (body string, code int) {
	d.t.Helper()
	return d.curl(append([]string{"--unix-socket", d.Socket, "http://node" + path}, args...))
}

// CurlTLS runs curl on a path of the TLS port with the token of a role; no
// role means no token.
func (d *Daemon) CurlTLS(role, path string, args ...string) (body string, code int) {
	d.t.Helper()
	all := []string{"--cacert", filepath.Join(d.Dir, "pki", "ca.crt"), d.URL(path)}
	if role != "" {
		all = append(all, "-H", "Authorization: Bearer "+d.Token(role))
	}
	return d.curl(append(all, args...))
}

func (d *Daemon) curl(args []string) (string, int) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "curl", append([]string{"-sS", "-w", "\n%{response_code}"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("curl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	text := string(out)
	cut := strings.LastIndexByte(text, '\n')
	var code int
	must(d.t, json.Unmarshal([]byte(text[cut+1:]), &code))
	return text[:cut], code
}

// URL is a path on the TLS port.
func (d *Daemon) URL(path string) string {
	return "https://" + d.Address() + path
}

// Token is the token of a role.
func (d *Daemon) Token(role string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.Dir, "credentials", role+".token"))
	must(d.t, err)
	return strings.TrimSpace(string(data))
}

// Apply posts a bundle that has to be taken.
func (d *Daemon) Apply(manifest string) *nodev1.ApplyResponse {
	d.t.Helper()
	response, err := nodev1.NewManifestsServiceClient(d.Conn()).Apply(d.t.Context(), &nodev1.ApplyRequest{Manifest: manifest})
	if err != nil {
		d.t.Fatalf("apply: %v\n%s", err, manifest)
	}
	return response
}

// Delete starts the deletion of a pod in the default namespace.
func (d *Daemon) Delete(name string) {
	d.t.Helper()
	_, err := nodev1.NewPodsServiceClient(d.Conn()).DeletePod(d.t.Context(), &nodev1.DeletePodRequest{Namespace: "default", Name: name})
	if err != nil {
		d.t.Fatalf("delete %s: %v", name, err)
	}
}
