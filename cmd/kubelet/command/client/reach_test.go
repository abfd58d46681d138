package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhichNodeAVerbIsFor(t *testing.T) {
	kept := contexts{Contexts: []nodeContext{{Name: "edge", Node: "https://edge:1", Token: "kept", CA: "kept CA"}}}
	used := kept
	used.Current = "edge"
	files := map[string]string{"token": "from file\n", "ca": "CA of file"}
	for _, c := range []struct {
		name string
		r    reach
		kept contexts
		env  string
		want target
		err  string
	}{
		{name: "this machine's", r: reach{socket: option{value: "/default"}}, kept: kept, want: target{socket: "/default"}},
		{name: "the context in use", r: reach{socket: option{value: "/default"}}, kept: used, want: target{url: "https://edge:1", token: "kept", ca: []byte("kept CA")}},
		{name: "a socket before the context in use", r: reach{socket: option{"/mine", true}}, kept: used, want: target{socket: "/mine"}},
		{name: "a context by name", r: reach{context: "edge"}, kept: kept, want: target{url: "https://edge:1", token: "kept", ca: []byte("kept CA")}},
		{name: "a context that is not kept", r: reach{context: "egde"}, kept: kept, err: `context "egde" is not kept; there are edge`},
		{name: "flags before a context", r: reach{context: "edge", token: "mine", ca: "ca"}, kept: kept, want: target{url: "https://edge:1", token: "mine", ca: []byte("CA of file")}},
		{name: "a URL", r: reach{node: option{"https://n", true}, tokenFile: "token"}, want: target{url: "https://n", token: "from file"}},
		{name: "the environment's token", r: reach{node: option{"https://n", true}}, env: "env", want: target{url: "https://n", token: "env"}},
		{name: "a context's token before the environment's", r: reach{context: "edge"}, kept: kept, env: "env", want: target{url: "https://edge:1", token: "kept", ca: []byte("kept CA")}},
		{name: "no token", r: reach{node: option{"https://n", true}}, err: "no token"},
		{name: "two tokens", r: reach{node: option{"https://n", true}, token: "a", tokenFile: "token"}, err: "give one of them"},
		{name: "no such file", r: reach{node: option{"https://n", true}, tokenFile: "none"}, err: "read the token"},
		{name: "plain HTTP", r: reach{node: option{"http://n", true}, token: "a"}, err: "want a URL such as https://host:10250"},
		{name: "a token for a socket", r: reach{socket: option{"/mine", true}, token: "a"}, err: "a socket knows who asks"},
	} {
		got, err := c.r.choose(surroundings{
			getenv:   func(string) string { return c.env },
			contexts: func() (contexts, error) { return c.kept, nil },
			readFile: func(name string) ([]byte, error) {
				if text, ok := files[name]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			},
		})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.err)
			}
		case err != nil || got.socket != c.want.socket || got.url != c.want.url || got.token != c.want.token || string(got.ca) != string(c.want.ca):
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestContextsAreKeptForTheirOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv(tokenEnv, "")
	token, kubeconfig := filepath.Join(dir, "token"), filepath.Join(dir, "kubeconfig")
	config := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: k, cluster: {server: "https://two:10250"}}],
users: [{name: u, user: {token: second}}], contexts: [{name: c, context: {cluster: k, user: u}}]}`
	if err := errors.Join(os.WriteFile(token, []byte("first\n"), 0o600), os.WriteFile(kubeconfig, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"context list", 0, ""},
		{"context use one", 1, "kubelet context add makes one"},
		{"context add one --node https://one --token-file " + token, 0, ""},
		{"context add two --kubeconfig " + kubeconfig, 0, ""},
		{"context add three --kubeconfig " + token, 1, "kubeconfig"},
		{"context add three --node https://three", 2, "no token"},
		{"context use two", 0, ""},
		{"context list", 0, "*       two   https://two:10250"},
		{"context remove two", 0, ""},
		{"context use three", 1, "there are one"},
		{"context frob", 2, "want add NAME"},
	} {
		out, failed, code := runVerb(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+failed, c.want) {
			t.Errorf("%s: got %d, %q %q, want %d, %q", c.args, code, out, failed, c.code, c.want)
		}
	}
	path := filepath.Join(dir, "nodal", "contexts.yaml")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info, err)
	}
	kept, err := readContexts(path)
	if err != nil || kept.Current != "" || len(kept.Contexts) != 1 || kept.Contexts[0] != (nodeContext{Name: "one", Node: "https://one", Token: "first"}) {
		t.Errorf("got %+v, %v", kept, err)
	}
}

func TestNearestFindsSlipsAndBeginnings(t *testing.T) {
	names := []string{"get", "describe", "delete", "logs", "events"}
	for word, want := range map[string]string{"gte": "get", "desc": "describe", "log": "logs", "evnets": "events", "xyzzy": "", "delte": "delete"} {
		if got := nearest(word, names); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
