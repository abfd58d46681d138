package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/yaml"

	"nodal/node"
)

const applyPatch = string(types.ApplyYAMLPatchType)

// apply serves server-side apply: the body holds the fields that a manager wants, of an object that need not be there.
func (s writer) apply(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	options, err := optionsOf(r, types.ApplyYAMLPatchType)
	if err == nil {
		err = s.seesAll(r.Context())
	}
	var wanted *object
	if err == nil {
		wanted, err = s.configuration(w, r, options)
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	taken, code := (*object)(nil), 0
	for range attempts {
		if taken, code, err = s.applyOnce(w, r, wanted, options); status.Code(err) != codes.Aborted {
			break
		}
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	s.answer(w, r, code, taken)
}

// applyOnce fails with ABORTED if the object has changed meanwhile.
func (s writer) applyOnce(w http.ResponseWriter, r *http.Request, wanted *object, options metav1.PatchOptions) (*object, int, error) {
	live, since, err := s.live(r.Context(), wanted)
	if err != nil {
		return nil, 0, err
	}
	after, err := s.owners.applied(live, wanted, options.FieldManager, options.Force != nil && *options.Force)
	if err != nil {
		return nil, 0, err
	}
	if *since == 0 {
		taken, err := s.take(w, r, after, since)
		return taken, http.StatusCreated, err
	}
	if err := s.same(live, after); err != nil {
		return nil, 0, err
	}
	if reflect.DeepEqual(live, after) {
		return live, http.StatusOK, nil
	}
	taken, err := s.take(w, r, after, since)
	return taken, http.StatusOK, err
}

// live returns the object on which fields are applied, and its revision: an empty one and 0 if it is not there.
func (s writer) live(ctx context.Context, wanted *object) (*object, *int64, error) {
	found, err := s.source.get(ctx, wanted.GetNamespace(), wanted.GetName())
	if status.Code(err) == codes.NotFound {
		if uid := wanted.GetUID(); uid != "" {
			return nil, nil, apierrors.NewConflict(schema.GroupResource{Group: s.Group, Resource: s.plural}, wanted.GetName(),
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		return emptyObject(s.GroupVersionKind), new(int64), nil
	}
	if err != nil {
		return nil, nil, err
	}
	since, err := sinceOf(found.GetResourceVersion())
	if err != nil {
		return nil, nil, err
	}
	found, err = plain(found)
	return found, since, err
}

// configuration reads the fields in the body. A field that stands there twice is refused or warned of, as the client wants it.
func (s writer) configuration(w http.ResponseWriter, r *http.Request, options metav1.PatchOptions) (*object, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	given, err := s.given(r, chi.URLParam(r, "name"))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, &map[string]any{}); err != nil {
		switch options.FieldValidation {
		case metav1.FieldValidationIgnore:
		case metav1.FieldValidationStrict:
			return nil, apierrors.NewBadRequest(shortened(fmt.Sprintf("error strict decoding YAML: %v", err)))
		default:
			if header, err := utilnet.NewWarningHeader(299, "-", shortened(err.Error())); err == nil {
				w.Header().Add("Warning", header)
			}
		}
	}
	return plain(given)
}

var optionKinds = map[string]string{http.MethodPost: "CreateOptions", http.MethodPut: "UpdateOptions", http.MethodPatch: "PatchOptions"}

// optionsOf reads what a client asks of a change beside the change. Without a manager it is the program's name.
func optionsOf(r *http.Request, kind types.PatchType) (metav1.PatchOptions, error) {
	query := r.URL.Query()
	options := metav1.PatchOptions{
		DryRun: query["dryRun"], FieldManager: query.Get("fieldManager"), FieldValidation: query.Get("fieldValidation"),
	}
	if text := query.Get("force"); text != "" {
		force, err := strconv.ParseBool(text)
		if err != nil {
			return options, fmt.Errorf("force %q: neither true nor false: %w", text, node.ErrInvalid)
		}
		options.Force = &force
	}
	if wrong := validation.ValidatePatchOptions(&options, kind); len(wrong) > 0 {
		return options, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: optionKinds[r.Method]}, "", wrong)
	}
	if options.FieldManager == "" {
		options.FieldManager = programOf(r.UserAgent())
	}
	return options, nil
}

// programOf returns the name of a program, without its version.
func programOf(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	made := ""
	for _, c := range name {
		if !unicode.IsPrint(c) {
			continue
		}
		if len(made)+utf8.RuneLen(c) > validation.FieldManagerMaxLength {
			break
		}
		made += string(c)
	}
	return made
}
