package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Case is one manifest of the corpus.
type Case struct {
	Name   string // "probes: HTTP without a port"
	Object map[string]any
}

// Kind returns the kind of the manifest.
func (c Case) Kind() string { return c.Object["kind"].(string) }

type subject struct {
	Kind  string                    `json:"kind"`
	Sound map[string]any            `json:"sound"` // the manifest that the cases patch; that of a pod is known
	Cases map[string]map[string]any `json:"cases"`
}

// Read returns the cases of all files in a directory, in order.
func Read(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, file := range files {
		of, err := readSubject(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		cases = append(cases, of...)
	}
	return cases, nil
}

func readSubject(file string) ([]Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s subject
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return nil, err
	}
	var cases []Case
	title := strings.TrimSuffix(filepath.Base(file), ".yaml")
	for _, name := range slices.Sorted(maps.Keys(s.Cases)) {
		object, err := s.base()
		if err != nil {
			return nil, err
		}
		patch := expand(s.Cases[name]).(map[string]any)
		if s.Kind == "Pod" {
			for _, word := range slices.Sorted(maps.Keys(patch)) {
				if err := patchPod(object, word, patch[word]); err != nil {
					return nil, fmt.Errorf("case %q: %w", name, err)
				}
			}
		} else {
			object = merge(object, patch).(map[string]any)
		}
		cases = append(cases, Case{Name: title + ": " + name, Object: object})
	}
	return cases, nil
}

const soundPod = "apiVersion: v1\nmetadata: {name: web}\nspec: {containers: [{name: app, image: a:1}]}"

// base returns the valid manifest of a subject.
func (s subject) base() (map[string]any, error) {
	object := maps.Clone(s.Sound)
	if s.Kind == "Pod" {
		if err := yaml.Unmarshal([]byte(soundPod), &object); err != nil {
			return nil, err
		}
	}
	if object == nil {
		return nil, fmt.Errorf("no sound manifest of kind %q", s.Kind)
	}
	object["kind"] = s.Kind
	return expand(object).(map[string]any), nil
}

// place is the path that a word of a pod's patch stands for, with the value before the patch.
type place struct{ path, before string }

const affinity = "spec.affinity."

var places = map[string]place{
	"meta": {"metadata", ""}, "spec": {"spec", ""},
	"app":       {"spec.containers.0", ""},
	"init":      {"spec.initContainers.0", "{name: init, image: a:1}"},
	"eph":       {"spec.ephemeralContainers.0", "{name: eph, image: a:1}"},
	"port":      {"spec.containers.0.ports.0", "{containerPort: 80}"},
	"env":       {"spec.containers.0.env.0", "{name: A}"},
	"mount":     {"spec.containers.0.volumeMounts.0", "{name: v, mountPath: /v}"},
	"device":    {"spec.containers.0.volumeDevices.0", "{name: v, devicePath: /dev/v}"},
	"volume":    {"spec.volumes.0", "{name: v}"},
	"required":  {affinity + "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", ""},
	"preferred": {affinity + "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.0", ""},
	"near":      {affinity + "podAffinity.requiredDuringSchedulingIgnoredDuringExecution.0", ""},
}

func patchPod(object map[string]any, word string, patch any) error {
	to, ok := places[word]
	if !ok {
		return fmt.Errorf("the patch begins with %q: want one of %q", word, slices.Sorted(maps.Keys(places)))
	}
	var before any
	if err := yaml.Unmarshal([]byte(to.before), &before); err != nil {
		return err
	}
	put(object, strings.Split(to.path, "."), func(there any) any {
		if there == nil {
			there = before
		}
		return merge(there, patch)
	})
	return nil
}

// put changes the value at a path, and creates the fields that lead there.
func put(at any, path []string, change func(any) any) any {
	if len(path) == 0 {
		return change(at)
	}
	if _, err := strconv.Atoi(path[0]); err == nil { // the first of a list
		list, _ := at.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = put(list[0], path[1:], change)
		return list
	}
	object, _ := at.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = put(object[path[0]], path[1:], change)
	return object
}

// merge applies a patch to a value, as RFC 7386 says.
func merge(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, _ := value.(map[string]any)
	merged := maps.Clone(object)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(merged, name)
		} else {
			merged[name] = merge(merged[name], change)
		}
	}
	return merged
}

var shorthand = regexp.MustCompile(`\$\{(?:(.)\*(\d+)|(\w+))\}`)

// expand replaces the abbreviations in texts and keys.
func expand(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, content := range v {
			out[expandText(key)] = expand(content)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expand(v[i])
		}
		return out
	case string:
		return expandText(v)
	}
	return value
}

func expandText(text string) string {
	return shorthand.ReplaceAllStringFunc(text, func(short string) string {
		parts := shorthand.FindStringSubmatch(short)
		if parts[3] != "" {
			return certificates[parts[3]]
		}
		times, err := strconv.Atoi(parts[2])
		if err != nil {
			return short
		}
		return strings.Repeat(parts[1], times)
	})
}
