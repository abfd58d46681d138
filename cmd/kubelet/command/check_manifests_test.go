package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckReadsTheManifestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(flags ...string) string {
		var out, says bytes.Buffer
		runCheck(append(flags, "--container-runtime-endpoint=unix://"+t.TempDir()+"/none.sock", "--hostname-override=node-a"), Console{Out: &out, Err: &says})
		return out.String() + says.String()
	}
	const words = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata: {a: '1'}\n"
	write("a.yaml", words)
	write("b.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostNetwork: true, containers: [{name: app, image: a}]}\n")
	write(".hidden", "{")
	directory := "--pod-manifest-path=" + dir
	if got, want := check(directory), "manifests in "+dir+" (2 files)"; !strings.Contains(got, want) || strings.Contains(got, "manifest "+dir) {
		t.Errorf("got\n%s, want %q and no fault", got, want)
	}
	for _, c := range []struct {
		name, text, flag string
		want             string
	}{
		{"a field that is unknown", strings.Replace(words, "\ndata", "\ndota", 1), "", "c.yaml  invalid manifest: document 1 (ConfigMap default/words): dota: unknown field; did you mean data?; correct it"},
		{"an object twice", words, "", "c.yaml  ConfigMap default/words stands in " + dir + "/a.yaml already"},
		{"a policy", "", "--pod-security=file=baseline", "b.yaml  invalid manifest: document 1 (Pod default/web-node-a): spec: host namespaces (hostNetwork=true)"},
		{"a cluster", "", "--kubeconfig=/etc/kubeconfig", "a.yaml  invalid manifest: document 1 (ConfigMap default/words): kind: is ConfigMap, but a node of a cluster"},
		{"nothing to read", "", "--pod-manifest-path=" + dir + "/none", "manifests in " + dir + "/none  stat: no such file or directory; the node waits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write("c.yaml", c.text)
			if c.text == "" {
				if err := os.Remove(filepath.Join(dir, "c.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			flags := []string{directory}
			if c.flag != "" {
				flags = append(flags, c.flag)
			}
			if got := check(flags...); !strings.Contains(got, c.want) {
				t.Errorf("got\n%s, want a line with %q", got, c.want)
			}
		})
	}
}
