package audit

import (
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"nodal/node/audit"
	"nodal/server/auth"
)

// answered makes the last entry of a request from the first. It says all again, so that it can be read alone.
func answered(e audit.Entry, end auth.Ending, find finder, now time.Time) audit.Entry {
	e.TookMS = now.Sub(e.Time).Milliseconds()
	e.Time, e.Stage, e.Outcome, e.Request = now, audit.Done, end.Outcome, nil
	if e.Outcome == codes.PermissionDenied.String() || e.Outcome == strconv.Itoa(403) {
		e.Decision = audit.Denied // by the policy for pods, or since values are not for this caller
	}
	exit, ports := end.Note.Read()
	e.ExitCode = exit
	if len(ports) > 0 {
		e.Ports = ports
	}
	answer, ok := end.Answer.(proto.Message)
	if !ok {
		return e
	}
	if outcomes := outcomesIn(answer.ProtoReflect()); len(outcomes) > 0 {
		e.Objects, e.Object = outcomes, nil
	}
	if e.Object != nil && e.Verb == audit.Write {
		e.Object = after(*e.Object, answer.ProtoReflect(), find)
	}
	return e
}

// outcomesIn returns what a manifest came to, object by object.
func outcomesIn(answer protoreflect.Message) (all []audit.Object) {
	field := answer.Descriptor().Fields().ByName("outcomes")
	if field == nil || !field.IsList() || field.Message() == nil {
		return nil
	}
	list := answer.Get(field).List()
	for i := range list.Len() {
		all = append(all, objectIn(list.Get(i).Message()))
	}
	return all
}

// after returns an object as its answer shows it. An object that was created has its UID only now.
func after(o audit.Object, answer protoreflect.Message, find finder) *audit.Object {
	fields := answer.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() == nil || field.IsList() || !answer.Has(field) {
			continue
		}
		if got := objectIn(answer.Get(field).Message()); got.Revision != 0 && got.Name == o.Name {
			o.UID, o.Revision = got.UID, got.Revision
			return &o
		}
	}
	now := find(audit.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
	if now.UID != "" { // a deleted one keeps what the first entry says
		o.UID, o.Revision = now.UID, now.Revision
	}
	return &o
}

// objectIn reads the fields by which answers name objects.
func objectIn(m protoreflect.Message) audit.Object {
	text := func(name protoreflect.Name) string {
		field := m.Descriptor().Fields().ByName(name)
		if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() {
			return ""
		}
		return m.Get(field).String()
	}
	o := audit.Object{Kind: text("kind"), Namespace: text("namespace"), Name: text("name"), UID: text("uid")}
	if field := m.Descriptor().Fields().ByName("revision"); field != nil && field.Kind() == protoreflect.Int64Kind {
		o.Revision = m.Get(field).Int()
	}
	return o
}
