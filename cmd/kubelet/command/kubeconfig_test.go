package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestAKubeconfigLeadsToTheNode(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"pki/ca.crt": "an authority", "credentials/viewer.token": "nodal_secret\n"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, args string
		code       int
		fault      string
	}{
		{"a role that has a token", "--role viewer --server https://node.example:10250", 0, ""},
		{"a role without one", "--role admin", 1, "admin.token"},
		{"no role", "--role king", 2, `--role "king"`},
		{"another directory", "--root-dir /none", 1, "--root-dir"},
		{"a word too many", "now", 2, `unexpected argument "now"`},
	} {
		var out, fault bytes.Buffer
		code := runKubeconfig(append([]string{"--root-dir", root}, strings.Fields(c.args)...), Console{Out: &out, Err: &fault})
		if code != c.code || !strings.Contains(fault.String(), c.fault) {
			t.Errorf("%s: got %d %s, want %d and %q", c.name, code, fault.String(), c.code, c.fault)
		}
		if c.code != 0 {
			continue
		}
		read, err := clientcmd.RESTConfigFromKubeConfig(out.Bytes())
		if err != nil || read.Host != "https://node.example:10250" || read.BearerToken != "nodal_secret" || string(read.CAData) != "an authority" {
			t.Errorf("%s: it reads as %+v, %v", c.name, read, err)
		}
	}
}
