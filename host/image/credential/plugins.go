package credential

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1"
	credentialprovider "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	"sigs.k8s.io/yaml"

	"nodal/node"
)

const (
	pluginAPI     = "credentialprovider.kubelet.k8s.io/v1"
	pluginTimeout = time.Minute
	configAPI     = "kubelet.config.k8s.io/v1"
)

// Plugins runs programs for credentials, by Kubernetes' credential provider API v1.
type Plugins struct {
	// Ran is called after each run of a program; nil disables it.
	Ran func(plugin string, took time.Duration, err error)
	// Hash identifies the configuration, in Kubernetes' form.
	Hash string

	providers []provider

	mu    sync.Mutex // not held while a program is asked
	cache map[cacheKey]answer
}

type provider struct {
	kubelet.CredentialProvider
	program  string
	patterns []pattern
	turn     chan struct{} // holds a place while the program is asked: its answer may serve others too
}

// cacheKey names the images that an answer is for.
type cacheKey struct {
	provider string
	kind     credentialprovider.PluginCacheKeyType
	of       string // image or registry
}

type answer struct {
	keys  Keyring
	until time.Time
}

// LoadPlugins reads the configuration, a file or a directory of them, and looks
// for the programs.
func LoadPlugins(config, programs string) (*Plugins, error) {
	files, err := configFiles(config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of credential providers: %w", err)
	}
	p, whole := &Plugins{cache: map[cacheKey]answer{}}, sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the configuration of credential providers: %w", err)
		}
		if err := p.load(data, programs); err != nil {
			return nil, fmt.Errorf("configuration of credential providers %s: %w", file, err)
		}
		whole.Write(data)
	}
	p.Hash = fmt.Sprintf("sha256:%x", whole.Sum(nil))
	return p, nil
}

func configFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries { // in the order of their names
		if slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

func (p *Plugins) load(data []byte, programs string) error {
	var config kubelet.CredentialProviderConfig
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return fmt.Errorf("%w: %w", err, node.ErrInvalid)
	}
	if config.APIVersion != configAPI || config.Kind != "CredentialProviderConfig" {
		return fmt.Errorf("it is a %q of %q, not a CredentialProviderConfig of %s: %w", config.Kind, config.APIVersion, configAPI, node.ErrInvalid)
	}
	for _, c := range config.Providers {
		known := slices.ContainsFunc(p.providers, func(o provider) bool { return o.Name == c.Name })
		if err := check(c, known); err != nil {
			return fmt.Errorf("provider %q: %w: %w", c.Name, err, node.ErrInvalid)
		}
		made := provider{CredentialProvider: c, program: filepath.Join(programs, c.Name), turn: make(chan struct{}, 1)}
		if _, err := exec.LookPath(made.program); err != nil {
			return fmt.Errorf("provider %q: %w", c.Name, err)
		}
		for _, m := range c.MatchImages {
			made.patterns = append(made.patterns, parsePattern(m))
		}
		p.providers = append(p.providers, made)
	}
	return nil
}

// check finds the fault of one provider's configuration.
func check(c kubelet.CredentialProvider, known bool) error {
	switch {
	case c.Name == "" || c.Name == "." || c.Name == ".." || strings.ContainsAny(c.Name, "/ "):
		return errors.New("name: must be the file name of a program")
	case known:
		return errors.New("name: another provider has it too")
	case c.APIVersion != pluginAPI:
		return fmt.Errorf("apiVersion: it is %q, not %s", c.APIVersion, pluginAPI)
	case len(c.MatchImages) == 0:
		return errors.New("matchImages: required")
	case c.DefaultCacheDuration == nil || c.DefaultCacheDuration.Duration < 0:
		return errors.New("defaultCacheDuration: required, and must be at least 0")
	case c.TokenAttributes != nil:
		return errors.New("tokenAttributes: not supported: the node has no API server that issues tokens")
	}
	return nil
}

// Ask returns the credentials that the plugins have for an image. The error names the plugins that did not answer.
func (p *Plugins) Ask(ctx context.Context, ref string) (Keyring, error) {
	if p == nil {
		return nil, nil
	}
	name := nameOf(ref)
	var keys Keyring
	var errs []error
	for _, provider := range p.providers {
		if !slices.ContainsFunc(provider.patterns, func(m pattern) bool { return m.matches(name) }) {
			continue
		}
		found, err := p.ask(ctx, provider, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("ask credential provider %s: %w", provider.Name, err))
		}
		keys = Join(keys, found)
	}
	return keys, errors.Join(errs...)
}

// ask uses a cached answer, or runs the program. A program that hangs delays only pulls of its
// own images, and those no longer than one answer may take.
func (p *Plugins) ask(ctx context.Context, from provider, image pattern) (Keyring, error) {
	kinds := map[credentialprovider.PluginCacheKeyType]string{
		credentialprovider.ImagePluginCacheKeyType:    image.String(),
		credentialprovider.RegistryPluginCacheKeyType: pattern{host: image.host, port: image.port}.String(),
		credentialprovider.GlobalPluginCacheKeyType:   "",
	}
	if keys, ok := p.known(from.Name, kinds); ok {
		return keys, nil
	}
	waiting, done := context.WithTimeout(ctx, pluginTimeout)
	defer done()
	select {
	case from.turn <- struct{}{}:
		defer func() { <-from.turn }()
	case <-waiting.Done():
		return nil, fmt.Errorf("wait until it has answered others: %w", waiting.Err())
	}
	if keys, ok := p.known(from.Name, kinds); ok { // an earlier answer
		return keys, nil
	}
	began := time.Now()
	reply, err := from.run(ctx, image.String())
	if p.Ran != nil {
		p.Ran(from.Name, time.Since(began), err)
	}
	if err != nil {
		return nil, err
	}
	of, ok := kinds[reply.CacheKeyType]
	if !ok {
		return nil, fmt.Errorf("it answers with cacheKeyType %q: %w", reply.CacheKeyType, node.ErrInvalid)
	}
	logins := map[string]login{}
	for host, auth := range reply.Auth {
		logins[host] = login{Username: auth.Username, Password: auth.Password}
	}
	keys, err := keyringOf(logins)
	holds := from.DefaultCacheDuration.Duration
	if reply.CacheDuration != nil {
		holds = reply.CacheDuration.Duration
	}
	if holds > 0 && err == nil {
		p.keep(cacheKey{from.Name, reply.CacheKeyType, of}, keys, holds)
	}
	return keys, err
}

// known returns an answer of a provider that is still valid.
func (p *Plugins) known(provider string, kinds map[credentialprovider.PluginCacheKeyType]string) (Keyring, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for kind, of := range kinds {
		if a, ok := p.cache[cacheKey{provider, kind, of}]; ok && now.Before(a.until) {
			return a.keys, true
		}
	}
	return nil, false
}

// keep caches an answer, and drops those that are no longer valid: they hold passwords.
func (p *Plugins) keep(key cacheKey, keys Keyring, holds time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.cache, func(_ cacheKey, old answer) bool { return !now.Before(old.until) })
	p.cache[key] = answer{keys, now.Add(holds)}
}

// run asks the program once. Its output stays out of errors: there may be a password in it.
func (p provider) run(ctx context.Context, image string) (*credentialprovider.CredentialProviderResponse, error) {
	request, err := json.Marshal(credentialprovider.CredentialProviderRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: pluginAPI, Kind: "CredentialProviderRequest"}, Image: image,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, p.Args...)
	cmd.Stdin = bytes.NewReader(request)
	cmd.WaitDelay = time.Second // for child processes that it has left
	cmd.Env = os.Environ()
	for _, e := range p.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(err.Error()) // without its output
	}
	reply := &credentialprovider.CredentialProviderResponse{}
	if err := json.Unmarshal(out, reply); err != nil {
		return nil, unreadable(err)
	}
	if reply.APIVersion != pluginAPI || reply.Kind != "CredentialProviderResponse" {
		return nil, fmt.Errorf("it answers with a %q of %q: %w", reply.Kind, reply.APIVersion, node.ErrInvalid)
	}
	return reply, nil
}
