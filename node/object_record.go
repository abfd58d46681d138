package node

import (
	"encoding/json"
	"errors"
	"fmt"
)

// place says in a record where an object comes from. An object of the API has none.
type place struct {
	Source Source `json:"Source"`
	Origin string `json:"Origin"`
}

// MarshalJSON writes the object as records on the disk have it: an object with a
// field, named after the kind (Kind.Record), that holds the value, and with the object's place.
func (o *Object) MarshalJSON() ([]byte, error) {
	kind, ok := kindWhere(func(k Kind) bool { return k.Name == o.Kind })
	if !ok {
		return nil, fmt.Errorf("object of kind %q: the node stores no such kind", o.Kind)
	}
	record := map[string]any{kind.Record: o.Value}
	if o.Source != "" {
		record["Source"] = o.Source
	}
	if o.Origin != "" {
		record["Origin"] = o.Origin
	}
	return json.Marshal(record)
}

// UnmarshalJSON reads what MarshalJSON has written. Fields that are no kind's are left
// out, as encoding/json does.
func (o *Object) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	var found []Kind
	for _, kind := range kinds {
		if raw, ok := fields[kind.Record]; ok && string(raw) != "null" {
			found = append(found, kind)
		}
	}
	if len(found) != 1 {
		return errors.New("the record holds no object that pods use, or several")
	}
	value := found[0].New()
	if err := json.Unmarshal(fields[found[0].Record], value); err != nil {
		return fmt.Errorf("decode %s: %w", found[0].Name, err)
	}
	var from place
	if err := json.Unmarshal(data, &from); err != nil {
		return err
	}
	*o = Object{Kind: found[0].Name, Value: value, Source: from.Source, Origin: from.Origin}
	return nil
}

var (
	_ json.Marshaler   = (*Object)(nil)
	_ json.Unmarshaler = (*Object)(nil)
)
