package cri

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
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
func environment(in containerInput, machine Machine, objects Objects) (*variables, error) {
	env := &variables{values: make(map[string]string, len(in.spec.Env))}
	for i := range in.spec.EnvFrom {
		if err := env.takeAll(&in.spec.EnvFrom[i], in.pod.Namespace, objects); err != nil {
			return nil, err
		}
	}
	for i := range in.spec.Env {
		v := &in.spec.Env[i]
		if v.ValueFrom == nil {
			env.set(v.Name, env.expand(v.Value))
			continue
		}
		value, ok, err := valueFrom(v.ValueFrom, in, machine, objects)
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
func valueFrom(from *corev1.EnvVarSource, in containerInput, machine Machine, objects Objects) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		value, err := podField(from.FieldRef.FieldPath, in, machine)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err := resourceField(from.ResourceFieldRef, in, machine)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return valueOf(objects, node.ObjectRef{Kind: node.ConfigMap, Namespace: in.pod.Namespace, Name: ref.Name}, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return valueOf(objects, node.ObjectRef{Kind: node.Secret, Namespace: in.pod.Namespace, Name: ref.Name}, ref.Key, ref.Optional)
	case from.FileKeyRef != nil:
		return "", false, fmt.Errorf("file %q: %w", from.FileKeyRef.Path, node.ErrUnsupported)
	}
	return "", false, errors.New("it names no source of its value")
}

// Objects finds what pods use; it is asked when a container is made.
type Objects func(node.ObjectRef) (*node.Object, bool)

// takeAll sets a variable for each key of an object. A key that is no name for a
// variable is passed over.
func (v *variables) takeAll(from *corev1.EnvFromSource, namespace string, objects Objects) error {
	ref, optional := node.ObjectRef{Namespace: namespace}, (*bool)(nil)
	switch {
	case from.ConfigMapRef != nil:
		ref.Kind, ref.Name, optional = node.ConfigMap, from.ConfigMapRef.Name, from.ConfigMapRef.Optional
	case from.SecretRef != nil:
		ref.Kind, ref.Name, optional = node.Secret, from.SecretRef.Name, from.SecretRef.Optional
	default:
		return nil
	}
	object, ok := objects(ref)
	if !ok {
		return absent(optional, "%s %q not found", strings.ToLower(string(ref.Kind)), ref.Name)
	}
	data := object.Data()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if name := from.Prefix + key; len(validation.IsRelaxedEnvVarName(name)) == 0 {
			v.set(name, string(data[key]))
		}
	}
	return nil
}

// valueOf is one value of an object; there is none where an optional one is missing.
func valueOf(objects Objects, ref node.ObjectRef, key string, optional *bool) (string, bool, error) {
	object, ok := objects(ref)
	if !ok {
		return "", false, absent(optional, "%s %q not found", strings.ToLower(string(ref.Kind)), ref.Name)
	}
	value, ok := object.Data()[key]
	if !ok {
		return "", false, absent(optional, "couldn't find key %s in %s %s/%s", key, ref.Kind, ref.Namespace, ref.Name)
	}
	return string(value), true, nil
}

// absent is an error unless the spec says that it may be.
func absent(optional *bool, format string, args ...any) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, node.ErrNotFound)...)
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
	expanded, _ := v.expandNoting(text)
	return expanded
}

// expandKnown is expand where each name has to be known.
func (v *variables) expandKnown(text string) (string, error) {
	expanded, unknown := v.expandNoting(text)
	if len(unknown) > 0 {
		return "", fmt.Errorf("there is no variable %s: %w", strings.Join(unknown, ", "), node.ErrNotFound)
	}
	return expanded, nil
}

func (v *variables) expandNoting(text string) (expanded string, unknown []string) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), unknown
		}
		written, rest, name := v.expandOne(after)
		if name != "" {
			unknown = append(unknown, name)
		}
		b.WriteString(written)
		text = rest
	}
}

// expandOne reads what follows a dollar sign: what to write, what is left, and the
// name that no variable has.
func (v *variables) expandOne(after string) (written, rest, unknown string) {
	if rest, ok := strings.CutPrefix(after, "$"); ok {
		return "$", rest, ""
	}
	if inner, ok := strings.CutPrefix(after, "("); ok {
		if name, rest, closed := strings.Cut(inner, ")"); closed {
			if value, known := v.values[name]; known {
				return value, rest, ""
			}
			return "$(" + name + ")", rest, name
		}
	}
	return "$", after, ""
}
