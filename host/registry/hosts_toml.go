package registry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// hostConfig is what containerd takes for one host. What it may learn to take
// later passes unseen.
type hostConfig struct {
	Capabilities []string       `toml:"capabilities"`
	CA           any            `toml:"ca"`
	Client       any            `toml:"client"`
	SkipVerify   *bool          `toml:"skip_verify"`
	OverridePath bool           `toml:"override_path"`
	Header       map[string]any `toml:"header"`
}

// checkHosts reads a hosts.toml and returns where its first table begins: other
// hosts may be put there, while what is above belongs to the file as a whole.
func checkHosts(text []byte) (int, error) {
	var server hostConfig // what is said outside of any host is of the registry itself
	var all struct {
		Server string                `toml:"server"`
		Host   map[string]hostConfig `toml:"host"`
	}
	if err := errors.Join(toml.Unmarshal(text, &server), toml.Unmarshal(text, &all)); err != nil {
		return 0, atLine(err)
	}
	if err := server.check(); err != nil {
		return 0, err
	}
	for url, one := range all.Host {
		if err := one.check(); err != nil {
			return 0, fmt.Errorf("host %q: %w", url, err)
		}
	}
	return firstTable(text), nil
}

// atLine says where a document is wrong.
func atLine(err error) error {
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return err
}

// check refuses what containerd would, since it says so only in its own log.
func (c hostConfig) check() error {
	for _, capability := range c.Capabilities {
		if !slices.Contains([]string{"pull", "resolve", "push"}, strings.ToLower(capability)) {
			return fmt.Errorf("capability %q is none of pull, resolve, push", capability)
		}
	}
	if !isPaths(c.CA, 1) {
		return errors.New("ca has to be a file's path or a list of them")
	}
	if !isPaths(c.Client, 2) {
		return errors.New("client has to be a file's path, a list of them, or a list of pairs [certificate, key]")
	}
	for name, value := range c.Header {
		if !isPaths(value, 1) {
			return fmt.Errorf("header %s has to be a text or a list of them", name)
		}
	}
	return nil
}

// isPaths accepts nothing, a text, or lists of texts within each other to a depth.
func isPaths(value any, depth int) bool {
	switch v := value.(type) {
	case nil, string:
		return true
	case []any:
		return depth > 0 && !slices.ContainsFunc(v, func(one any) bool { return one == nil || !isPaths(one, depth-1) })
	}
	return false
}

// firstTable is the offset of the line on which the first table begins. The text
// is known to be TOML.
func firstTable(text []byte) int {
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind != unstable.Table {
			continue
		}
		for key := node.Key(); key.Next(); {
			return lineStart(text, int(key.Node().Raw.Offset))
		}
	}
	return len(text)
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }
