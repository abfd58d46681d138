package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// Scripts read these lines, so a field keeps its name.
func TestALineIsTheGoldenOne(t *testing.T) {
	exit := int32(3)
	e := Entry{
		Time: time.Date(2026, 5, 1, 12, 0, 0, 5000, time.UTC), ID: "0a1b2c3d-7", Stage: Done,
		User: "alice", Role: "operator", Via: "token", Credential: "c1", Groups: []string{"g"}, From: "192.0.2.1:5000",
		Verb: Exec, Method: "/node.v1.ExecService/Run",
		Object:  &Object{Kind: "Pod", Namespace: "default", Name: "web", UID: "u", Revision: 7},
		Objects: []Object{{Kind: "Secret", Namespace: "a", Name: "b"}}, MoreObjects: 1, Container: "main",
		Command: CommandOf([]string{"sh", "-c", "id"}), Ports: []int32{80}, Decision: Allowed, Outcome: "OK", ExitCode: &exit,
		TookMS: 12, Request: json.RawMessage(`{"a":1}`), LeftOut: 2, Reason: "r",
	}
	const want = `{"time":"2026-05-01T12:00:00.000005Z","id":"0a1b2c3d-7","stage":"done","user":"alice","role":"operator",` +
		`"via":"token","credential":"c1","groups":["g"],"from":"192.0.2.1:5000","verb":"exec","method":"/node.v1.ExecService/Run",` +
		`"object":{"kind":"Pod","namespace":"default","name":"web","uid":"u","revision":7},` +
		`"objects":[{"kind":"Secret","namespace":"a","name":"b"}],"moreObjects":1,"container":"main",` +
		`"command":{"sha256":"47144058b98608dc3ef6cc6f314e83cc10e0096bffb94b1f75faa4324d7237ba","words":3,"bytes":8},` +
		`"ports":[80],"decision":"allowed","outcome":"OK","exitCode":3,"tookMs":12,"request":{"a":1},"leftOut":2,"reason":"r"}`
	line, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(line); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, ok := Parse(line)
	again, err := back.Line()
	if !ok || err != nil || string(again) != string(line) {
		t.Errorf("read and written again it is %s, %v", again, err)
	}
}

func TestACommandIsIdentifiedByItsWords(t *testing.T) {
	// printf 'sh\0-c\0id' | sha256sum
	want := Command{SHA256: "47144058b98608dc3ef6cc6f314e83cc10e0096bffb94b1f75faa4324d7237ba", Words: 3, Bytes: 8}
	if got := CommandOf([]string{"sh", "-c", "id"}); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	if got := CommandOf([]string{"sh", "-c id"}); got.SHA256 == want.SHA256 || got.Words != 2 {
		t.Errorf("other words of the same letters are %+v", *got)
	}
	if CommandOf(nil) != nil {
		t.Error("no command has an identity")
	}
}

func TestNoTextBreaksOutOfItsLine(t *testing.T) {
	hostile := "a\n{\"stage\":\"done\"}\r\x00\x1b[2J\u2028\xff<>"
	e := Entry{
		Stage: Refused, User: hostile, From: hostile, Method: hostile, Container: hostile, Groups: []string{hostile},
		Object: &Object{Kind: hostile, Namespace: hostile, Name: hostile, UID: hostile},
	}
	line, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range line {
		if b < ' ' || b == 0x7f {
			t.Errorf("the line holds the control character %q", b)
		}
	}
	if got, ok := Parse(line); !ok || got.Stage != Refused || !strings.HasPrefix(got.User, "a\n{") {
		t.Errorf("got %+v, %t", got, ok)
	}
}

func TestEntriesAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	e := Entry{Stage: Received, User: long, Method: long, Request: json.RawMessage(`"` + long + `"`), MoreObjects: 1}
	for range 500 {
		e.Groups = append(e.Groups, long)
		e.Objects = append(e.Objects, Object{Name: long})
		e.Ports = append(e.Ports, 1)
	}
	line, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	got, ok := Parse(line)
	if !ok || len(line) > 64<<10 {
		t.Fatalf("the line has %d bytes", len(line))
	}
	if len(got.Objects) != maxObjects || got.MoreObjects != 501-maxObjects || len(got.Groups) != maxGroups {
		t.Errorf("got %d objects and %d more, %d groups", len(got.Objects), got.MoreObjects, len(got.Groups))
	}
	if !strings.HasSuffix(got.User, "ü...") || !strings.Contains(string(got.Request), "tooLarge") {
		t.Errorf("got user %q and request %s", got.User, got.Request)
	}
	if len(e.Objects) != 500 || e.Objects[0].Name != long {
		t.Error("the entry itself was shortened")
	}
}

func TestACutLineIsNoEntry(t *testing.T) {
	line, err := Entry{Stage: Done, User: "alice"}.Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{}", "null", "x", string(line[:len(line)-1]), string(line[5:])} {
		if e, ok := Parse([]byte(text)); ok {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}

func TestFieldsLeaveThePartsOut(t *testing.T) {
	e := Entry{
		User: "alice", Verb: Write, From: "here", Groups: []string{"g"}, Object: &Object{Name: "web"}, Container: "main",
		Objects: []Object{{Name: "web"}}, MoreObjects: 1, Command: &Command{Words: 1},
	}
	for name, has := range map[string]func(Entry) bool{
		"from":   func(e Entry) bool { return e.From != "" },
		"groups": func(e Entry) bool { return e.Groups != nil },
		"object": func(e Entry) bool {
			return e.Object != nil && e.Objects != nil && e.MoreObjects > 0 && e.Container != ""
		},
		"command": func(e Entry) bool { return e.Command != nil },
	} {
		with, err := FieldsNamed([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		all := []string{"from", "groups", "object", "command"}
		others, err := FieldsNamed(slices.DeleteFunc(all, func(n string) bool { return n == name }))
		if err != nil {
			t.Fatal(err)
		}
		if !has(with.Keep(e)) || has(others.Keep(e)) || with.Keep(e).User != "alice" {
			t.Errorf("%s is not kept by its name alone", name)
		}
	}
}

func TestFilterSelects(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	web := Object{Kind: "Pod", Namespace: "default", Name: "web", UID: "u", Revision: 9}
	one := Entry{Time: noon, User: "alice", Verb: Write, Object: &web}
	many := Entry{Time: noon, User: "bob", Verb: Write, Objects: []Object{{Kind: "Secret", Name: "s"}, web}}
	for _, c := range []struct {
		name      string
		filter    Filter
		one, many bool
	}{
		{"everything", Filter{}, true, true},
		{"by caller", Filter{User: "alice"}, true, false},
		{"by verb", Filter{Verb: Exec}, false, false},
		{"by pod", Filter{Object: Object{Kind: "Pod", Namespace: "default", Name: "web"}}, true, true},
		{"by UID", Filter{Object: Object{UID: "u"}}, true, true},
		{"by an object beside it", Filter{Object: Object{Kind: "Secret", Name: "s"}}, false, true},
		{"by the name of one and the kind of another", Filter{Object: Object{Kind: "Secret", Name: "web"}}, false, false},
		{"since then", Filter{Since: noon}, true, true},
		{"since later", Filter{Since: noon.Add(1)}, false, false},
	} {
		if got := c.filter.Matches(one); got != c.one {
			t.Errorf("%s: an entry of one object: got %t", c.name, got)
		}
		if got := c.filter.Matches(many); got != c.many {
			t.Errorf("%s: an entry of a manifest: got %t", c.name, got)
		}
	}
}
