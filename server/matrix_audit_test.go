package server

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	entries "nodal/node/audit"
)

// kept holds the entries of one request to what the audit log has to say of it, by its default policy: nothing of a
// read, both ends of all else, and one line of what was refused.
func (w *world) kept(c caller, d door, r trial, want verdict, got outcome) error {
	var first entries.Entry
	switch count := kinds(c, d, r, want); count {
	case 0:
		return none(w.await(0))
	case 1:
		all := w.await(1)
		if len(all) != 1 || all[0].Stage != entries.Refused || all[0].Decision != entries.Denied {
			return fmt.Errorf("got the entries %+v, want one of a refused request", all)
		}
		if first = all[0]; !got.is(first.Outcome) {
			return fmt.Errorf("the entry says %s, and the answer is %s", first.Outcome, got)
		}
	case 2:
		all := w.await(2)
		if len(all) != 2 || all[0].Stage != entries.Received || all[0].Decision != entries.Allowed || all[1].Stage != entries.Done || all[0].ID != all[1].ID {
			return fmt.Errorf("got the entries %+v, want a received one and the done one of the same request", all)
		}
		first = all[0]
		if done := all[1]; !r.stream && !got.is(done.Outcome) || done.Outcome == "" || (done.Decision == entries.Denied) != (want == denied) {
			return fmt.Errorf("the last entry says %s and %s, and the answer is %s", done.Decision, done.Outcome, got)
		}
	}
	return r.described(c, want, first)
}

// kinds returns how many entries a request leaves.
func kinds(c caller, d door, r trial, want verdict) int {
	showsSecret := r.right == "read" && c.role == "admin" && (strings.HasSuffix(r.path, "/secrets/{name}") || strings.HasSuffix(r.path, "/GetSecret"))
	switch {
	case d.open || want == absent || want == allowed && r.right == "read" && !showsSecret:
		return 0
	case want == denied && r.scope == "manifests" && c.mayDo(r):
		return 2 // the method has begun, and has refused what it found
	case want != allowed:
		return 1
	}
	return 2
}

func none(all []entries.Entry) error {
	if len(all) > 0 {
		return fmt.Errorf("got the entries %+v, want none", all)
	}
	return nil
}

// await returns the entries since the last time, once there are so many. The last one may come after the answer.
func (w *world) await(count int) (all []entries.Entry) {
	deadline := time.After(patience)
	for {
		changed := w.file.Changed()
		if all = append(all, w.file.take()...); len(all) >= count {
			return all
		}
		select {
		case <-changed:
		case <-deadline:
			return all
		}
	}
}

// is reports whether an outcome in the log is the one of the answer.
func (o outcome) is(logged string) bool {
	if o.code == 0 || logged == strconv.Itoa(o.code) {
		return o.code != 0 || logged == o.rpc
	}
	return o.code == map[string]int{
		"OK": 200, "InvalidArgument": 400, "Unauthenticated": 401, "PermissionDenied": 403, "NotFound": 404,
		"FailedPrecondition": 409, "Internal": 500, "Unimplemented": 501, "Unavailable": 503,
	}[logged]
}

// described holds an entry to the caller and to what the request names.
func (r trial) described(c caller, want verdict, e entries.Entry) error {
	if want == unknown {
		method := r.method
		if r.verb != "gRPC" {
			method = strings.ReplaceAll(r.verb, "*", "GET") + " " + r.target()
		}
		if e.User != "" || e.Role != "" || e.Method != method {
			return fmt.Errorf("got the entry %+v, want nobody's with the method %s", e, method)
		}
		return nil
	}
	right := r.right
	if right == "read" && want == allowed {
		right = "secrets"
	}
	method := cmp.Or(r.method, strings.ReplaceAll(r.verb, "*", "GET")+" "+r.target())
	method = strings.TrimSuffix(method, "Text") // a list of pods may come as text, by a method of its own
	e.Method = strings.TrimSuffix(e.Method, "Text")
	if e.User != c.user || e.Role != c.role || e.Via != c.via || string(e.Verb) != right || e.Method != method {
		return fmt.Errorf("got the entry %+v, want %s, role %q, via %s, verb %s, method %s", e, c.user, c.role, c.via, right, method)
	}
	return r.named(e)
}

// named holds an entry to the object that the trial names.
func (r trial) named(e entries.Entry) error {
	object := entries.Object{}
	if e.Object != nil {
		object = *e.Object
	}
	kind, named := "Node", strings.Contains(r.pattern, "{name}") || strings.Contains(r.pattern, "{pod}")
	switch {
	case r.method != "":
		kind = cmp.Or(r.kind, "ConfigMap") // as the request says
	case named:
		kind = "Pod"
	}
	if r.stream && e.Stage == entries.Refused { // the message that names it is not there yet
		kind, named = r.kind, false
	}
	if r.scope == "manifests" {
		if kind, named = "Pod", true; e.Stage == entries.Refused {
			return nil // nothing was read
		}
		object = e.Objects[0]
	}
	if object.Kind != kind || named && object.Name != "web" || named && strings.Contains(r.pattern, "{namespace}") && object.Namespace != r.namespace {
		return fmt.Errorf("got the object %+v of %+v, want %s %s/web", object, e, kind, r.namespace)
	}
	return nil
}
