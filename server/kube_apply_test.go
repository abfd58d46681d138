package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const applied = "application/apply-patch+yaml"

// step is a request of a manager, and what its answer has to be.
type applyStep struct {
	name, method, path, body, kind string
	status                         int
	want                           []string
	not                            string
}

func (n *node1) steps(t *testing.T, steps []applyStep) {
	t.Helper()
	for _, s := range steps {
		var headers []string
		if s.kind != "" {
			headers = []string{"Content-Type", s.kind}
		}
		got := n.do(t, s.method, s.path, s.body, append(headers, "User-Agent", "curl/8.1 (test)")...)
		if got.status != s.status {
			t.Fatalf("%s: got %d %.3000s\nwant %d", s.name, got.status, got.body, s.status)
		}
		for _, text := range s.want {
			if !strings.Contains(got.body, text) {
				t.Fatalf("%s: got %.3000s\nwant %s in it", s.name, got.body, text)
			}
		}
		if s.not != "" && strings.Contains(got.body, s.not) {
			t.Fatalf("%s: got %.3000s\nwant it without %s", s.name, got.body, s.not)
		}
	}
}

const (
	colorsPath = "/api/v1/namespaces/default/configmaps/colors"
	colorsHead = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"colors"},"data":`
)

func colorsOf(data string) string { return colorsHead + data + "}" }

func TestServerSideApplyKeepsTheFieldsOfItsManagers(t *testing.T) {
	n := newNode(t)
	const alice, bob = colorsPath + "?fieldManager=alice", colorsPath + "?fieldManager=bob"
	const merge, steps = "application/merge-patch+json", "application/json-patch+json"
	n.steps(t, []applyStep{
		{"a dry run", "PATCH", alice + "&dryRun=All", colorsOf(`{"a":"red"}`), applied, 201, []string{`"manager":"alice"`, `"a":"red"`}, `"uid"`},
		{"which made nothing", "GET", colorsPath, "", "", 404, nil, ""},
		{"no object yet", "PATCH", alice, colorsOf(`{"a":"red","b":"blue"}`), applied, 201,
			[]string{`"fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}`, `"manager":"alice","operation":"Apply"`, `"apiVersion":"v1","fieldsType":"FieldsV1"`}, ""},
		{"a field less, in YAML", "PATCH", alice, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: colors\ndata:\n  a: red\n", applied, 200,
			[]string{`"data":{"a":"red"}`, `"f:data":{"f:a":{}}`}, "blue"},
		{"another manager, other fields", "PATCH", bob, colorsOf(`{"c":"green"}`), applied, 200, []string{`"data":{"a":"red","c":"green"}`, `"manager":"bob"`}, ""},
		{"a conflict", "PATCH", bob, colorsOf(`{"a":"pink","c":"green"}`), applied, 409, []string{
			`"reason":"Conflict"`, `"reason":"FieldManagerConflict"`, `"message":"conflict with \"alice\""`, `"field":".data.a"`,
			`Apply failed with 1 conflict: conflict with \"alice\": .data.a`,
		}, ""},
		{"the same value is no conflict", "PATCH", bob, colorsOf(`{"a":"red","c":"green"}`), applied, 200, []string{`"f:data":{"f:a":{},"f:c":{}}`}, ""},
		{"one of two leaves a field", "PATCH", bob, colorsOf(`{"c":"green"}`), applied, 200, []string{`"data":{"a":"red","c":"green"}`}, ""},
		{"by force, in a dry run", "PATCH", bob + "&force=true&dryRun=All", colorsOf(`{"a":"pink","c":"green"}`), applied, 200, []string{`"a":"pink"`}, ""},
		{"by force", "PATCH", bob + "&force=true", colorsOf(`{"a":"pink","c":"green"}`), applied, 200,
			[]string{`"a":"pink"`, `"manager":"bob"`}, `"manager":"alice"`},
		{"the first one, from whom it was taken", "PATCH", alice, colorsOf(`{"a":"red"}`), applied, 409, []string{`conflict with \"bob\": .data.a`}, ""},
		{"a patch", "PATCH", colorsPath, `{"data":{"d":"black"},"metadata":{"labels":{"x":"y"}}}`, merge, 200,
			[]string{`"fieldsV1":{"f:data":{"f:d":{}},"f:metadata":{"f:labels":{".":{},"f:x":{}}}},"manager":"curl","operation":"Update"`}, ""},
		{"a patch with a manager", "PATCH", colorsPath + "?fieldManager=carol", `[{"op":"replace","path":"/data/c","value":"grey"}]`, steps, 200,
			[]string{`"manager":"carol","operation":"Update"`, `{"f:data":{"f:c":{}}}`}, ""},
		{"a conflict with an update", "PATCH", alice, colorsOf(`{"d":"white"}`), applied, 409, []string{`conflict with \"curl\" using v1: .data.d`}, ""},
		{"two conflicts", "PATCH", alice, colorsOf(`{"c":"white","d":"white"}`), applied, 409, []string{`Apply failed with 2 conflicts: conflicts with \"carol\" using v1`}, ""},
		{"a replacement", "PUT", colorsPath + "?fieldManager=dave", colorsOf(`{"a":"pink","e":"brown"}`), "", 200,
			[]string{`{"f:data":{"f:e":{}}},"manager":"dave","operation":"Update"`, `{"f:data":{"f:a":{}}},"manager":"bob"`}, "carol"},
		{"an empty list of managers", "PATCH", colorsPath, `{"metadata":{"managedFields":[]}}`, merge, 200, []string{`"e":"brown"`}, "managedFields"},
		{"which is the one before the first apply", "PATCH", alice, colorsOf(`{"e":"white"}`), applied, 409, []string{`conflict with \"before-first-apply\" using v1`}, ""},
		{"a removal of managers by a patch", "PATCH", alice + "&force=true", colorsOf(`{"e":"white"}`), applied, 200, []string{`"manager":"before-first-apply"`, `"manager":"alice"`}, ""},
	})
}

func TestServerSideApplyRefuses(t *testing.T) {
	n := newNode(t)
	const alice = colorsPath + "?fieldManager=alice"
	good := colorsOf(`{"a":"red"}`)
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	n.steps(t, []applyStep{
		{"no manager", "PATCH", colorsPath, good, applied, 422, []string{`"reason":"Invalid"`, "fieldManager: Required value: is required for apply patch"}, ""},
		{"a long manager", "PATCH", colorsPath + "?fieldManager=" + strings.Repeat("x", 129), good, applied, 422, []string{"fieldManager: Too long"}, ""},
		{"force without apply", "PATCH", colorsPath + "?force=true", "{}", "application/merge-patch+json", 422, []string{"may not be specified for non-apply patch"}, ""},
		{"force that is no word", "PATCH", alice + "&force=perhaps", good, applied, 400, []string{"force"}, ""},
		{"another name", "PATCH", alice, strings.Replace(good, "colors", "other", 1), applied, 400, []string{"metadata.name"}, ""},
		{"another namespace", "PATCH", alice, strings.Replace(good, `"name"`, `"namespace":"other","name"`, 1), applied, 400, []string{"metadata.namespace"}, ""},
		{"another kind", "PATCH", alice, strings.Replace(good, "ConfigMap", "Secret", 1), applied, 400, []string{"Secret"}, ""},
		{"an unknown field", "PATCH", alice + "&fieldValidation=Strict", strings.Replace(good, `"data"`, `"date"`, 1), applied, 400, []string{".date: field not declared in schema"}, ""},
		{"a field of another type", "PATCH", alice, colorsOf(`{"a":["red"]}`), applied, 400, []string{".data.a: expected string"}, ""},
		{"a field twice", "PATCH", alice + "&fieldValidation=Strict", colorsOf(`{"a":"red","a":"blue"}`), applied, 400, []string{"error strict decoding YAML", "already set"}, ""},
		{"another validation", "PATCH", alice + "&fieldValidation=Some", good, applied, 422, []string{"fieldValidation"}, ""},
		{"managers in the body", "PATCH", alice, strings.Replace(good, `"name"`, `"managedFields":[],"name"`, 1), applied, 400, []string{"metadata.managedFields must be nil"}, ""},
		{"a UID of nothing", "PATCH", alice, strings.Replace(good, `"name"`, `"uid":"x","name"`, 1), applied, 409, []string{"uid mismatch"}, ""},
		{"no YAML", "PATCH", alice, "{", applied, 400, []string{"BadRequest"}, ""},
		{"no object", "PATCH", alice, "7", applied, 400, []string{"BadRequest"}, ""},
		{"a great depth", "PATCH", alice, colorsOf(deep), applied, 400, nil, ""},
		{"a greater depth", "PATCH", alice, colorsOf(strings.Repeat("[", 500_000)), applied, 400, nil, ""},
		{"aliases of aliases", "PATCH", alice, "a: &a [x,x,x,x,x,x,x,x,x]\n" + aliases(), applied, 400, nil, ""},
		{"nothing was made", "GET", colorsPath, "", "", 404, nil, ""},
	})
}

func aliases() (text string) {
	for c := 'b'; c < 'm'; c++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	return text
}

// An apply that changes nothing leaves no trace: neither a revision nor a time.
func TestServerSideApplyOfTheSameChangesNothing(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct{ path, body string }{
		{colorsPath, colorsOf(`{"a":"red"}`)},
		{podsOfKube + "/web", appliedPod("a:1", `[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]`)},
	} {
		var first, second metav1.PartialObjectMetadata
		for _, into := range []*metav1.PartialObjectMetadata{&first, &second} {
			got := n.do(t, "PATCH", c.path+"?fieldManager=alice", c.body, "Content-Type", applied)
			if err := json.Unmarshal([]byte(got.body), into); err != nil || got.status/100 != 2 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
		}
		if len(first.ManagedFields) != 1 || first.ResourceVersion != second.ResourceVersion {
			t.Errorf("%s: revision %s became %s, with %v", c.path, first.ResourceVersion, second.ResourceVersion, second.ManagedFields)
		}
	}
}

func appliedPod(image, ports string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"},"spec":{"containers":[{"name":"main","image":%q,"ports":%s}]}}`, image, ports)
}

func TestServerSideApplyMergesListsByTheirKeys(t *testing.T) {
	n := newNode(t)
	const pod, alice, bob = podsOfKube + "/web", podsOfKube + "/web?fieldManager=alice", podsOfKube + "/web?fieldManager=bob"
	read := func() (pod corev1.Pod) {
		t.Helper()
		got := n.do(t, "GET", podsOfKube+"/web", "")
		if err := json.Unmarshal([]byte(got.body), &pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	n.steps(t, []applyStep{
		{"a pod", "PATCH", alice, appliedPod("a:1", `[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]`), applied, 201,
			[]string{`k:{\"containerPort\":80,\"protocol\":\"TCP\"}`, `k:{\"name\":\"main\"}`}, ""},
	})
	uid := read().UID
	n.steps(t, []applyStep{
		{"a label of another manager", "PATCH", bob, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","labels":{"b":"c"}}}`, applied, 200, []string{`"b":"c"`, `"image":"a:1"`}, ""},
		{"an image by another manager", "PATCH", bob, appliedPod("a:2", "[]"), applied, 409, []string{`.spec.containers[name=\"main\"].image`}, ""},
		{"an image by its manager", "PATCH", alice, appliedPod("a:2", `[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]`), applied, 200, []string{`"image":"a:2"`, `"b":"c"`}, ""},
	})
	if now := read(); now.UID != uid || len(now.Spec.Containers[0].Ports) != 2 {
		t.Errorf("got the UID %s and ports %v, want %s and two", now.UID, now.Spec.Containers[0].Ports, uid)
	}
}

// Of more fields than can be noted nothing is noted, and an apply of them is refused.
func TestServerSideApplyOfAMegabyte(t *testing.T) {
	n := newNode(t)
	var data []string
	for i := range 30_000 {
		data = append(data, fmt.Sprintf(`"key-%07d":"%015d"`, i, i))
	}
	big := colorsOf("{" + strings.Join(data, ",") + "}")
	few := colorsOf("{" + strings.Join(data[:5000], ",") + `,"large":"` + strings.Repeat("x", 700_000) + `"}`)
	n.steps(t, []applyStep{
		{"too many fields", "PATCH", colorsPath + "?fieldManager=alice", big, applied, 413, []string{"managedFields"}, ""},
		{"by other means", "POST", strings.TrimSuffix(colorsPath, "/colors"), big, "", 201, nil, "managedFields"},
		{"gone", "DELETE", colorsPath, "", "", 200, nil, ""},
		{"many fields", "PATCH", colorsPath + "?fieldManager=alice", few, applied, 201, []string{"managedFields"}, ""},
		{"another manager", "PATCH", colorsPath + "?fieldManager=bob", colorsOf(`{"b":"blue"}`), applied, 200, []string{`"manager":"bob"`}, ""},
	})
}

// The node API keeps the managers of fields, and takes nothing that would harm.
func TestManagedFieldsAreBounded(t *testing.T) {
	n := newNode(t)
	n.steps(t, []applyStep{
		{"an apply", "PATCH", colorsPath + "?fieldManager=alice", colorsOf(`{"a":"red"}`), applied, 201, nil, ""},
		{"a manifest that says nothing of managers", "POST", "/v1/manifests", colorsOf(`{"a":"red","b":"blue"}`), "", 200, []string{"RESULT_UPDATED"}, ""},
		{"keeps them", "GET", colorsPath, "", "", 200, []string{`"manager":"alice"`, `"b":"blue"`}, ""},
		{"and again", "POST", "/v1/manifests", colorsOf(`{"a":"red","b":"blue"}`), "", 200, []string{"RESULT_UNCHANGED"}, ""},
	})
	entry := func(fields string) string {
		return strings.Replace(colorsOf(`{"a":"red"}`), `"name"`, `"managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":`+fields+`}],"name"`, 1)
	}
	n.steps(t, []applyStep{
		{"a great depth", "POST", "/v1/manifests", entry(strings.Repeat(`{"f:a":`, 65) + "{}" + strings.Repeat("}", 65)), "", 400, []string{"64 levels"}, ""},
		{"a great size", "POST", "/v1/manifests", entry(`{"f:` + strings.Repeat("x", 256<<10) + `":{}}`), "", 400, []string{"metadata.managedFields"}, ""},
		{"another operation", "POST", "/v1/manifests", strings.Replace(entry("{}"), `"Apply"`, `"Steal"`, 1), "", 400, []string{"operation"}, ""},
		{"fields that mean nothing", "POST", "/v1/manifests", entry(`{"nonsense":{}}`), "", 200, nil, ""},
		{"do not keep others from an apply", "PATCH", colorsPath + "?fieldManager=bob", colorsOf(`{"c":"green"}`), applied, 200, []string{`"manager":"bob"`, `"before-first-apply"`}, ""},
	})
}
