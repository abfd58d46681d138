package audit

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/audit"
	"nodal/server/auth"
)

// asked describes a request by its message or its path.
type asked struct {
	verb      audit.Verb
	needed    bool // the request must not run without an entry
	object    audit.Object
	container string
	command   []string
	ports     []int32
	message   protoreflect.Message // nil for a path of the kubelet
	request   *http.Request
}

// asked reads what a call asks for.
func (l *Log) asked(c auth.Call) asked {
	a := asked{verb: audit.Verb(c.Verb), needed: c.Verb == auth.Write || c.Verb == auth.Exec}
	m, known := l.methods[c.Method]
	if c.Request != nil {
		a.readPath(c.Request)
		if known {
			a.object.Kind = cmp.Or(m.Kind, kindName(c.Request.PathValue("kind")))
		}
		a.needed = a.needed || c.Verb == auth.Admin && c.Request.Method != http.MethodGet
		return a
	}
	if message, ok := c.Message.(proto.Message); ok {
		a.message = start(message.ProtoReflect())
		a.readMessage()
	}
	if m.Kind != "" {
		a.object.Kind = m.Kind
	}
	if a.showsSecrets(c) {
		a.verb, a.needed = audit.Secrets, true
	}
	if c.Verb == auth.Admin {
		a.needed = m.Changes || !known // a browser's code or session is no method
	}
	return a
}

// start returns the message that says what a stream is about.
func start(m protoreflect.Message) protoreflect.Message {
	field := m.Descriptor().Fields().ByName("start")
	if field == nil || field.Message() == nil || !m.Has(field) {
		return m
	}
	return m.Get(field).Message()
}

// readMessage reads the fields by which requests name things.
func (a *asked) readMessage() {
	a.object = audit.Object{
		Kind: kindName(a.text("kind")), Namespace: a.text("namespace"), Name: a.text("name"), UID: a.text("uid"),
	}
	if a.object.Name == "" {
		a.object.Name = a.text("image")
	}
	a.container, a.command = a.text("container"), a.texts("command")
	if field := a.field("port"); field != nil && field.Kind() == protoreflect.Int32Kind && a.message.Has(field) {
		a.ports = []int32{int32(a.message.Get(field).Int())}
	}
}

// kindName returns the name of a kind that a path may name by its plural.
func kindName(word string) string {
	if kind, known := node.KindNamed(word); known {
		return string(kind.Name)
	}
	return word
}

func (a *asked) field(name protoreflect.Name) protoreflect.FieldDescriptor {
	return a.message.Descriptor().Fields().ByName(name)
}

func (a *asked) text(name protoreflect.Name) string {
	field := a.field(name)
	if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() {
		return ""
	}
	return a.message.Get(field).String()
}

func (a *asked) texts(name protoreflect.Name) (all []string) {
	field := a.field(name)
	if field == nil || field.Kind() != protoreflect.StringKind || !field.IsList() {
		return nil
	}
	list := a.message.Get(field).List()
	for i := range list.Len() {
		all = append(all, list.Get(i).String())
	}
	return all
}

// showsSecrets reports whether a read may show values of Secrets: a list or watch that asks for values, and one Secret
// that an admin reads.
func (a *asked) showsSecrets(c auth.Call) bool {
	if c.Verb != auth.Read || a.message == nil {
		return false
	}
	kinds := a.texts("kinds")
	if a.object.Kind != "" {
		kinds = []string{a.object.Kind}
	}
	hides := func(word string) bool {
		kind, known := node.KindNamed(word)
		return known && kind.Hide != nil
	}
	if field := a.field("values"); field != nil {
		return a.message.Get(field).Bool() && (len(kinds) == 0 || slices.ContainsFunc(kinds, hides))
	}
	return a.object.Name != "" && slices.ContainsFunc(kinds, hides) && auth.Allow(c.Identity.Role, auth.Admin)
}

// readPath reads the names in a path.
func (a *asked) readPath(r *http.Request) {
	a.request = r
	pod := r.PathValue("pod")
	a.object = audit.Object{
		Kind: "Node", Namespace: r.PathValue("namespace"), Name: cmp.Or(pod, r.PathValue("name")), UID: r.PathValue("uid"),
	}
	if pod != "" {
		a.object.Kind = "Pod"
	}
	a.container = r.PathValue("container")
	a.command = r.URL.Query()["command"]
	if strings.HasPrefix(auth.OwnPath(r.URL.Path), "/run/") { // it takes its command from a form, which has been read
		a.command = strings.Split(r.FormValue("cmd"), " ")
	}
}

// entry makes the first entry of a request.
func (a asked) entry(c auth.Call, find finder, level audit.Level) audit.Entry {
	e := audit.Entry{
		User: c.Identity.Name, Role: string(c.Identity.Role), Via: c.Identity.Via, Groups: c.Identity.Groups,
		Credential: c.Identity.Credential, From: c.From,
		Verb: a.verb, Method: c.Method, Container: a.container, Command: audit.CommandOf(a.command), Ports: a.ports,
	}
	var manifest audit.Manifest
	if text := a.manifest(); text != "" && (a.object.Name == "" || level == audit.Requests) {
		manifest = audit.ReadManifest(text)
	}
	if a.object.Name == "" && len(manifest) > 0 {
		e.Objects = manifest.Objects()
		for i := range e.Objects[:min(len(e.Objects), 32)] {
			e.Objects[i] = find(e.Objects[i])
		}
	} else if a.object.Kind != "" {
		object := find(a.object)
		e.Object = &object
	}
	if level == audit.Requests {
		e.Request = a.shown(manifest)
	}
	return e
}

func (a asked) manifest() string {
	if a.message == nil {
		return ""
	}
	return a.text("manifest")
}

// shown returns the request without bytes, commands and values of Secrets.
func (a asked) shown(manifest audit.Manifest) json.RawMessage {
	if a.message == nil {
		return a.shownQuery()
	}
	copied := a.message.New()
	a.message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		hidden := field.Kind() == protoreflect.BytesKind || field.Name() == "manifest" || field.Name() == "command"
		if !hidden {
			copied.Set(field, value)
		}
		return true
	})
	text, err := protojson.Marshal(copied.Interface())
	fields := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	if manifest != nil {
		fields["manifest"] = manifest.Redacted()
	}
	return encoded(fields)
}

func (a asked) shownQuery() json.RawMessage {
	if a.request == nil {
		return nil
	}
	query := a.request.URL.Query()
	query.Del("command")
	query.Del("cmd")
	return encoded(map[string]any{"query": query})
}

func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// finder completes the name of an object with its UID and revision, if there is one.
type finder func(audit.Object) audit.Object

// find looks an object up in the store.
func (l *Log) find(o audit.Object) audit.Object {
	switch kind, known := node.KindNamed(o.Kind); {
	case o.Name == "" || l.cfg.Store == nil:
	case o.Kind == "Pod":
		view, ok := l.cfg.Store.View(node.Key{Namespace: o.Namespace, Name: o.Name})
		if ok && (o.UID == "" || types.UID(o.UID) == view.Slot.Pod.UID()) {
			o.UID, o.Revision = string(view.Slot.Pod.UID()), view.Revision
		}
	case known:
		if object, ok := l.cfg.Store.Object(node.ObjectRef{Kind: kind.Name, Namespace: o.Namespace, Name: o.Name}); ok {
			o.UID, o.Revision = string(object.Meta().UID), object.Revision
		}
	}
	return o
}
