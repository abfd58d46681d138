package manifest_test

import (
	"strings"
	"testing"

	"nodal/node"
	"nodal/node/manifest"
)

func TestASyntaxErrorNamesItsLineAndTheRemedy(t *testing.T) {
	// Brackets and quotes that are open over several lines are sound as a whole.
	const folded = "  labels: {app: web,\n    tier: front}\n  annotations: {text: 'a\n    b'}\n"
	shallow := strings.Replace(web, "    image", "   image", 1)
	long := strings.Repeat("# a comment of a long file, of which a line is at fault\n", 1500)
	tests := map[string]struct{ bundle, rule string }{
		"too little":                      {strings.Replace(web, "    image", "   image", 1), "line 8: it is indented by 3 spaces, and the lines that it belongs to by 0, 2 or 4; line it up"},
		"too much":                        {strings.Replace(web, "  name: web", "  name: web\n    labels: {}", 1), "line 5: it is indented by 4 spaces, and the lines that it belongs to by 0 or 2"},
		"behind what is open for a while": {strings.Replace(web, "spec:", folded+"spec:", 1) + "   ports: []\n", "line 13: it is indented by 3 spaces"},
		"a tab":                           {strings.Replace(web, "    image", "\timage", 1), "line 8: a tab cannot indent in YAML; use spaces"},
		"a tab in a later document":       {web + "---\n" + strings.Replace(web, "    image", "\timage", 1), "line 17: a tab cannot"},
		"a colon without a space":         {strings.Replace(web, "name: web\n", "name:web\n  labels: {a: b}\n", 1), "line 4: a colon needs a space behind it; write name: VALUE"},
		"a quote that stays open":         {strings.Replace(web, "name: app", `name: "app`, 1), "line 7: a quote or bracket opens here"},
		"a template":                      {strings.Replace(web, "example.com/app:1.0", "{{ .image }}", 1), "line 8: {{ belongs to a template"},
		"none of these":                   {strings.Replace(web, "example.com/app:1.0", "*unknown", 1), "unknown anchor"},
		"beyond what is searched":         {strings.Repeat("# a comment\n", 4000) + shallow + "---\n" + strings.Repeat("# a comment\n", 4000) + shallow, "did not find expected key"},
		"longer than what is searched":    {long + strings.Replace(web, "    image", "   image", 1), "did not find expected key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Decode([]byte(test.bundle), manifest.Options{})
			document := strings.Count(test.bundle, "---")
			expectViolation(t, err, node.Violation{Document: document, Rule: test.rule})
		})
	}
}

// BenchmarkSyntaxError is the dearest text that is searched: it parses up to its end.
func BenchmarkSyntaxError(b *testing.B) {
	text := []byte(strings.Repeat("- {name: a, value: b}\n", 2900) + " - c\n")
	for b.Loop() {
		if _, err := manifest.Decode(text, manifest.Options{}); err == nil {
			b.Fatal("the text is read")
		}
	}
}
