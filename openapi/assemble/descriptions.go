package main

import (
	"reflect"
	"strings"
)

// described is a type of Kubernetes that says what its fields are for, by their names in JSON.
type described interface{ SwaggerDoc() map[string]string }

// describe adds what Kubernetes says of a struct's fields to their schemas. A field that is a struct itself has it beside the
// reference to that.
func describe(t reflect.Type, properties object) {
	told, ok := reflect.New(t).Interface().(described)
	if !ok {
		return
	}
	words := told.SwaggerDoc()
	for name, schema := range properties {
		if text := firstSentence(words[name]); text != "" {
			schema.(object)["description"] = text
		}
	}
}

// mostWords bounds a description, in bytes: the binary holds all of them.
const mostWords = 220

// firstSentence returns the first sentence of a description, or as much of it as there is room for.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for at := 0; ; {
		end := strings.Index(text[at:], ". ")
		if end < 0 {
			break
		}
		at += end + 1
		if before := text[:at]; !strings.HasSuffix(before, "e.g.") && !strings.HasSuffix(before, "i.e.") {
			text = before
			break
		}
	}
	if len(text) <= mostWords {
		return text
	}
	cut := strings.LastIndexByte(text[:mostWords], ' ')
	return strings.TrimRight(text[:max(cut, 0)], ",;:") + "…"
}
