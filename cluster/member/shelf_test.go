package member

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

const another = "another client"

func TestWhatCameInAnotherWayIsLeftAlone(t *testing.T) {
	settings := node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "settings"}
	claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
	volume := node.ObjectRef{Kind: node.PersistentVolume, Name: "disk"}
	bound := map[string]any{"volumeName": "disk"}
	for _, c := range []struct {
		name string
		ref  node.ObjectRef
		has  map[node.ObjectRef]string // from which source it came
		want []string
	}{
		{"a ConfigMap of the cluster goes", settings, map[node.ObjectRef]string{settings: node.Cluster}, []string{"remove ConfigMap settings"}},
		{"one of another client stays", settings, map[node.ObjectRef]string{settings: another}, nil},
		{"one that is not there is no trouble", settings, nil, nil},
		{"a claim of the cluster goes with its volume, both at once", claim,
			map[node.ObjectRef]string{claim: node.Cluster, volume: node.Cluster}, []string{"remove PersistentVolumeClaim data, PersistentVolume disk"}},
		{"a claim of another client stays with its volume", claim, map[node.ObjectRef]string{claim: another, volume: another}, nil},
		{"a claim goes, and a volume of another client stays", claim,
			map[node.ObjectRef]string{claim: node.Cluster, volume: another}, []string{"remove PersistentVolumeClaim data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &stock{}
			for ref, from := range c.has {
				h.keep(t, ref, from, bound)
			}
			if err := h.shelf().drop(t.Context(), c.ref); err != nil {
				t.Error(err)
			}
			if !slices.Equal(h.told, c.want) {
				t.Errorf("the node is told %q, want %q", h.told, c.want)
			}
		})
	}
}

func TestNothingIsPutInThePlaceOfWhatCameInAnotherWay(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "data"}
	claim, volume := &corev1.PersistentVolumeClaim{ObjectMeta: meta}, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
	for _, c := range []struct {
		name, from string
		want       []string
		err        error
	}{
		{"the name is free", "", []string{"put PersistentVolume disk, PersistentVolumeClaim data"}, nil},
		{"the cluster has brought it", node.Cluster, []string{"put PersistentVolume disk, PersistentVolumeClaim data"}, nil},
		{"another client has", another, nil, errForeign},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &stock{}
			if c.from != "" {
				h.keep(t, ref, c.from, nil)
			}
			if err := h.shelf().put(t.Context(), volume, claim); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if !slices.Equal(h.told, c.want) {
				t.Errorf("the node is told %q, want %q", h.told, c.want)
			}
		})
	}
}

func TestObjectsPostedMeanwhileAreLeftAlone(t *testing.T) {
	settings := node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "settings"}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}}
	for _, c := range []struct {
		name  string
		there bool // something of the cluster's
		do    func(*shelf) error
	}{
		{"by the first put", false, func(s *shelf) error { return s.put(t.Context(), object) }},
		{"by a later put", true, func(s *shelf) error { return s.put(t.Context(), object) }},
		{"by a removal", true, func(s *shelf) error { return s.drop(t.Context(), settings) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &stock{revision: 7}
			if c.there {
				h.keep(t, settings, node.Cluster, nil)
			}
			h.looked = func() { h.revision++ }
			if err := c.do(h.shelf()); grpcstatus.Code(err) != codes.Aborted || len(h.told) > 0 {
				t.Errorf("got %v, and the node did %q", err, h.told)
			}
		})
	}
}
