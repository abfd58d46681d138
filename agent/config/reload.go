package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// A Part of the agent takes other values of its settings while it runs.
type Part string

const (
	PartLog      Part = "log"
	PartOffer    Part = "offer" // of the node to pods
	PartEviction Part = "eviction"
	PartImages   Part = "image collector"
	PartPulls    Part = "image pulls"
	PartLogs     Part = "container logs"
	PartStreams  Part = "streams"
	PartAccess   Part = "access"

	// atStart means that no part takes another value: it waits for the next start.
	atStart Part = "start"
)

// labelsFile is the only flag whose value the running node takes: the labels in its file.
const labelsFile = "--node-labels-file"

// A Difference is a setting that has one value in the running node and another in the files.
type Difference struct {
	Setting         string
	TakenBy         Part   // empty if the value waits for the next start
	Running, Wanted []byte // as JSON, without secrets
}

// Files names the files that Load reads. Each may be empty.
type Files struct {
	Config string
	Dir    string // of drop-ins
	Labels string
}

// Files returns the files of the configuration.
func (c *Config) Files() Files {
	o := &c.given.options
	return Files{Config: o.ConfigFile, Dir: o.ConfigDir, Labels: o.NodeLabelsFile}
}

// Reread returns what a node with the same command line would start with now.
func (c *Config) Reread() (*Config, error) { return Load(c.given.args) }

// Differences returns the settings that differ in wanted, sorted by their names. Those without an effect are left out.
func (c *Config) Differences(wanted *Config) ([]Difference, error) {
	running, err := c.byName()
	if err != nil {
		return nil, err
	}
	want, err := wanted.byName()
	if err != nil {
		return nil, err
	}
	var all []Difference
	for name, takenBy := range takers() {
		if running[name].equals(want[name]) {
			continue
		}
		d := Difference{Setting: name, Running: running[name].shown, Wanted: want[name].shown}
		if takenBy != atStart {
			d.TakenBy = takenBy
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Setting, b.Setting) })
	return all, nil
}

// Take returns the running configuration with those values of wanted that a running node takes. It fails if the values
// that wait contradict those that do not.
func (c *Config) Take(wanted *Config) (*Config, error) {
	o := c.given.options
	k := o.Kubelet.DeepCopy()
	values := map[string]reflect.Value{}
	for path, v := range fields(&wanted.given.options.Kubelet) {
		values[path] = v
	}
	table := fieldSettings()
	for path, v := range fields(k) {
		if table[path].takenBy != atStart {
			v.Set(values[path])
		}
	}
	o.Kubelet, o.fileLabels = *k, wanted.given.options.fileLabels
	next, err := settle(&o)
	if err != nil {
		return nil, fmt.Errorf("take some of the settings without a restart: %w", err)
	}
	next.Node.Name = c.Node.Name // the machine's may be another by now
	sources := map[string]string{}
	for name, source := range c.given.sources {
		if table[name].takenBy == atStart || table[name].field == "" {
			sources[name] = source
		}
	}
	for name, source := range wanted.given.sources {
		if s, isField := table[name]; isField && s.takenBy != atStart {
			sources[name] = source
		}
	}
	next.given.args, next.given.sources = c.given.args, sources
	next.given.commandLine, next.given.ignoredFlags = c.given.commandLine, c.given.ignoredFlags
	return next, nil
}

// takers returns which part takes each setting that has an effect and that files may set.
func takers() map[string]Part {
	all := map[string]Part{labelsFile: PartOffer}
	for s := range honoured() {
		if s.field != "" {
			all[s.field] = s.takenBy
		}
	}
	return all
}

// content is a setting's value, and its form without secrets.
type content struct {
	of    any
	shown []byte
}

func (v content) equals(other content) bool { return equality.Semantic.DeepEqual(v.of, other.of) }

// byName returns the values of all fields, and the labels of the file.
func (c *Config) byName() (map[string]content, error) {
	labels := c.given.options.fileLabels
	text, err := json.Marshal(labels)
	if err != nil {
		return nil, fmt.Errorf("encode labels: %w", err)
	}
	all := map[string]content{labelsFile: {labels, text}}
	for path, v := range fields(&c.given.options.Kubelet) {
		all[path] = content{of: v.Interface()}
	}
	shown := c.given.options.Kubelet.DeepCopy()
	redact(shown)
	for path, v := range fields(shown) {
		text, err := json.Marshal(v.Interface())
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", path, err)
		}
		all[path] = content{all[path].of, text}
	}
	return all, nil
}
