package cri

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// variables are a container's environment in the order of its spec. A later
// value of a name replaces an earlier one.
type variables struct {
	names  []string
	values map[string]string
}

func (v *variables) set(name, value string) {
	if _, ok := v.values[name]; !ok {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

func (v *variables) list() []*runtimeapi.KeyValue {
	list := make([]*runtimeapi.KeyValue, len(v.names))
	for i, name := range v.names {
		list[i] = &runtimeapi.KeyValue{Key: name, Value: []byte(v.values[name])}
	}
	return list
}

// environment works out a container's variables.
func environment(in containerInput, machine Machine) (*variables, error) {
	env := &variables{values: make(map[string]string, len(in.spec.Env))}
	for i := range in.spec.EnvFrom {
		if err := checkEnvFrom(&in.spec.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range in.spec.Env {
		v := &in.spec.Env[i]
		if v.ValueFrom == nil {
			env.set(v.Name, env.expand(v.Value))
			continue
		}
		value, ok, err := valueFrom(v.ValueFrom, in, machine)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", v.Name, err)
		}
		if ok {
			env.set(v.Name, value)
		}
	}
	return env, nil
}

// valueFrom looks a value up; there is none where an optional source is missing.
func valueFrom(from *corev1.EnvVarSource, in containerInput, machine Machine) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		value, err := podField(from.FieldRef.FieldPath, in, machine)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err := resourceField(from.ResourceFieldRef, in, machine)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		return "", false, missingSource("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		return "", false, missingSource("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
	case from.FileKeyRef != nil:
		return "", false, missingSource("file", from.FileKeyRef.Path, from.FileKeyRef.Optional)
	}
	return "", false, errors.New("it names no source of its value")
}

func checkEnvFrom(from *corev1.EnvFromSource) error {
	switch {
	case from.ConfigMapRef != nil:
		return missingSource("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return missingSource("Secret", from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil
}

// missingSource: there are no objects here to take values from, so each source
// is missing. That is an error unless the spec says it may be.
func missingSource(kind, name string, optional *bool) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%s %q: %w", kind, name, node.ErrNotFound)
}

func (v *variables) expandAll(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	expanded := make([]string, len(texts))
	for i, text := range texts {
		expanded[i] = v.expand(text)
	}
	return expanded
}

// expand puts variables in for $(NAME). $$ stands for one dollar sign; what names
// no variable stays as it is.
func (v *variables) expand(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		written, rest := v.expandOne(after)
		b.WriteString(written)
		text = rest
	}
}

// expandOne reads what follows a dollar sign: what to write, and what is left.
func (v *variables) expandOne(after string) (written, rest string) {
	if rest, ok := strings.CutPrefix(after, "$"); ok {
		return "$", rest
	}
	if inner, ok := strings.CutPrefix(after, "("); ok {
		if name, rest, closed := strings.Cut(inner, ")"); closed {
			if value, known := v.values[name]; known {
				return value, rest
			}
			return "$(" + name + ")", rest
		}
	}
	return "$", after
}
