package config

import (
	"fmt"
	"maps"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// labelsFlag takes labels as upstream's --node-labels does: a name alone is a label without a value, and nothing
// between two commas is no label. k3s gives nothing at all where a node has no labels.
type labelsFlag struct{ into *map[string]string }

func (f labelsFlag) Set(text string) error {
	for item := range items(text) {
		key, value, _ := strings.Cut(item, "=")
		if *f.into == nil {
			*f.into = map[string]string{}
		}
		(*f.into)[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return nil
}

func (f labelsFlag) String() string {
	if f.into == nil {
		return ""
	}
	return labels.Set(*f.into).String()
}

func (labelsFlag) Type() string { return "labels" }

// readLabels reads a file of labels: key=value, one a line. Empty lines and those that begin with # are left out.
func readLabels(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --node-labels-file: %w", err)
	}
	labels := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if _, twice := labels[key]; !ok || twice {
			return nil, fmt.Errorf("read --node-labels-file %s: line %d: want key=value, and each key once", file, number)
		}
		labels[key] = value
	}
	return labels, nil
}

// labels returns the labels of the node: those of the file, and those of the command line, which win.
func (o *Options) labels() map[string]string {
	if len(o.fileLabels) == 0 {
		return o.NodeLabels
	}
	all := maps.Clone(o.fileLabels)
	maps.Copy(all, o.NodeLabels)
	return all
}
