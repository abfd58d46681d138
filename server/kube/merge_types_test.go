package kube

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// client-go brings the merge types of all of Kubernetes, generated from the comments of the Go types.
func TestMergeTypesAreUpstreams(t *testing.T) {
	known := runtime.NewScheme()
	theirs := applyconfigurations.NewTypeConverter(known)
	compared := 0
	for _, r := range resources(clients{}) {
		if r.put == "" {
			continue
		}
		known.AddKnownTypeWithName(r.GroupVersionKind, r.object)
		empty := &object{}
		empty.SetGroupVersionKind(r.GroupVersionKind)
		value, err := theirs.ObjectToTyped(empty)
		if err != nil {
			t.Errorf("%s: %v", r.Kind, err)
			continue
		}
		ours := mergeTypeOf(r.object)
		c := comparison{t: t, ours: ours.Schema, theirs: value.Schema(), seen: map[string]bool{}}
		c.compare(ours.TypeRef, value.TypeRef(), r.Kind)
		compared += len(c.seen)
	}
	if compared < 180 {
		t.Errorf("%d types were compared", compared)
	}
}

type comparison struct {
	t            *testing.T
	ours, theirs *schema.Schema
	seen         map[string]bool
}

func (c *comparison) compare(a, b schema.TypeRef, path string) {
	if a.NamedType != nil && *a.NamedType == anyValue {
		return
	}
	if a.NamedType != nil && b.NamedType != nil {
		pair := *a.NamedType + " " + *b.NamedType
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
	}
	ours, ok := c.ours.Resolve(a)
	if !ok {
		c.t.Errorf("%s: our type is not there", path)
		return
	}
	theirs, ok := c.theirs.Resolve(b)
	if !ok {
		c.t.Errorf("%s: upstream's type is not there", path)
		return
	}
	if (ours.Map == nil) != (theirs.Map == nil) || (ours.List == nil) != (theirs.List == nil) || (ours.Scalar == nil) != (theirs.Scalar == nil) {
		c.t.Errorf("%s: got %s, want %s", path, shapeOf(ours), shapeOf(theirs))
		return
	}
	switch {
	case ours.Scalar != nil:
		if *ours.Scalar != *theirs.Scalar {
			c.t.Errorf("%s: got %s, want %s", path, *ours.Scalar, *theirs.Scalar)
		}
	case ours.List != nil:
		if ours.List.ElementRelationship != theirs.List.ElementRelationship || !slices.Equal(ours.List.Keys, theirs.List.Keys) {
			c.t.Errorf("%s: got %s by %v, want %s by %v", path,
				ours.List.ElementRelationship, ours.List.Keys, theirs.List.ElementRelationship, theirs.List.Keys)
		}
		for _, key := range theirs.List.Keys {
			c.key(ours.List.ElementType, theirs.List.ElementType, path+"[]", key)
		}
		c.compare(ours.List.ElementType, theirs.List.ElementType, path+"[]")
	default:
		c.maps(ours.Map, theirs.Map, path)
	}
}

// key compares the values that a key field has where it is not given.
func (c *comparison) key(a, b schema.TypeRef, path, name string) {
	ours, _ := c.ours.Resolve(a)
	theirs, _ := c.theirs.Resolve(b)
	if ours.Map == nil || theirs.Map == nil {
		return
	}
	our, _ := ours.Map.FindField(name)
	their, _ := theirs.Map.FindField(name)
	if got, want := fmt.Sprint(our.Default), fmt.Sprint(their.Default); got != want {
		c.t.Errorf("%s.%s: without it, got %q, want %q", path, name, got, want)
	}
}

func (c *comparison) maps(ours, theirs *schema.Map, path string) {
	if whole := ours.ElementRelationship == schema.Atomic; whole != (theirs.ElementRelationship == schema.Atomic) {
		c.t.Errorf("%s: got it whole: %v, want the opposite", path, whole)
	}
	fields := map[string]schema.TypeRef{}
	for _, f := range theirs.Fields {
		fields[f.Name] = f.Type
	}
	if len(fields) == 0 {
		c.compare(ours.ElementType, theirs.ElementType, path+"{}")
	}
	for _, f := range ours.Fields {
		theirs, ok := fields[f.Name]
		delete(fields, f.Name)
		if !ok {
			c.t.Errorf("%s.%s: upstream does not merge it", path, f.Name)
			continue
		}
		c.compare(f.Type, theirs, path+"."+f.Name)
	}
	if len(fields) > 0 {
		c.t.Errorf("%s: %v are missing", path, slices.Sorted(maps.Keys(fields)))
	}
}

func shapeOf(a schema.Atom) string {
	return fmt.Sprintf("a scalar %v, a list %v, a map %v", a.Scalar != nil, a.List != nil, a.Map != nil)
}
