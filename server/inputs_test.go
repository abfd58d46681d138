package server

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/admit"
	"nodal/node/manifest"
	"nodal/node/offer"
)

// TestWhatBeginnersSendIsAnsweredWithARemedy holds the words of answers to what people send
// by mistake. testdata/inputs.txt is for reading: every answer has to say what is wrong,
// where, and what to do.
func TestWhatBeginnersSendIsAnsweredWithARemedy(t *testing.T) {
	const golden = "testdata/inputs.txt"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	preamble, cases := parseInputs(t, string(data))
	var got strings.Builder
	got.WriteString(preamble)
	for _, c := range cases {
		n := newNode(t)
		n.offers.Post(offer.Offer{Node: admit.Node{
			Name:        "node1",
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("7.5Gi")},
			Listeners:   []admit.Listener{{Address: netip.IPv6Unspecified(), Port: 10250, Serves: "its API"}},
		}})
		got.WriteString(c.question)
		for _, line := range answerLines(t, n.do(t, c.method, c.path, c.body, c.headers...)) {
			got.WriteString("> " + line + "\n")
		}
		got.WriteString("\n")
	}
	// A new kind must not change twenty answers of the file.
	words := strings.ReplaceAll(got.String(), manifest.Kinds(), "[the kinds that a node takes]")
	if *update {
		if err := os.WriteFile(golden, []byte(words), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(data), "\n")
	for i, line := range strings.Split(words, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got %q, want %q (rewrite it with -update, and read the difference)", golden, i+1, line, want[min(i, len(want)-1)])
		}
	}
}

// input is one request of the golden file.
type input struct {
	question     string // all its lines but the answer
	method, path string
	headers      []string
	body         string
}

// parseInputs reads the golden file: after "## name" come the request, its headers, the
// lines of its body behind bars, and the answer behind arrows.
func parseInputs(t *testing.T, text string) (preamble string, inputs []input) {
	t.Helper()
	sections := strings.Split(text, "## ")
	for _, section := range sections[1:] {
		lines := strings.Split(strings.TrimRight(section, "\n"), "\n")
		c := input{question: "## " + lines[0] + "\n"}
		var body []string
		for _, line := range lines[1:] {
			if strings.HasPrefix(line, ">") {
				break
			}
			c.question += line + "\n"
			switch text, isBody := strings.CutPrefix(line, "|"); {
			case isBody:
				body = append(body, strings.TrimPrefix(text, " "))
			case c.method == "":
				c.method, c.path, _ = strings.Cut(line, " ")
			default:
				name, value, _ := strings.Cut(line, ": ")
				c.headers = append(c.headers, name, value)
			}
		}
		c.body = strings.Join(body, "\n")
		inputs = append(inputs, c)
	}
	if len(inputs) < 23 {
		t.Fatalf("read %d inputs: they are not all there", len(inputs))
	}
	return sections[0], inputs
}

// faultBegins matches where the next fault of a manifest begins: with its document, or with its field.
var faultBegins = regexp.MustCompile(`; (document \d|[a-zA-Z]+(?:\.[a-zA-Z]|\[|: ))`)

// answerLines shows what a person reads of an answer.
func answerLines(t *testing.T, a answer) []string {
	t.Helper()
	var body struct {
		Message  string
		Outcomes []struct {
			Kind, Namespace, Name, Result string
			Warnings                      []string
		}
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("answer %q: %v", a.body, err)
	}
	first := fmt.Sprint(a.status)
	if allow := a.header.Values("Allow"); len(allow) > 0 {
		first += ", Allow: " + strings.Join(allow, ", ")
	}
	lines := []string{first}
	for line := range strings.SplitSeq(faultBegins.ReplaceAllString(body.Message, ";\n$1"), "\n") {
		if line != "" {
			lines = append(lines, line)
		}
	}
	for _, o := range body.Outcomes {
		lines = append(lines, fmt.Sprintf("%s %s/%s: %s", o.Kind, o.Namespace, o.Name, strings.TrimPrefix(o.Result, "RESULT_")))
		for _, w := range o.Warnings {
			lines = append(lines, "warning: "+w)
		}
	}
	return lines
}
