package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"nodal/node"
)

// Objects finds an object that pods use.
type Objects func(node.ObjectRef) (*node.Object, bool)

// Environment works out a container's variables. Without files none is taken from a file.
func (n Node) Environment(run Run, objects Objects, files Files) (*Variables, error) {
	c := run.Container
	env := &Variables{values: make(map[string]string, len(c.Env))}
	n.addServices(env, run)
	for i := range c.EnvFrom {
		if err := env.takeAll(&c.EnvFrom[i], run.Allocated.Namespace, objects); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		if v.ValueFrom == nil {
			env.set(v.Name, env.expand(v.Value))
			continue
		}
		value, ok, err := n.Machine.valueFrom(v.ValueFrom, run, objects, files)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", v.Name, err)
		}
		if ok {
			env.set(v.Name, value)
		}
	}
	return env, nil
}

// addServices adds the variables of the services in the pod's namespace, unless the pod does not want them.
func (n Node) addServices(env *Variables, run Run) {
	links := run.Allocated.Spec.EnableServiceLinks
	if n.Services == nil || links != nil && !*links {
		return
	}
	found := node.ServiceVariables(n.Services(run.Allocated.Namespace))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		env.set(name, found[name])
	}
}

// valueFrom looks a value up. An optional source that is missing gives none.
func (m Machine) valueFrom(from *corev1.EnvVarSource, run Run, objects Objects, files Files) (string, bool, error) {
	object := func(kind node.ObjectKind, name string) node.ObjectRef {
		return node.ObjectRef{Kind: kind, Namespace: run.Allocated.Namespace, Name: name}
	}
	switch {
	case from.FieldRef != nil:
		value, err := m.podField(from.FieldRef.FieldPath, run)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err := m.resourceField(from.ResourceFieldRef, run)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return valueOf(objects, object(node.ConfigMap, ref.Name), ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return valueOf(objects, object(node.Secret, ref.Name), ref.Key, ref.Optional)
	case from.FileKeyRef != nil:
		return run.inFile(from.FileKeyRef, files)
	}
	return "", false, errors.New("it names no source of its value")
}

// takeAll sets a variable for each key of an object. It skips a key that cannot name a variable.
func (v *Variables) takeAll(from *corev1.EnvFromSource, namespace string, objects Objects) error {
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
	if err := object.Readable(); err != nil {
		return err // an optional one, too: it is there
	}
	data := object.Data()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if name := from.Prefix + key; len(validation.IsRelaxedEnvVarName(name)) == 0 {
			v.set(name, string(data[key]))
		}
	}
	return nil
}

// valueOf looks up one value of an object. An optional value that is missing gives none.
func valueOf(objects Objects, ref node.ObjectRef, key string, optional *bool) (string, bool, error) {
	object, ok := objects(ref)
	if !ok {
		return "", false, absent(optional, "%s %q not found", strings.ToLower(string(ref.Kind)), ref.Name)
	}
	if err := object.Readable(); err != nil {
		return "", false, err
	}
	value, ok := object.Data()[key]
	if !ok {
		return "", false, absent(optional, "couldn't find key %s in %s %s/%s", key, ref.Kind, ref.Namespace, ref.Name)
	}
	return string(value), true, nil
}

// absent returns an error unless the value is optional.
func absent(optional *bool, format string, args ...any) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf(format, args...)
}
