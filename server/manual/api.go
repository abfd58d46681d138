package manual

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// apiDocument holds what the reference shows of the OpenAPI document.
type apiDocument struct {
	Info struct {
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// operation is one method of one path.
type operation struct {
	Method, Path string
	ID           string             `json:"operationId"`
	Summary      string             `json:"summary"`
	Description  string             `json:"description"`
	Parameters   []parameter        `json:"parameters"`
	RequestBody  *content           `json:"requestBody"`
	Responses    map[string]content `json:"responses"`
	Tags         []string           `json:"tags"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Schema      schema `json:"schema"`
}

// content is a body, in one or more forms.
type content struct {
	Description string `json:"description"`
	Content     map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"`
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        words             `json:"type"`
	Format      string            `json:"format"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Items       *schema           `json:"items"`
	Values      others            `json:"additionalProperties"`
	Properties  map[string]schema `json:"properties"`
	OneOf       []schema          `json:"oneOf"`
	Required    []string          `json:"required"`
}

// words is one word or a list of them.
type words []string

// UnmarshalJSON reads both forms.
func (w *words) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(w))
	}
	*w = words{""}
	return json.Unmarshal(data, &(*w)[0])
}

// others is the schema of the values of a map. OpenAPI allows true and false in its place.
type others struct{ *schema }

// UnmarshalJSON reads a schema and skips true and false.
func (o *others) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	o.schema = new(schema)
	return json.Unmarshal(data, o.schema)
}

// readAPI reads the OpenAPI document.
func readAPI(document func() ([]byte, error)) (api apiDocument, err error) {
	text, err := document()
	if err != nil {
		return api, err
	}
	if err := json.Unmarshal(text, &api); err != nil {
		return api, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return api, nil
}

// operations returns those of a tag, sorted by path and method.
func (a apiDocument) operations(tag string) (all []operation) {
	for _, path := range slices.Sorted(maps.Keys(a.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(a.Paths[path])) {
			if o := a.Paths[path][method]; slices.Contains(o.Tags, tag) {
				o.Method, o.Path = strings.ToUpper(method), path
				all = append(all, o)
			}
		}
	}
	return all
}

// sections are the operations as a search sees them.
func (a apiDocument) sections() (all []section) {
	for _, tag := range a.Tags {
		for _, o := range a.operations(tag.Name) {
			text := []string{o.Summary, o.Description}
			for _, p := range o.Parameters {
				text = append(text, p.Name, p.Description)
			}
			all = append(all, section{reference, heading{o.ID, o.Method + " " + o.Path}, strings.Join(text, " ")})
		}
	}
	return all
}

// schemaName returns the name of a schema that another one refers to.
func (s schema) schemaName() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }
