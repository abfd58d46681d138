package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// removeAll deletes the objects that a list with the same query shows, and answers with them as they were. Those that
// cannot be deleted stay, and the answer is then the first such error.
func (s writer) removeAll(w http.ResponseWriter, r *http.Request) {
	how, dry, err := deletionOf(r)
	if err == nil && (how.uid != "" || how.unchanged != nil) {
		err = fmt.Errorf("preconditions: they are about one object, and this deletes a collection: %w", node.ErrInvalid)
	}
	query := r.URL.Query()
	part, wrong := pageOf(query)
	if err = errors.Join(err, wrong); err != nil {
		s.fail(w, err, "")
		return
	}
	of := selection{
		namespace: chi.URLParam(r, "namespace"), labels: query.Get("labelSelector"), fields: query.Get("fieldSelector"),
	}
	all, revision, err := s.source.list(r.Context(), of)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	all, meta := part.cut(all, revision, of.labels == "" && of.fields == "")
	stays := ""
	for i, o := range all {
		if dry {
			continue
		}
		gone, failed := s.removeOne(r.Context(), o, how)
		if failed != nil && err == nil {
			err, stays = failed, o.GetName()
		}
		if gone != nil {
			all[i] = gone
		}
	}
	if err != nil {
		s.fail(w, err, stays)
		return
	}
	as := formOf(r)
	if as == nothing {
		as = whole
	}
	writeJSON(w, http.StatusOK, reader{s.resource}.listed(as, all, meta))
}

// removeOne deletes an object of a list. It may be gone by now, or another may have its name.
func (s writer) removeOne(ctx context.Context, o *object, how deletion) (*object, error) {
	how.uid = string(o.GetUID())
	gone, err := s.source.remove(ctx, o.GetNamespace(), o.GetName(), how)
	if code := status.Code(err); code == codes.NotFound || code == codes.Aborted || errors.Is(err, node.ErrChanged) {
		return nil, nil
	}
	return gone, err
}
