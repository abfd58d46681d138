package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"nodal/node"
	"nodal/server/wire"
)

// refuseUnknown refuses parameters that the gateway would ignore. Without it, a condition with
// a typing error would not hold, and the request would do what its sender ruled out.
func refuseUnknown(known []protoreflect.FieldDescriptor, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkQuery(known, r.URL.RawQuery); err != nil {
			wire.WriteStatus(w, wire.StatusOf(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkQuery(known []protoreflect.FieldDescriptor, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Errorf("read query: %w: %w", err, node.ErrInvalid)
	}
	names := []string{}
	for _, field := range known {
		names = append(names, field.JSONName())
		for _, name := range []string{field.JSONName(), field.TextName()} {
			if err := checkValue(field, name, query[name]); err != nil {
				return err
			}
			delete(query, name)
		}
	}
	asked := strings.Join(slices.Sorted(maps.Keys(query)), ", ")
	switch {
	case len(query) == 0:
		return nil
	case len(names) == 0:
		return fmt.Errorf("query parameter %q: this path takes none: %w", asked, node.ErrInvalid)
	}
	return fmt.Errorf("query parameter %q is none of %v: %w", asked, names, node.ErrInvalid)
}

// checkValue has the gateway try a value, and reports a fault in terms of the parameter. The
// gateway's own error is in terms of messages and Go's parsers.
func checkValue(field protoreflect.FieldDescriptor, name string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 && !field.IsList() {
		return fmt.Errorf("query parameter %q: given %d times; want it once: %w", name, len(values), node.ErrInvalid)
	}
	request, err := protoregistry.GlobalTypes.FindMessageByName(field.ContainingMessage().FullName())
	if err != nil {
		return fmt.Errorf("query parameter %q: %w", name, err)
	}
	asked := url.Values{name: values}
	if runtime.PopulateQueryParameters(request.New().Interface(), asked, utilities.NewDoubleArray(nil)) != nil {
		return fmt.Errorf("query parameter %q: must be %s, not %q: %w", name, formOf(field), strings.Join(values, ", "),
			node.ErrInvalid)
	}
	return nil
}

// formOf describes the values that a parameter takes.
func formOf(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.Int32Kind:
		return "a whole number of at most 32 bits"
	case protoreflect.Int64Kind:
		return "a whole number of at most 64 bits"
	case protoreflect.EnumKind:
		var names []string
		for i := 1; i < field.Enum().Values().Len(); i++ { // 0 stands for unset
			names = append(names, string(field.Enum().Values().Get(i).Name()))
		}
		return "one of " + strings.Join(names, ", ")
	case protoreflect.MessageKind:
		switch field.Message().FullName() {
		case "google.protobuf.Duration":
			return "a duration such as 10s"
		case "google.protobuf.Timestamp":
			return "a time such as 2026-05-01T12:00:00Z, where a + is written %2B"
		}
	}
	return "text"
}
