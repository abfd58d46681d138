package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"

	"nodal/node/policy"
)

// PolicyFlags receives the flags that say what pods may ask of the machine.
type PolicyFlags struct {
	Levels                        []string // poster=level, or namespace/name=level
	AllowPrivileged               bool
	HostNetwork, HostPID, HostIPC []string // sources
}

// resolvePolicy builds the policy from its flags. --pod-security adds levels to the default, which holds operators to
// the baseline unless the flag names another level for them.
func resolvePolicy(f PolicyFlags) (policy.Policy, error) {
	p := policy.Policy{
		Posters:      map[policy.Poster]policy.Level{policy.Operator: policy.Baseline},
		Namespaces:   map[string]policy.Level{},
		NoPrivileged: !f.AllowPrivileged,
	}
	for _, item := range f.Levels {
		if err := addLevel(p, item); err != nil {
			return p, fmt.Errorf("--pod-security: %q: %w", item, err)
		}
	}
	for _, switched := range []struct {
		flag    string
		sources []string
		from    *policy.From
	}{
		{"--host-network-sources", f.HostNetwork, &p.HostNetwork},
		{"--host-pid-sources", f.HostPID, &p.HostPID},
		{"--host-ipc-sources", f.HostIPC, &p.HostIPC},
	} {
		from, err := sources(switched.sources)
		if err != nil {
			return p, fmt.Errorf("%s: %w", switched.flag, err)
		}
		*switched.from = from
	}
	return p, nil
}

func addLevel(p policy.Policy, item string) error {
	name, text, ok := strings.Cut(item, "=")
	if !ok {
		return fmt.Errorf("write operator=baseline or namespace/prod=restricted")
	}
	level, err := api.ParseLevel(text)
	if err != nil {
		return fmt.Errorf("level %q %w", text, err)
	}
	if namespace, ok := strings.CutPrefix(name, "namespace/"); ok {
		if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
			return fmt.Errorf("namespace %q: %s", namespace, wrong[0])
		}
		p.Namespaces[namespace] = level
		return nil
	}
	if !slices.Contains(policy.Posters, policy.Poster(name)) {
		return fmt.Errorf("%q is no poster; use one of %s, or namespace/NAME", name, words(policy.Posters))
	}
	p.Posters[policy.Poster(name)] = level
	return nil
}

// sourceWords maps the words for sources in flags such as --host-network-sources to posters. Upstream's kubelet once
// had these flags with the words api, file, http and *.
var sourceWords = map[string]policy.From{
	"api":     {policy.Admin, policy.Operator},
	"cluster": {policy.Cluster},
	"file":    {policy.File},
	"url":     {policy.URL},
	"http":    {policy.URL},
}

// sources returns the posters of the named sources. For a star it returns nil, which allows all of them.
func sources(names []string) (policy.From, error) {
	from := policy.From{}
	for _, name := range names {
		if name == "*" {
			return nil, nil
		}
		posters, ok := sourceWords[name]
		if !ok {
			return nil, fmt.Errorf("%q is no source of pods; use api, cluster, file, url, or * for all", name)
		}
		from = append(from, posters...)
	}
	return from, nil
}

func words(posters []policy.Poster) string {
	all := make([]string, len(posters))
	for i, p := range posters {
		all[i] = string(p)
	}
	return strings.Join(all, ", ")
}
