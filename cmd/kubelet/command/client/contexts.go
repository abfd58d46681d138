package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"nodal/host/replace"
)

// contexts is the file of named nodes.
type contexts struct {
	Current  string        `json:"current,omitempty"`
	Contexts []nodeContext `json:"contexts"`
}

// nodeContext is a node with how to reach it.
type nodeContext struct {
	Name  string `json:"name"`
	Node  string `json:"node"`
	CA    string `json:"ca,omitempty"`
	Token string `json:"token,omitempty"`
}

// contextsFile returns where the file of contexts is.
func contextsFile() string {
	dir, err := os.UserConfigDir() // it knows XDG_CONFIG_HOME
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "nodal", "contexts.yaml")
}

// readContexts reads the file. Without one there are no contexts.
func readContexts(path string) (all contexts, err error) {
	if path == "" {
		return all, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, fmt.Errorf("read the contexts: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return all, fmt.Errorf("contexts %s: %w; mend or remove it", path, err)
	}
	return all, nil
}

// write writes the file, for its owner alone: it holds tokens.
func (all contexts) write(path string) error {
	if path == "" {
		return errors.New("no directory for the contexts; set XDG_CONFIG_HOME or HOME")
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replace.File(path, text, 0o600)
}

func (all contexts) index(name string) int {
	return slices.IndexFunc(all.Contexts, func(c nodeContext) bool { return c.Name == name })
}

// named returns the context of a name.
func (all contexts) named(name string) (nodeContext, error) {
	i := all.index(name)
	if i < 0 {
		return nodeContext{}, fmt.Errorf("context %q is not kept; %s", name, all.remedy())
	}
	return all.Contexts[i], nil
}

func (all contexts) remedy() string {
	if len(all.Contexts) == 0 {
		return "kubelet context add makes one"
	}
	var names []string
	for _, c := range all.Contexts {
		names = append(names, c.Name)
	}
	return "there are " + strings.Join(names, ", ")
}
