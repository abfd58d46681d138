package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/manifest/rules"
)

// Options say how a bundle is read.
type Options struct {
	// MaxDocuments is the most documents, and the most pods, one bundle may
	// hold; 0 means 1000.
	MaxDocuments int
	// Namespace is that of objects that name none; empty means default.
	Namespace string
	// Managed keeps the managed fields of the manifests. Otherwise objects have none.
	Managed bool
	// IfEmpty says what to do about a bundle that holds nothing.
	IfEmpty string
}

const defaultMaxDocuments = 1000

// Doc is one pod or object of a bundle, defaulted and valid.
type Doc struct {
	Index  int // of the document that holds it; the items of a list share one
	Pod    *corev1.Pod
	Object *node.Object // where it is no pod

	NoNamespace bool             // the manifest names none, and the pod has the default
	Status      corev1.PodStatus // that stood in the manifest; the pod has none
}

// Decode reads a bundle that is taken whole or not at all: it returns either every
// object or an *node.InvalidError with the violations of all documents.
func Decode(data []byte, opts Options) ([]Doc, error) {
	docs, err := DecodeEach(data, opts)
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// DecodeEach reads a bundle whose documents are independent: it returns the valid pods beside the
// *node.InvalidError of the others.
func DecodeEach(data []byte, opts Options) ([]Doc, error) {
	b := bundle{limit: opts.MaxDocuments, namespace: opts.Namespace, managed: opts.Managed, ifEmpty: opts.IfEmpty, first: map[name]int{}}
	if b.limit <= 0 {
		b.limit = defaultMaxDocuments
	}
	b.read(data)
	return b.docs, b.invalid()
}

// bundle is the state of one reading.
type bundle struct {
	limit     int
	namespace string
	managed   bool
	ifEmpty   string
	searched  int // bytes of faulty YAML
	docs      []Doc
	first     map[name]int // the document that named an object first
	violations
}

type name struct{ kind, namespace, name string }

func (b *bundle) read(data []byte) {
	// Editors on Windows still write a byte order mark.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		b.add(place{}, "", "must be UTF-8 text")
		return
	}
	documents := split(data)
	if len(documents) == 0 {
		b.add(place{}, "", b.empty(data))
		return
	}
	if len(documents) > b.limit {
		b.add(place{}, "", fmt.Sprintf("must hold at most %d documents, has %d", b.limit, len(documents)))
		return
	}
	for i, d := range documents {
		at := place{document: i}
		if object, ok := b.toJSON(at, d); ok {
			b.object(at, object)
		}
	}
}

// empty says what is missing from a bundle without documents.
func (b *bundle) empty(data []byte) string {
	rule := "must hold at least one document, but it is empty"
	if len(bytes.TrimSpace(data)) > 0 {
		rule = "must hold at least one document, but it holds only comments and markers"
	}
	if b.ifEmpty != "" {
		rule += "; " + b.ifEmpty
	}
	return rule + LineHint(data)
}

// header is the little of an object that says what it is. Its fields are raw: a
// wrong type in one of them must not hide the others.
type header struct {
	APIVersion json.RawMessage `json:"apiVersion"`
	Kind       json.RawMessage `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
}

// object dispatches one document by its kind.
func (b *bundle) object(at place, object []byte) {
	head, ok := b.header(&at, object)
	if !ok {
		return
	}
	version, kind := textOf(head.APIVersion), textOf(head.Kind)
	before := b.count
	if compose := b.composeIn(object); version == "" && kind == "" && compose != "" {
		b.add(at, "", compose)
		return
	}
	if version == "" {
		b.add(at, "apiVersion", "required; must be "+b.versionOf(kind))
	}
	if kind == "" {
		b.add(at, "kind", "required; must be "+Kinds())
	}
	if b.count > before {
		return
	}
	switch version + " " + kind {
	case "v1 PodList", "v1 List":
		b.list(at, object, kind)
	default:
		if !b.single(at, version, kind, object) {
			b.add(at, "kind", b.foreign(version, kind, object))
		}
	}
}

// single reads an object that is no list, if its kind is taken.
func (b *bundle) single(at place, version, kind string, object []byte) bool {
	if version == "v1" && kind == "Pod" {
		b.pod(at, object)
		return true
	}
	for _, r := range readers() {
		if string(r.Name) == kind && (r.Version == version || slices.Contains(r.also, version)) {
			b.value(at, object, r)
			return true
		}
	}
	return false
}

// header reads an object's head and lets the place carry its name from here on.
func (b *bundle) header(at *place, object []byte) (header, bool) {
	var head header
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		b.add(*at, "", "must be an object with apiVersion and kind")
		return head, false
	}
	if err := json.Unmarshal(object, &head); err != nil {
		b.add(*at, "", "must be valid JSON: "+err.Error())
		return head, false
	}
	at.name(textOf(head.Kind), head.Metadata)
	return head, true
}

// list reads the items of a v1 PodList or List.
func (b *bundle) list(at place, object []byte, kind string) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if !b.strict(at, object, &list) {
		return
	}
	if len(list.Items) > b.limit {
		b.add(at, "items", fmt.Sprintf("must hold at most %d items, has %d", b.limit, len(list.Items)))
		return
	}
	for i, item := range list.Items {
		in := place{document: at.document, prefix: fmt.Sprintf("items[%d]", i)}
		head, ok := b.header(&in, item)
		if !ok {
			continue
		}
		version, itemKind := textOf(head.APIVersion), textOf(head.Kind)
		// The items of a PodList need not repeat what the list says already.
		if kind == "PodList" && head.APIVersion == nil && head.Kind == nil {
			version, itemKind = "v1", "Pod"
			in.name(itemKind, head.Metadata)
		}
		switch {
		case kind == "PodList" && itemKind != "Pod" || slices.Contains([]string{"", "PodList", "List"}, itemKind):
			b.add(in, "kind", fmt.Sprintf("is %s of %s, which a %s cannot contain", rules.Clip(itemKind), rules.Clip(version), kind))
		case !b.single(in, version, itemKind, item):
			b.add(in, "kind", b.foreign(version, itemKind, item))
		}
	}
}

// pod decodes, defaults and validates one pod.
func (b *bundle) pod(at place, object []byte) {
	pod := new(corev1.Pod)
	if !b.strict(at, object, pod) {
		return
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	status, managed := pod.Status, b.managedIn(&pod.ObjectMeta)
	forgetServerFields(pod)
	pod.ManagedFields = managed
	unplaced := pod.Namespace == ""
	setDefault(&pod.Namespace, b.namespace)
	Default(pod)
	if errs := append(rules.Pod(pod), rules.ManagedFields(managed)...); len(errs) > 0 {
		b.addFieldErrors(at, errs)
		return
	}
	b.keep(at, name{"pod", pod.Namespace, pod.Name}, Doc{Pod: pod, NoNamespace: unplaced, Status: status})
}

// managedIn returns the managed fields of a manifest, if they are taken.
func (b *bundle) managedIn(meta *metav1.ObjectMeta) []metav1.ManagedFieldsEntry {
	if !b.managed {
		return nil
	}
	return meta.ManagedFields
}

// keep adds what was read to the bundle, once.
func (b *bundle) keep(at place, n name, doc Doc) {
	if first, ok := b.first[n]; ok {
		b.add(at, "metadata.name", fmt.Sprintf("must be unique in a bundle; document %d has the same %s", first+1, n.kind))
		return
	}
	if len(b.docs) == b.limit {
		b.add(at, "", fmt.Sprintf("too many objects; a bundle may hold %d", b.limit))
		return
	}
	b.first[n] = at.document
	doc.Index = at.document
	b.docs = append(b.docs, doc)
}

// forgetServerFields drops what an API server writes and a manifest only carries
// when it was read back from one. The UID stays: a static pod may bring its own.
func forgetServerFields(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{}
	pod.ManagedFields = nil
	pod.ResourceVersion = ""
	pod.Generation = 0
	pod.CreationTimestamp = metav1.Time{}
	pod.DeletionTimestamp = nil
	pod.DeletionGracePeriodSeconds = nil
}

// textOf returns the value of a JSON string, or "" for anything else.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// strict decodes an object and reports every field that is unknown, given twice
// or of the wrong type.
func (b *bundle) strict(at place, object []byte, into any) bool {
	before := b.count
	unsound, err := unmarshalStrict(object, into)
	for _, u := range unsound {
		b.add(at, u.field, u.rule)
	}
	if err != nil {
		for _, m := range mismatches(object, reflect.TypeOf(into)) {
			b.add(at, m.field, m.rule)
		}
		if b.count == before {
			b.add(at, "", rules.Clip(err.Error()))
		}
	}
	return b.count == before
}
