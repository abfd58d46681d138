package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
)

const web = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: example.com/app:1.0
`

const webJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"app","image":"a:1"}]}}`

func named(name string) string { return strings.Replace(web, "name: web", "name: "+name, 1) }

func TestDecodeFindsEveryPodOfABundle(t *testing.T) {
	json := func(name string) string { return fmt.Sprintf(webJSON, name) }
	tests := map[string]struct {
		bundle string
		want   string // index:name of every pod
	}{
		"a single YAML document":               {web, "0:web"},
		"a JSON document":                      {json("a"), "0:a"},
		"a byte order mark":                    {"\xef\xbb\xbf" + web, "0:web"},
		"Windows line ends":                    {strings.ReplaceAll(web+"---\n"+named("two"), "\n", "\r\n"), "0:web 1:two"},
		"two YAML documents":                   {web + "---\n" + named("two"), "0:web 1:two"},
		"empty documents are not counted":      {"---\n---\n# nothing\n---\n" + web + "---\n\n--- # end\n" + named("two") + "---\n", "0:web 1:two"},
		"a directive and an end marker":        {"%YAML 1.1\n---\n" + web + "...\n" + named("two"), "0:web 1:two"},
		"a document on its marker's line":      {"--- " + json("a") + "\n--- " + json("b"), "0:a 1:b"},
		"JSON values one after another":        {json("a") + json("b") + "\n" + json("c"), "0:a 1:b 2:c"},
		"YAML and JSON side by side":           {json("a") + "\n---\n" + web, "0:a 1:web"},
		"a flow mapping that is not JSON":      {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`, "0:a"},
		"a PodList whose items repeat no kind": {`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}]}`, "0:a"},
		"a List and a pod":                     {`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[` + json("a") + "," + json("b") + "]}\n---\n" + web, "0:a 0:b 1:web"},
		"an empty list":                        {`{"apiVersion":"v1","kind":"List","items":[]}`, ""},
		"a marker inside a block scalar":       {strings.Replace(web, "spec:", "  annotations:\n    text: |\n      ---\n      kind: Pod\nspec:", 1), "0:web"},
		"few aliases":                          {strings.Replace(web, "spec:", "  labels: &l {app: web}\n  annotations: *l\nspec:", 1), "0:web"},
		"a key that overrides a merged one":    {strings.Replace(web, "spec:", "  labels: &l {app: web, x: a}\n  annotations:\n    <<: *l\n    x: b\nspec:", 1), "0:web"},
		"null where nothing is needed":         {strings.Replace(web, "spec:", "  labels: null\n  creationTimestamp: null\nstatus: {}\nspec:\n  volumes: null\n  hostNetwork: ~", 1), "0:web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.Decode([]byte(test.bundle), manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, doc := range docs {
				got = append(got, fmt.Sprintf("%d:%s", doc.Index, doc.Pod.Name))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		bundle           string
		document         int
		object, at, rule string
	}{
		"nothing at all":             {"", 0, "", "", "at least one document"},
		"only comments":              {"# a\n---\n# b\n", 0, "", "", "at least one document"},
		"lines that curl joined":     {strings.ReplaceAll(web, "\n", ""), 0, "", "", "--data-binary"},
		"a comment before them":      {"# example" + strings.ReplaceAll(web, "\n", ""), 0, "", "", "--data-binary"},
		"not text":                   {"\xff\xfe\x00", 0, "", "", "UTF-8"},
		"a tab as indentation":       {web + "---\nkind:\n\tPod", 1, "", "", "must be valid YAML or JSON: line 11: a tab cannot indent"},
		"half a file":                {web[:len(web)-30] + "\n    image: [", 0, "", "", "must be valid YAML"},
		"a scalar":                   {"hello", 0, "", "", "must be an object"},
		"a list of pods":             {"- " + strings.ReplaceAll(web, "\n", "\n  "), 0, "", "", "must be an object"},
		"no kind":                    {strings.Replace(web, "kind: Pod\n", "", 1), 0, "", "kind", "required"},
		"no apiVersion":              {strings.Replace(web, "apiVersion: v1\n", "", 1), 0, "Pod default/web", "apiVersion", "required"},
		"an unknown kind":            {strings.Replace(web, "kind: Pod", "kind: Ingress", 1), 0, "Ingress default/web", "kind", "a node takes Pod"},
		"a kind that is a number":    {strings.Replace(web, "kind: Pod", "kind: 7", 1), 0, "", "kind", "required"},
		"an unknown field":           {web + "---\n" + strings.Replace(named("two"), "image:", "imagee:", 1), 1, "Pod default/two", "spec.containers[0].imagee", "unknown field; did you mean image?"},
		"a field in wrong case":      {strings.Replace(web, "image:", "Image:", 1), 0, "Pod default/web", "spec.containers[0].Image", "unknown field; did you mean image?"},
		"a duplicate key":            {web + "    image: other", 0, "Pod default/web", "spec.containers[0].image", "duplicate key"},
		"a duplicate key in JSON":    {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"a"},"spec":{"containers":[{"name":"app","image":"a:1"}]}}`, 0, "Pod default/a", "metadata.name", "duplicate key"},
		"a key before its merged":    {strings.Replace(web, "spec:", "  labels: &l {app: web, x: a}\n  annotations:\n    x: b\n    <<: *l\nspec:", 1), 0, "Pod default/web", "", "already set"},
		"a duplicate key and merged": {strings.Replace(web, "spec:", "  labels: &l {app: web, x: a}\n  annotations: {<<: *l, x: b, x: c}\nspec:", 1), 0, "Pod default/web", "metadata.annotations.x", "duplicate key"},
		"a number as a name":         {named("123"), 0, "Pod", "metadata.name", "must be a string, not the number 123"},
		"a string as a port":         {web + "    ports: [{containerPort: 80}, {containerPort: http}]", 0, "Pod default/web", "spec.containers[0].ports[1].containerPort", "whole number of 32 bits, not the string"},
		"a fraction as a port":       {web + "    ports: [{containerPort: 80.5}]", 0, "Pod default/web", "spec.containers[0].ports[0].containerPort", "whole number of 32 bits, not the number 80.5"},
		"a port beyond 32 bits":      {web + "    ports: [{containerPort: 9007199254740993}]", 0, "Pod default/web", "spec.containers[0].ports[0].containerPort", "not the number 9007199254740993"},
		"a grace beyond 64 bits":     {web + "  terminationGracePeriodSeconds: 99999999999999999999", 0, "Pod default/web", "spec.terminationGracePeriodSeconds", "whole number of 64 bits"},
		"a bad quantity":             {web + "    resources: {limits: {cpu: lots}}", 0, "Pod default/web", "spec.containers[0].resources.limits[cpu]", "\"lots\" is not a quantity; write a number of CPUs"},
		"an unquoted yes":            {web + "    env: [{name: A, value: yes}]", 0, "Pod default/web", "spec.containers[0].env[0].value", "must be a string, not true (quote it"},
		"a list for an object":       {strings.Replace(web, "spec:", "  labels: [a]\nspec:", 1), 0, "Pod default/web", "metadata.labels", "must be an object, not a list"},
		"a null container":           {web + "  - null", 0, "Pod default/web", "spec.containers[1].name", "Required"},
		"null containers":            {strings.Replace(web, "containers:", "containers: null\n  initContainers:", 1), 0, "Pod default/web", "spec.containers", "at least one container"},
		"a wrong item of a List":     {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Ingress","metadata":{"name":"s"}}]}`, 0, "Ingress default/s", "items[0].kind", "a node has no Ingresses"},
		"a List in a List":           {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","metadata":{"name":"s"},"items":[]}]}`, 0, "List default/s", "items[0].kind", "which a List cannot contain"},
		"a bad pod in a PodList":     {`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}]}`, 0, "Pod default/p", "items[0].spec.containers[0].image", "Required"},
		"the same pod twice":         {web + "---\n" + web, 1, "Pod default/web", "metadata.name", "document 1 has the same pod"},
		"a generated name":           {strings.Replace(web, "name: web", "generateName: web-", 1), 0, "Pod", "metadata.name", "does not make names"},
		"two values in flow style":   {"{kind: a}\n{kind: b}", 0, "", "", "separate documents with"},
		"an alias bomb":              {bomb(), 0, "", "", "aliases are expanded"},
		"nesting without end":        {strings.Repeat("[", 100_000), 0, "", "", "must be valid YAML"},
		"JSON nesting without end":   {`{"a":` + strings.Repeat("[", 20_000), 0, "", "", "must be valid YAML"},
		"aliases of what is decoded": {"a: &a !!binary " + strings.Repeat("eHh4", 1<<18) + "\nb: [" + strings.Repeat("*a, ", 1000) + "]", 0, "", "", "aliases are expanded"},
		"an alias of itself":         {"a: &a [*a]", 0, "", "", "aliases are expanded"},
		"too much of a name":         {named(strings.Repeat("x", 1<<20)), 0, "Pod default/" + strings.Repeat("x", 128) + "...", "metadata.name", "no more than 253"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Decode([]byte(test.bundle), manifest.Options{})
			want := node.Violation{Document: test.document, Object: test.object, Field: test.at, Rule: test.rule}
			expectViolation(t, err, want)
			if len(err.Error()) > 4096 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// bomb is a kilobyte that unfolds to gigabytes.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 " + strings.Repeat("x", 100) + "\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

func expectViolation(t *testing.T, err error, want node.Violation) {
	t.Helper()
	var invalid *node.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, node.ErrInvalid) {
		t.Fatalf("got error %v, want an InvalidError", err)
	}
	for _, v := range invalid.Violations {
		if v.Document == want.Document && v.Object == want.Object && v.Field == want.Field && strings.Contains(v.Rule, want.Rule) {
			return
		}
	}
	t.Errorf("got:\n%s\nwant one of them to be:\n%s", strings.ReplaceAll(err.Error(), "; ", "\n"), want)
}

func TestDecodeReportsAllDocumentsAndTakesNone(t *testing.T) {
	bundle := strings.Replace(web, "image:", "imagee:", 1) + "---\n" + named("good") + "---\n" + named("BAD")
	docs, err := manifest.Decode([]byte(bundle), manifest.Options{})
	if docs != nil {
		t.Errorf("got %d pods, want none", len(docs))
	}
	expectViolation(t, err, node.Violation{Document: 0, Object: "Pod default/web", Field: "spec.containers[0].imagee", Rule: "unknown field"})
	expectViolation(t, err, node.Violation{Document: 2, Object: "Pod default/BAD", Field: "metadata.name", Rule: "lowercase RFC 1123"})
}

func TestDecodeEachKeepsTheSoundDocuments(t *testing.T) {
	bundle := strings.Replace(web, "image:", "imagee:", 1) + "---\n" + named("good")
	docs, err := manifest.DecodeEach([]byte(bundle), manifest.Options{})
	if len(docs) != 1 || docs[0].Pod.Name != "good" || docs[0].Index != 1 {
		t.Errorf("got %v, want the pod good of document 1", docs)
	}
	expectViolation(t, err, node.Violation{Document: 0, Object: "Pod default/web", Field: "spec.containers[0].imagee", Rule: "unknown field"})
}

func TestDecodeBoundsWhatItTakes(t *testing.T) {
	var bundle strings.Builder
	for i := range 4 {
		bundle.WriteString("---\n" + named(fmt.Sprintf("p%d", i)))
	}
	list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join([]string{
		fmt.Sprintf(webJSON, "a"), fmt.Sprintf(webJSON, "b"), fmt.Sprintf(webJSON, "c"), fmt.Sprintf(webJSON, "d")}, ",") + "]}"
	options := manifest.Options{MaxDocuments: 3}
	_, err := manifest.Decode([]byte(bundle.String()), options)
	expectViolation(t, err, node.Violation{Rule: "at most 3 documents"})
	_, err = manifest.Decode([]byte(list), options)
	expectViolation(t, err, node.Violation{Object: "List", Field: "items", Rule: "at most 3 items"})
	_, err = manifest.Decode([]byte(strings.Repeat("---\nbad\n", 500)), manifest.Options{})
	expectViolation(t, err, node.Violation{Document: 49, Rule: "450 more violations are not shown"})
}

func TestDecodeForgetsWhatAnAPIServerWrote(t *testing.T) {
	bundle := strings.Replace(web, "spec:", "  uid: abc\n  resourceVersion: '7'\n  managedFields: []\n  deletionTimestamp: 2020-01-01T00:00:00Z\nstatus: {phase: Failed}\nspec:", 1)
	docs, err := manifest.Decode([]byte(bundle), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pod := docs[0].Pod
	if pod.UID != "abc" || pod.ResourceVersion != "" || pod.DeletionTimestamp != nil || pod.Status.Phase != "" {
		t.Errorf("got uid %q, resourceVersion %q, deletion %v, phase %q; want only the uid",
			pod.UID, pod.ResourceVersion, pod.DeletionTimestamp, pod.Status.Phase)
	}
}

func decodeOne(t testing.TB, bundle string) *corev1.Pod {
	t.Helper()
	docs, err := manifest.Decode([]byte(bundle), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return docs[0].Pod
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(read(b, "testdata/good/volumes.yaml"))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := manifest.Decode(data, manifest.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
