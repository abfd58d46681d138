package kube

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// page is the part of a list that a client asks for. The node keeps no old lists: later pages are of the present one, and
// are served as long as that has not changed behind the page's start.
type page struct {
	limit int    // objects; 0 for all
	start string // the key of the first object; empty for the whole list
	since int64  // the revision that the list has to show; 0 or less for the present one
}

// token says where the next page begins. A client gets it with a page and brings it for the next one. It looks as that of an API server.
type token struct {
	Version string `json:"v"`
	Since   int64  `json:"rv"`
	Start   string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// anyRevision in a token asks for the rest of the list as it now is.
const anyRevision = -1

// pageOf reads which part of a list a client wants.
func pageOf(query url.Values) (page, error) {
	var p page
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return p, fmt.Errorf("limit %q: not a number: %w", text, node.ErrInvalid)
		}
		p.limit = int(max(limit, 0))
	}
	version := query.Get("resourceVersion")
	if text := query.Get("continue"); text != "" {
		if version != "" && version != "0" {
			return p, fmt.Errorf("specifying resource version is not allowed when using continue: %w", node.ErrInvalid)
		}
		from, err := tokenIn(text)
		p.start, p.since = from.Start, from.Since
		return p, err
	}
	if query.Get("resourceVersionMatch") == string(metav1.ResourceVersionMatchExact) {
		since, err := strconv.ParseInt(version, 10, 64)
		if err != nil || since <= 0 {
			return p, fmt.Errorf("resourceVersionMatch Exact needs a resourceVersion, not %q: %w", version, node.ErrInvalid)
		}
		p.since = since
	}
	return p, nil
}

func tokenIn(text string) (from token, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &from)
	}
	switch {
	case err != nil:
	case from.Version != tokenVersion:
		err = fmt.Errorf("server does not recognize this encoded version %q", from.Version)
	case from.Since < anyRevision || from.Since == 0:
		err = fmt.Errorf("incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case from.Start == "":
		err = fmt.Errorf("encoded start key empty (version %s)", tokenVersion)
	}
	if err != nil {
		err = fmt.Errorf("invalid continue token: continue key is not valid: %w: %w", err, node.ErrInvalid)
	}
	return from, err
}

func (t token) String() string {
	text, _ := json.Marshal(t) // of numbers and texts
	return base64.RawURLEncoding.EncodeToString(text)
}

// keyOf orders lists that are sent in pages.
func keyOf(o *object) string { return o.GetNamespace() + "/" + o.GetName() }

// cut returns the objects of the page, and what the client is told of the list.
func (p page) cut(all []*object, revision int64, counts bool) ([]*object, metav1.ListMeta) {
	meta := metav1.ListMeta{ResourceVersion: versionOf(revision)}
	if p.since > 0 {
		meta.ResourceVersion = versionOf(p.since)
	}
	if p.start == "" && (p.limit == 0 || len(all) <= p.limit) {
		return all, meta
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *object) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	from, _ := slices.BinarySearchFunc(all, p.start, func(o *object, key string) int { return cmp.Compare(keyOf(o), key) })
	all = all[from:]
	if p.limit == 0 || len(all) <= p.limit {
		return all, meta
	}
	since, _ := strconv.ParseInt(meta.ResourceVersion, 10, 64) // it was made above
	meta.Continue = token{tokenVersion, since, keyOf(all[p.limit-1]) + "\x00"}.String()
	if counts {
		meta.RemainingItemCount = new(int64)
		*meta.RemainingItemCount = int64(len(all) - p.limit)
	}
	return all[:p.limit], meta
}

var errMoved = fmt.Errorf("the list has changed: %w", node.ErrCompacted)

// unmoved returns errMoved if anything that the selection chooses has changed since the page's revision, from the page's
// start on.
func (s reader) unmoved(ctx context.Context, of selection, p page, present int64) error {
	if p.since <= 0 || p.since == present {
		return nil
	}
	if s.resource.watch == "" || p.since > present {
		return errMoved
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.source.watch(ctx, of, p.since, func(c change) error {
		switch {
		case c.kind == nodev1.WatchType_WATCH_TYPE_SYNCED:
			return io.EOF
		case keyOf(c.object) >= p.start:
			return errMoved
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

const (
	tooOld = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter"
	orGoOn = ", or use the continue token in this response to retrieve the remainder of the results. " +
		"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted " +
		"between the time the first chunk was returned and now may show up in the list."
)

// failPage answers with an error of a page. If the list has changed, the answer has a token for the rest as it now is.
func (s reader) failPage(w http.ResponseWriter, err error, p page) {
	made := statusOf(err)
	if made.Code != http.StatusGone {
		s.fail(w, err, "")
		return
	}
	if p.start == "" {
		made.Message = fmt.Sprintf("The resourceVersion for the provided list is too old: %d.", p.since)
	} else {
		made.Message = tooOld + orGoOn
		made.Continue = token{tokenVersion, anyRevision, p.start}.String()
	}
	writeStatus(w, made)
}
