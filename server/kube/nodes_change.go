package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// changeNode cordons this node or opens it again, as kubectl cordon asks for by one field.
func (s writer) changeNode(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	wanted, err := s.wanted(r, name)
	if errors.Is(err, node.ErrUnsupported) {
		failAs(w, http.StatusUnsupportedMediaType, err)
		return
	}
	var changed *object
	if err == nil {
		changed, err = s.changedNode(r, name, wanted)
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	s.answer(w, r, http.StatusOK, changed)
}

func (s writer) changedNode(r *http.Request, name string, wanted func(*object) (*object, error)) (*object, error) {
	before, err := s.source.get(r.Context(), "", name)
	if err != nil {
		return nil, err
	}
	after, err := wanted(before)
	if err != nil {
		return nil, err
	}
	closes, err := closesIn(before, after)
	if err != nil || slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll) {
		return after, err
	}
	if closed, _, _ := unstructured.NestedBool(before.Object, "spec", "unschedulable"); closed == closes {
		return before, nil // a cordon keeps its reason
	}
	if err := s.cordon(r.Context(), closes); err != nil {
		return nil, err
	}
	return s.source.get(r.Context(), "", name)
}

// closesIn reports whether a change of the node closes it for new pods. Nothing else of it can be changed.
func closesIn(before, after *object) (bool, error) {
	closes, _, err := unstructured.NestedBool(after.Object, "spec", "unschedulable")
	if err != nil {
		return false, refused("spec.unschedulable", "must be true or false")
	}
	rest := func(o *object) ([]byte, error) {
		o = o.DeepCopy()
		unstructured.RemoveNestedField(o.Object, "spec", "unschedulable")
		return json.Marshal(o.Object) // in which 1 and 1.0 are the same
	}
	was, err := rest(before)
	if err != nil {
		return false, err
	}
	if is, err := rest(after); err != nil || !bytes.Equal(was, is) {
		return false, refused("spec", "Forbidden: only spec.unschedulable of a node can be changed; labels and taints are in its configuration")
	}
	return closes, nil
}

func (c clients) cordon(ctx context.Context, closes bool) error {
	if !closes {
		_, err := c.node.Uncordon(ctx, &nodev1.UncordonRequest{})
		return err
	}
	_, err := c.node.Cordon(ctx, &nodev1.CordonRequest{})
	return err
}
