package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"nodal/node"
)

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// patch is a change of some fields.
type patch struct {
	kind string
	text []byte
}

func patchOf(r *http.Request) (patch, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return patch{}, fmt.Errorf("content type %q: %w: %w", r.Header.Get("Content-Type"), err, node.ErrUnsupported)
	case kind == applyPatch:
		return patch{kind: kind}, nil
	case kind != jsonPatch && kind != mergePatch && kind != strategicPatch:
		return patch{}, fmt.Errorf("patch of type %q: use one of %s, %s, %s and %s: %w",
			kind, jsonPatch, mergePatch, strategicPatch, applyPatch, node.ErrUnsupported)
	}
	text, err := io.ReadAll(r.Body)
	return patch{kind, text}, err
}

// put returns an object with the patch. The type of an empty one says how lists are merged.
func (p patch) put(on *object, empty runtime.Object) (*object, error) {
	if p.kind == applyPatch {
		return nil, fmt.Errorf("server-side apply is for whole objects; send a patch of another type: %w", node.ErrUnsupported)
	}
	before, err := json.Marshal(on.Object)
	if err != nil {
		return nil, err
	}
	after, err := p.apply(before, empty)
	if err != nil {
		return nil, fmt.Errorf("apply the patch: %w: %w", err, node.ErrInvalid)
	}
	made := &object{}
	if err := json.Unmarshal(after, &made.Object); err != nil || made.Object == nil {
		return nil, fmt.Errorf("apply the patch: what it makes is not an object: %w", node.ErrInvalid)
	}
	return made, nil
}

const (
	mostCopies = 100
	mostBytes  = 3 << 20 // of a patched object; the node takes less
)

// inSteps applies steps, and looks at the size after each that copies: a few copies of copies would fill the memory.
func inSteps(steps jsonpatch.Patch, text []byte) (_ []byte, err error) {
	for copies := 0; len(steps) > 0; copies++ {
		if copies > mostCopies {
			return nil, fmt.Errorf("it copies more than %d times", mostCopies)
		}
		next := 1 + slices.IndexFunc(steps, func(o jsonpatch.Operation) bool { return o.Kind() == "copy" })
		if next == 0 {
			next = len(steps)
		}
		if text, err = steps[:next].Apply(text); err != nil {
			return nil, err
		}
		if len(text) > mostBytes {
			return nil, fmt.Errorf("it makes an object of more than %d bytes", mostBytes)
		}
		steps = steps[next:]
	}
	return text, nil
}

func (p patch) apply(before []byte, empty runtime.Object) (after []byte, err error) {
	// The libraries take for granted what a patch of their type has: a step "test" without a value is enough.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("it is not complete: %v", fault)
		}
	}()
	switch p.kind {
	case jsonPatch:
		steps, err := jsonpatch.DecodePatch(p.text)
		if err != nil {
			return nil, err
		}
		return inSteps(steps, before)
	case mergePatch:
		return jsonpatch.MergePatch(before, p.text)
	default:
		return strategicpatch.StrategicMergePatch(before, p.text, empty)
	}
}
