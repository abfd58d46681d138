package registry

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nodal/node"
)

// handler is the read half of the OCI distribution protocol. What the store does
// not have is answered 404, upon which a runtime asks the next host of its list.
type handler struct {
	store *Store
	token string
}

var _ http.Handler = handler{}

// Handler serves the store to clients that send the token as a bearer. With an empty token
// every client may read.
func (s *Store) Handler(token string) http.Handler { return handler{store: s, token: token} }

// Codes of errors, as the protocol has them.
const (
	codeBlobUnknown     = "BLOB_UNKNOWN"
	codeManifestUnknown = "MANIFEST_UNKNOWN"
	codeNameUnknown     = "NAME_UNKNOWN"
	codeUnauthorized    = "UNAUTHORIZED"
	codeUnsupported     = "UNSUPPORTED"
)

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	rest, isAPI := strings.CutPrefix(r.URL.Path, "/v2/")
	switch {
	case !h.may(r):
		refuse(w, http.StatusUnauthorized, codeUnauthorized, "this registry is for the node's own runtime")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, codeUnsupported, "this registry can only be read")
	case r.URL.Path == "/v2" || isAPI && rest == "":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	case isAPI:
		h.serve(w, r, rest)
	default:
		refuse(w, http.StatusNotFound, codeNameUnknown, "there is no such path")
	}
}

func (h handler) may(r *http.Request) bool {
	return h.token == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+h.token)) == 1
}

// serve answers <repository>/manifests/<tag or digest> and <repository>/blobs/<digest>. A
// repository name may have slashes, so the path is read from its end.
func (h handler) serve(w http.ResponseWriter, r *http.Request, path string) {
	if at := strings.LastIndex(path, "/blobs/"); at > 0 {
		h.blob(w, r, path[at+len("/blobs/"):])
		return
	}
	if at := strings.LastIndex(path, "/manifests/"); at > 0 {
		repository := path[:at]
		// A runtime that asks a mirror names the registry.
		if host := r.URL.Query().Get("ns"); host != "" {
			repository = host + "/" + repository
		}
		h.manifest(w, r, repository, path[at+len("/manifests/"):])
		return
	}
	refuse(w, http.StatusNotFound, codeNameUnknown, "there are only manifests and blobs here")
}

func (h handler) manifest(w http.ResponseWriter, r *http.Request, repository, name string) {
	digest, err := v1.NewHash(name)
	kind := types.MediaType("")
	if err != nil {
		root, ok := h.store.root(repository + ":" + name)
		if !ok {
			refuse(w, http.StatusNotFound, codeManifestUnknown, fmt.Sprintf("%s:%s was not imported", repository, name))
			return
		}
		digest, kind = root.Digest, root.MediaType
	} else if kind, err = h.store.kind(digest); err != nil {
		h.fail(w, codeManifestUnknown, err)
		return
	}
	h.send(w, r, digest, string(kind))
}

func (h handler) blob(w http.ResponseWriter, r *http.Request, name string) {
	digest, err := v1.NewHash(name)
	if err != nil {
		refuse(w, http.StatusNotFound, codeBlobUnknown, err.Error())
		return
	}
	h.send(w, r, digest, "application/octet-stream")
}

// send answers with a blob, or the part of it that is asked for.
func (h handler) send(w http.ResponseWriter, r *http.Request, digest v1.Hash, kind string) {
	path, err := h.store.path(digest)
	if err != nil {
		h.fail(w, codeBlobUnknown, err)
		return
	}
	f, err := os.Open(path)
	if err != nil {
		h.fail(w, codeBlobUnknown, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest.String())
	w.Header().Set("ETag", `"`+digest.String()+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
}

func (h handler) fail(w http.ResponseWriter, code string, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, node.ErrNotFound) || errors.Is(err, node.ErrInvalid) {
		status = http.StatusNotFound
	}
	refuse(w, status, code, err.Error())
}

// kind is the media type of a manifest, which says it itself or shows it.
func (s *Store) kind(digest v1.Hash) (types.MediaType, error) {
	path, err := s.path(digest)
	if err != nil {
		return "", err
	}
	text, err := readSmall(path)
	if err != nil {
		return "", fmt.Errorf("%s is no manifest: %w: %w", digest, err, node.ErrNotFound)
	}
	var shown struct {
		MediaType types.MediaType
		Manifests []json.RawMessage
		Layers    []json.RawMessage
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return "", fmt.Errorf("%s is no manifest: %w", digest, node.ErrNotFound)
	}
	switch {
	case shown.MediaType.IsIndex() || shown.MediaType.IsImage():
		return shown.MediaType, nil
	case shown.Manifests != nil:
		return types.OCIImageIndex, nil
	case shown.Layers != nil:
		return types.OCIManifestSchema1, nil
	}
	return "", fmt.Errorf("%s is no manifest: %w", digest, node.ErrNotFound)
}

// refuse answers an error in the protocol's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	body, err := json.Marshal(map[string][]problem{"errors": {{code, message}}})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that does not read cannot be told
}
