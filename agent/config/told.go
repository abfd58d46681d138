package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Told setting is a field or a flag, with the value that the node was told or the default.
type Told struct {
	Name    string // "maxPods", or "--root-dir" for a flag that is no field
	Flag    string // that sets the field; empty if there is none
	Source  string // the file or the flag that sets it; empty for a default
	Value   []byte // as JSON, without secrets
	Instead string // what the node does instead; empty if the value is in force
	TakenBy Part   // takes another value of the files while the node runs; empty if that waits for the next start, as a flag does
}

// Told returns all settings, sorted by their names.
func (c *Config) Told() ([]Told, error) {
	shown := c.given.options.Kubelet.DeepCopy()
	redact(shown)
	table, unmet := fieldSettings(), Unhonoured(c)
	all := c.toldFlags()
	for path, value := range fields(shown) {
		data, err := json.Marshal(value.Interface())
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", path, err)
		}
		t := Told{Name: path, Source: c.given.sources[path], Value: data}
		if flag := table[path].flag; flag != "" {
			t.Flag = "--" + flag
		}
		all = append(all, t)
	}
	live := takers()
	for i := range all {
		all[i].Instead = instead(all[i].Name, unmet)
		by := live[all[i].Name]
		if byFlag := strings.HasPrefix(all[i].Source, "--"); by != atStart && (!byFlag || all[i].Name == labelsFile) {
			all[i].TakenBy = by
		}
	}
	slices.SortFunc(all, func(a, b Told) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// toldFlags returns the flags that are no field. Those without effect are left out unless they were given.
func (c *Config) toldFlags() (all []Told) {
	ofFields := map[string]bool{"help": true, "version": true}
	for _, s := range fieldSettings() {
		ofFields[s.flag] = true
	}
	for _, f := range ignoredFlags {
		ofFields[f.name] = c.given.sources["--"+f.name] == ""
	}
	values := c.Flagz()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if ofFields[name] {
			continue
		}
		data, _ := json.Marshal(values[name]) // a string always has a form
		all = append(all, Told{Name: "--" + name, Source: c.given.sources["--"+name], Value: data})
	}
	return all
}

// instead returns what the node does in place of a setting, or of its entries: evictionHard[containerfs.available].
func instead(name string, unmet []Unmet) string {
	var all []string
	for _, s := range idle {
		if s.field == name {
			return s.means
		}
	}
	for _, u := range unmet {
		rest, found := strings.CutPrefix(u.Setting, name)
		switch {
		case found && (rest == "" || rest[0] == '='):
			all = append(all, u.Means)
		case found && rest[0] == '[':
			all = append(all, strings.Trim(rest, "[]")+": "+u.Means)
		}
	}
	return strings.Join(all, "; ")
}

// Given reports whether a file or a flag sets the field at path.
func (c *Config) Given(path string) bool { return c.given.sources[path] != "" }
