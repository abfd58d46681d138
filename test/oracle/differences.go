package oracle

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// differences is the content of the file: reasons, each with its cases.
type differences struct {
	Differences []struct {
		Why   string            `json:"why"`
		Cases map[string]string `json:"cases"`
	} `json:"differences"`
}

// Listed returns the reasons in a file, by the cases' names.
func Listed(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all differences
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	listed := map[string]string{}
	for _, d := range all.Differences {
		if d.Why == "" {
			return nil, fmt.Errorf("read %s: a difference has no reason: %q", file, slices.Sorted(maps.Keys(d.Cases)))
		}
		for name, what := range d.Cases {
			if _, twice := listed[name]; twice {
				return nil, fmt.Errorf("read %s: %q is there twice", file, name)
			}
			listed[name] = what
		}
	}
	return listed, nil
}
