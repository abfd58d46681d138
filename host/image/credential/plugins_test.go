package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// plugin is a directory with a configuration and a program, which answers as the
// test says and counts how often it was asked.
type plugin struct {
	*testing.T
	dir string
}

func newPlugin(t *testing.T, answer string) plugin {
	p := plugin{t, t.TempDir()}
	p.write("helper", "#!/bin/sh\ncat >> "+p.dir+"/asked\necho >> "+p.dir+"/asked\necho \"$WORD $1\" >> "+p.dir+"/told\n"+answer, 0o755)
	return p
}

func (p plugin) write(name, text string, mode os.FileMode) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.Fatal(err)
	}
	return path
}

const providers = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: helper
  matchImages: ["*.registry.example", "registry.example/team"]
  defaultCacheDuration: 1h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get]
  env: [{name: WORD, value: please}]
`

func (p plugin) load(config string) (*Plugins, error) {
	p.Helper()
	return LoadPlugins(p.write("providers.yaml", config, 0o600), p.dir)
}

func (p plugin) asked() int {
	data, _ := os.ReadFile(filepath.Join(p.dir, "asked")) // the file is missing before the first call
	return strings.Count(string(data), "\n")
}

// answering is a program that knows one user.
func answering(kind, cache string) string {
	return fmt.Sprintf("cat <<'EOF'\n"+`{"apiVersion": "credentialprovider.kubelet.k8s.io/v1", "kind": "CredentialProviderResponse", "cacheKeyType": %q%s,
"auth": {"*.registry.example": {"username": "me", "password": "hunter2"}}}`+"\nEOF\n", kind, cache)
}

func TestPluginsAreAskedAsOftenAsTheySay(t *testing.T) {
	images := []string{"a.registry.example/x:1", "a.registry.example/x:2", "a.registry.example/y", "b.registry.example/y", "other.example/z"}
	for _, c := range []struct {
		kind, cache string
		asked       int
	}{
		{"Image", "", 3}, {"Registry", "", 2}, {"Global", "", 1}, {"Image", `, "cacheDuration": "0s"`, 4},
	} {
		t.Run(c.kind+c.cache, func(t *testing.T) {
			p := newPlugin(t, answering(c.kind, c.cache))
			plugins, err := p.load(providers)
			if err != nil {
				t.Fatal(err)
			}
			for _, image := range images {
				keys, err := plugins.Ask(t.Context(), image)
				want := "me"
				if strings.HasPrefix(image, "other") {
					want = ""
				}
				if got := users(keys.For(image)); got != want || err != nil {
					t.Errorf("%s: got %q, %v, want %q", image, got, err, want)
				}
			}
			if p.asked() != c.asked {
				t.Errorf("it was asked %d times, want %d", p.asked(), c.asked)
			}
			said, err := os.ReadFile(filepath.Join(p.dir, "asked"))
			if want := `"apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a.registry.example/x"`; err != nil || !strings.Contains(string(said), want) {
				t.Errorf("it was asked %s, %v, want %s", said, err, want)
			}
			if told, err := os.ReadFile(filepath.Join(p.dir, "told")); err != nil || !strings.HasPrefix(string(told), "please get\n") {
				t.Errorf("it was run with %q, %v, want its environment and arguments", told, err)
			}
		})
	}
}

func TestRunsOfPluginsAreTold(t *testing.T) {
	p := newPlugin(t, "exit 1\n")
	plugins, err := p.load(providers)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	plugins.Ran = func(name string, took time.Duration, err error) {
		if runs++; name != "helper" || took <= 0 || err == nil {
			t.Errorf("told of %s after %s: %v, want the failure of helper", name, took, err)
		}
	}
	for range 2 {
		_, _ = plugins.Ask(t.Context(), "a.registry.example/x")
	}
	if runs != 2 {
		t.Errorf("told of %d runs, want 2", runs)
	}
	again, err := p.load(providers + "\n")
	if err != nil || !strings.HasPrefix(plugins.Hash, "sha256:") || len(plugins.Hash) != len("sha256:")+64 || again.Hash == plugins.Hash {
		t.Errorf("the configurations have the hashes %q and %q, %v, want one for each", plugins.Hash, again.Hash, err)
	}
}

const twoProviders = providers + `- name: stuck
  matchImages: ["stuck.example"]
  defaultCacheDuration: 1h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
`

func TestAPluginThatHangsHoldsUpNoOthers(t *testing.T) {
	p := newPlugin(t, answering("Image", ""))
	begun := filepath.Join(p.dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("stuck", "#!/bin/sh\necho >"+begun+"\nexec sleep 1000\n", 0o755)
	plugins, err := p.load(twoProviders)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := plugins.Ask(ctx, "stuck.example/x")
		given <- err
	}()
	if _, err := os.ReadFile(begun); err != nil { // until the program has come so far
		t.Fatal(err)
	}
	keys, err := plugins.Ask(t.Context(), "a.registry.example/x")
	if got := users(keys.For("a.registry.example/x")); got != "me" || err != nil {
		t.Errorf("beside a program that hangs: got %q, %v, want me", got, err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := plugins.Ask(gone, "stuck.example/y"); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone waits for the program that hangs: %v", err)
	}
	select {
	case err := <-given:
		t.Errorf("they have waited for the program that hangs, until it was given up: %v", err)
	default:
		cancel()
		<-given
	}
	cancel()
}

func TestAnswersThatAreOverAreNotKept(t *testing.T) {
	p := newPlugin(t, answering("Image", ""))
	plugins, err := p.load(strings.Replace(providers, "1h", "1ns", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{"a.registry.example/x", "a.registry.example/y", "a.registry.example/z"} {
		if _, err := plugins.Ask(t.Context(), image); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(plugins.cache); got != 1 {
		t.Errorf("%d answers are kept, want the last one alone", got)
	}
}

func TestAnAnswerOfAPluginEnds(t *testing.T) {
	p := newPlugin(t, answering("Global", ""))
	plugins, err := p.load(strings.Replace(providers, "1h", "1ns", 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := plugins.Ask(t.Context(), "a.registry.example/x"); err != nil {
			t.Fatal(err)
		}
	}
	if p.asked() != 2 {
		t.Errorf("it was asked %d times, want anew after %s", p.asked(), time.Nanosecond)
	}
}

func TestPluginsThatFail(t *testing.T) {
	for name, answer := range map[string]string{
		"it fails":         "echo hunter2; echo hunter2 >&2; exit 3",
		"it says nonsense": "echo hunter2",
		"another kind":     `echo '{"kind": "Other", "auth": {"x": {"password": "hunter2"}}}'`,
		"no cache key":     answering("Nothing", ""),
	} {
		t.Run(name, func(t *testing.T) {
			plugins, err := newPlugin(t, answer).load(providers)
			if err != nil {
				t.Fatal(err)
			}
			keys, err := plugins.Ask(t.Context(), "registry.example/team/app")
			if err == nil || len(keys) != 0 || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "helper") {
				t.Errorf("got %v, %v, want an error that names the plugin and shows nothing", keys, err)
			}
		})
	}
	if keys, err := (*Plugins)(nil).Ask(t.Context(), "app"); keys != nil || err != nil {
		t.Errorf("without plugins: got %v, %v", keys, err)
	}
}

func TestConfigurationsOfPluginsThatAreWrong(t *testing.T) {
	for name, c := range map[string][2]string{
		"an unknown field":  {"args:", "arguments:"},
		"another version":   {"kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v2"},
		"an older plugin":   {"credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1beta1"},
		"no program":        {"name: helper", "name: absent"},
		"a path":            {"name: helper", "name: ../helper"},
		"no images":         {`["*.registry.example", "registry.example/team"]`, "[]"},
		"no cache duration": {"  defaultCacheDuration: 1h\n", ""},
		"a token":           {"  args: [get]", "  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: true}"},
	} {
		t.Run(name, func(t *testing.T) {
			config := strings.Replace(providers, c[0], c[1], 1)
			if config == providers {
				t.Fatal("the change changes nothing")
			}
			if _, err := newPlugin(t, "").load(config); err == nil {
				t.Error("it was taken")
			}
		})
	}
	p := newPlugin(t, "")
	p.write("a.yaml", providers, 0o600)
	if plugins, err := LoadPlugins(p.dir, p.dir); err != nil || len(plugins.providers) != 1 {
		t.Errorf("a directory: got %v, want its one provider", err)
	}
	p.write("b.yaml", providers, 0o600)
	if _, err := LoadPlugins(p.dir, p.dir); err == nil {
		t.Error("two providers of one name were taken")
	}
}
